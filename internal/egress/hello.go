package egress

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
)

// serverName reads a TLS ClientHello and says which server it is for, "" if it does
// not say. crypto/tls does the parsing.
func serverName(from io.Reader) (string, error) {
	var hello *tls.ClientHelloInfo
	seen := errors.New("seen")
	err := tls.Server(deaf{from: from}, &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			hello = h
			return nil, seen
		},
	}).Handshake()
	if hello == nil {
		return "", err
	}
	return hello.ServerName, nil
}

// deaf is a connection that can only be read from: what crypto/tls answers is
// dropped.
type deaf struct {
	net.Conn // nil
	from     io.Reader
}

func (d deaf) Read(b []byte) (int, error) { return d.from.Read(b) }

func (d deaf) Write(b []byte) (int, error) { return len(b), nil }

// unrecognized is the TLS alert unrecognized_name, fatal.
var unrecognized = []byte{21, 3, 3, 0, 2, 2, 112}

// checkHello reads the beginning of a tunnel and returns it, if it is TLS for the
// target; what the client is told otherwise is the second value.
func checkHello(client io.Reader, t target) (begin, answer []byte, err error) {
	var read bytes.Buffer
	name, err := serverName(io.TeeReader(client, &read))
	if err != nil {
		if read.Len() == 0 {
			return nil, nil, err // it left without a word
		}
		no := refuse(t, "a tunnel to this port must carry TLS; the server's --allow-net would have to name the port")
		return nil, no.response(), no
	}
	if name == "" && t.name == "" {
		return read.Bytes(), nil, nil
	}
	asked, addr, err := canonical(name)
	if err != nil || asked != t.name || addr != t.addr {
		return nil, unrecognized, refuse(t, fmt.Sprintf("the TLS in its tunnel is for %q", name))
	}
	return read.Bytes(), nil, nil
}
