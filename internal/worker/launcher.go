package worker

import (
	"runtime"
	"sync"
)

// launcher runs starts one after the other on one thread that lives until
// close. On Linux a worker asks to be killed when its parent dies, and the
// kernel takes the starting *thread* for the parent: Go ends threads at will,
// but not one that a goroutine is locked to.
type launcher struct {
	jobs chan func()
	done sync.WaitGroup
}

func newLauncher() *launcher {
	l := &launcher{jobs: make(chan func())}
	l.done.Go(func() {
		// Never unlocked: the thread ends with the goroutine.
		runtime.LockOSThread()
		for job := range l.jobs {
			job()
		}
	})
	return l
}

// run calls start on the launcher's thread.
func (l *launcher) run(start func() error) error {
	result := make(chan error, 1)
	l.jobs <- func() { result <- start() }
	return <-result
}

func (l *launcher) close() {
	close(l.jobs)
	l.done.Wait()
}
