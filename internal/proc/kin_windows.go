package proc

import (
	"log/slog"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Kin is a job object that holds a worker's process and all it starts. The job
// ends them when its last handle is closed, so also when the server dies.
type Kin struct {
	pid int
	job windows.Handle
	log *slog.Logger
}

// NewKin puts a worker that has just been started into a job of its own.
func NewKin(pid int, _ Mark, _ *Registry, log *slog.Logger) *Kin {
	k := &Kin{pid: pid, log: log}
	job, err := newJob(pid)
	if err != nil {
		log.Warn("a worker has no job object; its child processes may outlive it", "error", err)
	}
	k.job = job
	return k
}

func newJob(pid int) (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		err = withProcess(pid, func(process windows.Handle) error {
			return windows.AssignProcessToJobObject(job, process)
		})
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

func withProcess(pid int, act func(windows.Handle) error) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	return act(process)
}

// End kills the job, or the process alone where there is none. How many
// processes it had is not told.
func (k *Kin) End() int {
	const killed = 1 // their exit code
	if k.job != 0 {
		_ = windows.TerminateJobObject(k.job, killed)
		return 0
	}
	_ = withProcess(k.pid, func(process windows.Handle) error {
		return windows.TerminateProcess(process, killed)
	})
	return 0
}

// Close ends who is left in the job.
func (k *Kin) Close() {
	if k.job != 0 {
		_ = windows.CloseHandle(k.job)
	}
}
