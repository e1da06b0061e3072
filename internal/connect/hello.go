// Package connect lets several MCP clients share one server that outlives them,
// and lets a person into any running server. A client's program runs a pipe
// (Pipe) between its standard streams and a Unix socket; the server's end of the
// socket (Server) says hello and hands the connection to the MCP transport. All Unix
// sockets of servers are made here, that of --socket too.
//
// Where things are, below the data directory:
//
//	shared/<key>.socket  of the background server for one directory and settings
//	shared/<key>-*.log   what that server logs; removed when it ends in good order
//	shared/lock          held while a background server is being started
//	run/<id>/door/socket of every other server, for attach alone
//	….token              beside each socket: what a connection must know
package connect

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// protocol is the version of the hello. A server of another version can't be
// spoken with.
const protocol = 1

// The roles of who connects.
const (
	RoleClient   = "client"   // an MCP client, by way of the pipe
	RoleOperator = "operator" // the person whose server it is
	RoleLook     = "look"     // wants to know about the server and no more
)

// Hello is the first line of a connection, from who connects.
type Hello struct {
	Protocol int    `json:"understudy"`
	Role     string `json:"role"`
	// Token is what the server wrote into the file beside its socket.
	Token string `json:"token,omitempty"`
	// Name is what the client's program calls itself.
	Name string `json:"name,omitempty"`
	// Share names the interpreters that all connections of this name use together;
	// "" for a client with its own.
	Share string `json:"share,omitempty"`
	// Build is which program connects; see Build.
	Build string `json:"build,omitempty"`
}

// About is the second line, from the server. After it the connection carries MCP.
type About struct {
	Protocol int `json:"understudy"`
	// Refusal says why the connection is of no use; it ends then.
	Refusal string `json:"refusal,omitempty"`
	// Retiring is set by a server that ends now: another is to be started.
	Retiring  bool   `json:"retiring,omitempty"`
	PID       int    `json:"pid,omitempty"`
	Build     string `json:"build,omitempty"`
	Directory string `json:"directory,omitempty"` // where the server was started
	Transport string `json:"transport,omitempty"` // how its clients connect: "connect", "stdio", "http", "sse"
	Clients   int    `json:"clients"`             // connections of clients by the pipe
}

// maxHello is how many bytes a hello or its answer may have.
const maxHello = 64 << 10

// errEnded says that the other end closed the connection instead of a hello.
var errEnded = errors.New("the server ended the connection")

// say writes a line of the hello.
func say(to io.Writer, line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = to.Write(append(text, '\n'))
	return err
}

// hear reads a line of the hello.
func hear(from *bufio.Reader, line any) error {
	text, err := from.ReadSlice('\n')
	switch {
	case len(text) == 0 && err != nil:
		return errEnded
	case err != nil:
		return fmt.Errorf("reading the hello: %w", err)
	}
	if err := json.Unmarshal(text, line); err != nil {
		return fmt.Errorf("what came is no hello of understudy's: %w", err)
	}
	return nil
}

// greet says hello to the server at a socket and returns what the server says of
// itself. What is read from the connection afterwards must come from the reader that
// it returns.
func greet(conn io.ReadWriter, socket string, h Hello) (About, *bufio.Reader, error) {
	var err error
	if h.Token, err = readToken(socket); err != nil {
		return About{}, nil, err
	}
	h.Protocol = protocol
	if err := say(conn, h); err != nil {
		return About{}, nil, errEnded
	}
	in := bufio.NewReaderSize(conn, maxHello)
	var about About
	if err := hear(in, &about); err != nil {
		return About{}, nil, err
	}
	if about.Refusal != "" {
		return about, nil, errors.New(about.Refusal)
	}
	return about, in, nil
}

// programName is what a client calls itself in its first message: newer clients
// in the metadata of every request, older ones when they initialize. "" if it
// does not.
func programName(line []byte) string {
	var first struct {
		Params struct {
			ClientInfo struct{ Name string }
			Meta       struct {
				ClientInfo struct{ Name string } `json:"io.modelcontextprotocol/clientInfo"`
			} `json:"_meta"`
		}
	}
	if json.Unmarshal(line, &first) != nil {
		return ""
	}
	if name := first.Params.Meta.ClientInfo.Name; name != "" {
		return name
	}
	return first.Params.ClientInfo.Name
}

var notInNames = regexp.MustCompile(`[^a-z0-9._-]+`)

// plainName makes a program's name fit for the name of a client and for a log.
func plainName(name string) string {
	const most = 40
	name = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if name == "" {
		return "client"
	}
	return name[:min(len(name), most)]
}

var shareName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// CheckShare says what is wrong with a name for shared interpreters.
func CheckShare(name string) error {
	if name != "" && !shareName.MatchString(name) {
		return fmt.Errorf("share is %q; use up to 64 letters, digits, dots, - and _", name)
	}
	return nil
}
