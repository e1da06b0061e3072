package proc

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// reservedDescriptors is how many files the server must still be able to open once it
// has begun to start a worker: that one's, and what answers and clients need.
const reservedDescriptors = 64

// CheckDescriptors returns an error when this process may not open as many files as a
// server needs for its first interpreter: those that are kept, and as many again for the
// journal, what interpreters are forked from, and clients.
func CheckDescriptors() error {
	const fewest = 2 * reservedDescriptors
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur >= fewest {
		return nil
	}
	return fmt.Errorf("the server may have %d files open, and needs %d to run code at all, and about ten for each interpreter: raise its limit (ulimit -n, or LimitNOFILE= of a systemd service)", limit.Cur, fewest)
}

// EnoughDescriptors returns an error when a worker more would leave the server too few.
func EnoughDescriptors() error {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return nil
	}
	if open := openDescriptorCount(); open+reservedDescriptors > limit.Cur {
		return fmt.Errorf("the server has %d of %d files open, and keeps %d for what runs already; delete interpreters that are not needed, or raise its limit (ulimit -n)", open, limit.Cur, reservedDescriptors)
	}
	return nil
}

// openDescriptorCount is 0 where it can't be told. From Linux 6.2 the directory's size
// is their number; before, they are listed, a tenth of a millisecond for some hundreds.
func openDescriptorCount() uint64 {
	const dir = "/proc/self/fd"
	if info, err := os.Stat(dir); err == nil && info.Size() > 0 {
		return uint64(info.Size())
	}
	file, err := os.Open(dir)
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	names, _ := file.Readdirnames(-1)
	return uint64(len(names))
}
