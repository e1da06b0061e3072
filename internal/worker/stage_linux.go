package worker

import (
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"understudy/sessions"
)

// The twin of pyworker/staging.py: memory that a worker's bulk output goes
// through. After a header comes a ring of bytes; counts are of bytes since the
// start, and the worker's head and our tail are that many bytes apart.
const (
	stageHeader = 4096
	stageSize   = 256 << 10

	// The header's words of 8 bytes.
	headWord    = 0 // the worker's: how much it has staged
	requestWord = 1 // the worker's: the number of the handshake that it asks for
	activeWord  = 2 // the worker's: 1 while it may stage without ringing
	tailWord    = 8 // ours: how much was delivered
	answerWord  = 9 // ours: the number of the last handshake that was given

	// stageTick is how long text may lie in the stage unseen, and once more.
	stageTick = 20 * time.Millisecond
)

// stage is our side of that memory. But for its creation it is used under the
// lock of the outputs.
type stage struct {
	memory []byte // nil when closed
	// bell is an eventfd that the worker rings when we should look.
	bell *os.File
	// timer is a timerfd that makes us look while the worker is active.
	timer   *os.File
	ticking bool
	// tail is the truth; the word is a copy that the worker could change.
	tail uint64
	// seen is the head as the last tick saw it: what was staged before it has
	// waited for long enough.
	seen uint64
}

// newStage makes the memory and what comes with it, and returns the worker's
// descriptors too: the memory and the bell. Without a stage (where a sandbox
// forbids it, for one) all output takes the pipes.
//
// Python can't order its stores: only where the processor does (x86) is the
// text sure to be there when we see the new head.
func newStage() (*stage, []*os.File) {
	if runtime.GOARCH != "amd64" {
		return nil, nil
	}
	s := &stage{}
	child, err := s.open()
	if err != nil {
		s.close()
		closeFiles(child)
		return nil, nil
	}
	return s, child
}

func (s *stage) open() (child []*os.File, err error) {
	fd, err := unix.MemfdCreate("understudy-stage", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	child = append(child, os.NewFile(uintptr(fd), "stage"))
	if err := unix.Ftruncate(fd, stageHeader+stageSize); err != nil {
		return child, err
	}
	// A file that shrank would kill whoever reads the memory.
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return child, err
	}
	if s.memory, err = unix.Mmap(fd, 0, stageHeader+stageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return child, err
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return child, err
	}
	s.bell = newCounter(bell, "bell")
	theirs, err := unix.FcntlInt(uintptr(bell), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return child, err
	}
	child = append(child, os.NewFile(uintptr(theirs), "bell"))
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	if err != nil {
		return child, err
	}
	s.timer = newCounter(timer, "timer")
	return child, nil
}

// newCounter makes a file of an eventfd or a timerfd that is read when epoll
// says so; like the pipes it stays out of Go's poller.
func newCounter(fd int, name string) *os.File {
	file := os.NewFile(uintptr(fd), name)
	_ = unix.SetNonblock(fd, true)
	return file
}

func drainCounter(file *os.File) {
	var count [8]byte
	_, _ = readDescriptor(file.Fd(), count[:])
}

// arguments tell the worker where its descriptors are.
func (s *stage) arguments(first int) []string {
	if s == nil {
		return nil
	}
	return []string{"--stage", strconv.Itoa(first), "--bell", strconv.Itoa(first + 1)}
}

func (s *stage) word(index int) *uint64 {
	return (*uint64)(unsafe.Pointer(&s.memory[8*index]))
}

func (s *stage) load(index int) uint64 { return atomic.LoadUint64(s.word(index)) }

// deliver passes on what was staged.
func (s *stage) deliver(deliver deliverFunc) {
	if s != nil && s.memory != nil {
		s.deliverUntil(s.load(headWord), deliver)
	}
}

func (s *stage) deliverUntil(head uint64, deliver deliverFunc) {
	if head-s.tail > stageSize {
		return // nonsense: the user's code has written to the memory
	}
	for s.tail < head {
		from := s.tail % stageSize
		size := min(head-s.tail, stageSize-from)
		deliver(sessions.Stdout, s.memory[stageHeader+from:][:size])
		s.tail += size
	}
	atomic.StoreUint64(s.word(tailWord), s.tail)
}

// answer is called when the bell rings. emptyPipes delivers what the pipes hold:
// the worker, if it has asked for a handshake, waits for that.
func (s *stage) answer(emptyPipes func(), deliver deliverFunc) {
	drainCounter(s.bell)
	request := s.load(requestWord)
	if request != s.load(answerWord) {
		emptyPipes()
	}
	s.deliver(deliver)
	atomic.StoreUint64(s.word(answerWord), request)
	if s.load(activeWord) != 0 {
		s.tick(true)
	}
}

// look is called when the timer fires.
func (s *stage) look(deliver deliverFunc) {
	drainCounter(s.timer)
	if s.load(activeWord) == 0 {
		s.deliver(deliver)
		s.tick(false)
		return
	}
	head := s.load(headWord)
	if s.tail < s.seen {
		s.deliverUntil(s.seen, deliver)
	}
	s.seen = head
}

// tick starts or stops the timer.
func (s *stage) tick(on bool) {
	if s.ticking == on {
		return
	}
	var setting unix.ItimerSpec
	if on {
		setting.Interval = unix.NsecToTimespec(stageTick.Nanoseconds())
		setting.Value = setting.Interval
	}
	s.ticking = on
	_ = unix.TimerfdSettime(int(s.timer.Fd()), 0, &setting, nil) // can't fail for an open one
}

func (s *stage) close() {
	if s == nil {
		return
	}
	if s.memory != nil {
		_ = unix.Munmap(s.memory)
		s.memory = nil
	}
	closeFiles([]*os.File{s.bell, s.timer})
}
