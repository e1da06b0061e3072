package transport

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// lookUpPeer returns how to find out who is at the other end of a connection. Of a
// Unix socket the system knows it from the beginning; of one of TCP to this machine it
// is looked for among the processes, those that are clients already first.
func lookUpPeer(c net.Conn, known *processes) func() socketPeer {
	switch c := bare(c).(type) {
	case *net.UnixConn:
		peer := unixPeer(c) // now: later its number may be another's
		return func() socketPeer { return peer }
	case *net.TCPConn:
		local, remote := c.LocalAddr().(*net.TCPAddr).AddrPort(), c.RemoteAddr().(*net.TCPAddr).AddrPort()
		return func() socketPeer { return tcpPeer(local, remote, known.all()) }
	}
	return func() socketPeer { return socketPeer{} }
}

func unixPeer(c *net.UnixConn) (peer socketPeer) {
	raw, err := c.SyscallConn()
	if err != nil {
		return peer
	}
	_ = raw.Control(func(fd uintptr) {
		credentials, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return
		}
		if p, err := processOf(int(credentials.Pid)); err == nil {
			peer.process = p
			return
		}
		peer.user = strconv.FormatUint(uint64(credentials.Uid), 10)
	})
	return peer
}

// tcpPeer looks for the process that holds the other socket of a connection.
func tcpPeer(local, remote netip.AddrPort, known []process) (peer socketPeer) {
	at, to := remote.Addr().Unmap(), local.Addr().Unmap()
	if !at.IsLoopback() && at != to {
		return peer // of another machine
	}
	system, err := procfs.NewDefaultFS()
	if err != nil {
		return peer
	}
	// Without either table there is nobody in it.
	sockets, _ := system.NetTCP()
	ofSix, _ := system.NetTCP6()
	for _, socket := range slices.Concat(sockets, procfs.NetTCP(ofSix)) {
		if socket.Inode == 0 || socket.LocalPort != uint64(remote.Port()) || socket.RemPort != uint64(local.Port()) ||
			!isAddress(socket.LocalAddr, at) || !isAddress(socket.RemAddr, to) {
			continue
		}
		if holder, ok := holderOf(system, fmt.Sprintf("socket:[%d]", socket.Inode), known); ok {
			peer.process = holder
		} else {
			peer.user = strconv.FormatUint(socket.UID, 10)
		}
		return peer
	}
	return peer
}

func isAddress(ip net.IP, address netip.Addr) bool {
	same, ok := netip.AddrFromSlice(ip)
	return ok && same.Unmap() == address.WithZone("")
}

// holderOf returns the process that has the file open, of several the one that
// started first. The known ones are asked first, which spares a client that connects
// for each call the search through all others.
func holderOf(system procfs.FS, file string, known []process) (process, bool) {
	var holders []process
	for _, p := range known {
		if holds(system, p.pid, file) && p.isAlive() {
			holders = append(holders, p)
		}
	}
	if len(holders) == 0 {
		all, _ := system.AllProcs() // none are none of ours
		for _, one := range all {
			if !holds(system, one.PID, file) {
				continue
			}
			if p, err := processOf(one.PID); err == nil {
				holders = append(holders, p)
			}
		}
	}
	if len(holders) == 0 {
		return process{}, false
	}
	return slices.MinFunc(holders, func(a, b process) int {
		return cmp.Or(cmp.Compare(a.started, b.started), cmp.Compare(a.pid, b.pid))
	}), true
}

// holds reports whether the process has the file open, as far as we may know.
func holds(system procfs.FS, pid int, file string) bool {
	p, err := system.Proc(pid)
	if err != nil {
		return false
	}
	targets, _ := p.FileDescriptorTargets()
	return slices.Contains(targets, file)
}

// processOf returns the process that has the number now, errNoProcess if none has or it
// has ended and only waits to be buried.
func processOf(pid int) (process, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	switch {
	case pid <= 0 || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH):
		return process{}, errNoProcess
	case err != nil:
		return process{}, err
	}
	// The second field is a name in parentheses, which may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const state, startTime = 0, 19 // the 3rd and the 22nd of all fields
	if len(fields) <= startTime {
		return process{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	if fields[state] == "Z" || fields[state] == "X" {
		return process{}, errNoProcess
	}
	started, err := strconv.ParseUint(fields[startTime], 10, 64)
	return process{pid, started}, err
}
