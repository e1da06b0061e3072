package egress

import (
	"fmt"
	"strings"
)

// refusal is an error that is the client's to read: one line of ASCII.
type refusal struct {
	host   string // for the log; "" for a request that makes no sense
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// refuse is the refusal of a target.
func refuse(t target, why string) *refusal {
	return &refusal{host: t.String(), status: 403, text: fmt.Sprintf("understudy: no connection to %s: %s", t, why)}
}

// nonsense is the refusal of a request that is not one for a proxy.
func nonsense(why string) *refusal {
	return &refusal{status: 400, text: "understudy: " + why}
}

// response is a refusal as it goes over the wire. The sentence is the reason as well
// as the body: of a tunnel that is refused, Python and curl show the reason alone.
func (r *refusal) response() []byte {
	reason := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, r.text)
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		r.status, reason, len(r.text)+1, r.text)
}
