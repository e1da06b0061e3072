package gateway

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// TestANodeThatFallsSilent under a request breaks its connection: sent and not acknowledged
// data keep the kernel's probes back.
func TestANodeThatFallsSilent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = listener.Close() }()
	conn, err := newPodTransport().DialContext(t.Context(), "tcp", listener.Addr().String())
	must(t, err)
	defer func() { _ = conn.Close() }()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	must(t, err)
	must(t, raw.Control(func(fd uintptr) {
		for option, want := range map[int]int{unix.TCP_USER_TIMEOUT: int(podSilence.Milliseconds()), unix.TCP_KEEPIDLE: 10, unix.TCP_KEEPINTVL: 5, unix.TCP_KEEPCNT: 3} {
			got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option)
			expect(t, err == nil && got == want, "option %d: %d, %v", option, got, err)
		}
	}))
}
