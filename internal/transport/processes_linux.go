package transport

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
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
		return func() socketPeer { return tcpPeer(unmapped(local), unmapped(remote), known.all()) }
	}
	return func() socketPeer { return socketPeer{} }
}

func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
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
		if p, ok := proc.Read(int(credentials.Pid)); ok && !p.Dead {
			peer.process = p.ID
			return
		}
		peer.user = strconv.FormatUint(uint64(credentials.Uid), 10)
	})
	return peer
}

// tcpPeer looks for the process that holds the other socket of a connection.
func tcpPeer(local, remote netip.AddrPort, known []proc.ID) (peer socketPeer) {
	if !remote.Addr().IsLoopback() && remote.Addr() != local.Addr() {
		return peer // of another machine
	}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		inode, user, ok := findSocket(table, remote, local)
		if !ok {
			continue
		}
		if holder, ok := holderOf("socket:["+inode+"]", known); ok {
			peer.process = holder
		} else {
			peer.user = user
		}
		return peer
	}
	return peer
}

// findSocket finds the open socket with that address and that other end in one of
// the system's tables.
func findSocket(table string, local, remote netip.AddrPort) (inode, user string, ok bool) {
	file, err := os.Open(table)
	if err != nil {
		return "", "", false
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 9 && fields[9] != "0" && tableAddress(fields[1]) == local && tableAddress(fields[2]) == remote {
			return fields[9], fields[7], true
		}
	}
	return "", "", false
}

// tableAddress reads an address as the system's tables have it: words of 32 bits,
// each turned round as the processor has them, then the port.
func tableAddress(text string) netip.AddrPort {
	address, port, _ := strings.Cut(text, ":")
	bytes, err := hex.DecodeString(address)
	number, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil || len(bytes)%4 != 0 {
		return netip.AddrPort{}
	}
	for word := range slices.Chunk(bytes, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	ip, ok := netip.AddrFromSlice(bytes)
	if !ok {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(number))
}

// holderOf returns the process that has the file open, of several the one that
// started first. The known ones are asked first, which spares a client that connects
// for each call the search through all others.
func holderOf(file string, known []proc.ID) (proc.ID, bool) {
	var holders []proc.ID
	for _, p := range known {
		if holds(p.PID, file) && !p.HasEnded() {
			holders = append(holders, p)
		}
	}
	if len(holders) == 0 {
		all, _ := proc.List()
		for _, p := range all {
			if !p.Dead && holds(p.PID, file) {
				holders = append(holders, p.ID)
			}
		}
	}
	if len(holders) == 0 {
		return proc.ID{}, false
	}
	return slices.MinFunc(holders, func(a, b proc.ID) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	}), true
}

// holds reports whether the process has the file open, as far as we may know.
func holds(pid int, file string) bool {
	dir, err := os.Open("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	target := make([]byte, 64)
	for _, name := range names {
		if n, err := unix.Readlinkat(int(dir.Fd()), name, target); err == nil && string(target[:n]) == file {
			return true
		}
	}
	return false
}
