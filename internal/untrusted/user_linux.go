package untrusted

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Do does what it is told with the rights to files that the user has, and no others. The
// kernel has such rights for each thread; one that has given up root's is used for nothing
// else, and ends.
func (u *User) Do(do func() error) error {
	if u == nil || u.uid == 0 {
		return do()
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good, so that the thread ends with this
		if err := becomeForFiles(u.uid, u.gid); err != nil {
			done <- err
			return
		}
		done <- do()
	}()
	return <-done
}

// becomeForFiles gives this thread the rights to files of a user in one group. With its
// user for files root loses its capabilities for them too.
func becomeForFiles(uid, gid int) error {
	// Not syscall.Setgroups, which is for all threads.
	if _, _, failed := syscall.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); failed != 0 {
		return ErrImpersonate
	}
	for _, set := range []struct {
		set func(int) (int, error)
		id  int
	}{{unix.SetfsgidRetGid, gid}, {unix.SetfsuidRetUid, uid}} {
		_, _ = set.set(set.id)                                    // neither call says whether it worked,
		if now, err := set.set(-1); err != nil || now != set.id { // but the next one who it is
			return ErrImpersonate
		}
	}
	return nil
}
