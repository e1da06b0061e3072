package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// target is a host and a port in canonical form.
type target struct {
	name string     // in lower case and punycode, without a dot at its end; "" for an address
	addr netip.Addr // of an address that was written as such
	port uint16
}

// host is the name or the address.
func (t target) host() string {
	if t.name == "" {
		return t.addr.String()
	}
	return t.name
}

func (t target) String() string {
	return net.JoinHostPort(t.host(), strconv.Itoa(int(t.port)))
}

// parseTarget reads HOST:PORT, or HOST where there is a usual port.
func parseTarget(text string, usual uint16) (target, error) {
	host, port, err := splitHost(text)
	if err != nil {
		return target{}, err
	}
	if port == 0 {
		port = usual
	}
	if port == 0 {
		return target{}, errors.New("a port is missing")
	}
	name, addr, err := canonical(host)
	return target{name, addr, port}, err
}

// splitHost parts HOST or HOST:PORT; the port is 0 if there is none.
func splitHost(text string) (host string, port uint16, err error) {
	host = text
	if at := strings.LastIndexByte(text, ':'); at >= 0 && !strings.HasSuffix(text, "]") {
		if port, err = parsePort(text[at+1:]); err != nil {
			return "", 0, err
		}
		host = text[:at]
	}
	if inner, isBracketed := strings.CutPrefix(host, "["); isBracketed {
		inner, isClosed := strings.CutSuffix(inner, "]")
		if !isClosed || !strings.Contains(inner, ":") {
			return "", 0, errors.New("brackets are for IPv6 addresses")
		}
		return inner, port, nil
	}
	if strings.Contains(host, ":") {
		return "", 0, errors.New("an IPv6 address with a port needs brackets")
	}
	return host, port, nil
}

func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '+' {
		return 0, errors.New("a port is a number from 1 to 65535")
	}
	return uint16(n), nil
}

// longestHost is what a name of 253 characters may take in UTF-8. Longer texts aren't
// looked at: punycode takes time that grows with the square of the length.
const longestHost = 1024

var errTooLong = errors.New("a name has 1 to 253 characters")

// names has IDN mapped as browsers do it. Characters are checked by us, because
// underscores are in use.
var names = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false))

// canonical is a host as it is compared: a name or an address.
func canonical(host string) (string, netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return "", netip.Addr{}, errors.New("addresses with a zone are not supported")
		}
		return "", addr.Unmap(), nil
	}
	if len(host) > longestHost {
		return "", netip.Addr{}, errTooLong
	}
	name, err := names.ToASCII(strings.TrimSuffix(host, "."))
	if err != nil {
		return "", netip.Addr{}, errors.New("that is no name of a host")
	}
	name = strings.ToLower(name)
	// Once more: for some texts that are none it makes names that it refuses itself.
	if again, err := names.ToASCII(name); err != nil || again != name {
		return "", netip.Addr{}, errors.New("that is no name of a host")
	}
	if err := checkName(name); err != nil {
		return "", netip.Addr{}, err
	}
	return name, netip.Addr{}, nil
}

// checkName refuses what is no name. A last label of digits is refused, too:
// libraries read 127.1 and 0x7f.1 as addresses.
func checkName(name string) error {
	if name == "" || len(name) > 253 {
		return errTooLong
	}
	label := ""
	for label = range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return errors.New("that is no name of a host")
		}
		for _, c := range []byte(label) {
			if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
				return fmt.Errorf("%q can't be in a name", rune(c))
			}
		}
	}
	digits, isHex := strings.CutPrefix(label, "0x")
	if strings.Trim(label, "0123456789") == "" || isHex && strings.Trim(digits, "0123456789abcdef") == "" {
		return errors.New("that is neither a name nor an address")
	}
	return nil
}
