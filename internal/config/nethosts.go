package config

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// NetAll is the one value of --allow-net that is no host.
const NetAll = "all"

// netLabels are the parts of a name between dots; IDN is turned into punycode where
// names are compared.
var netLabels = regexp.MustCompile(`^[\p{L}\p{M}\p{Nd}_-]{1,63}(\.[\p{L}\p{M}\p{Nd}_-]{1,63})*\.?$`)

// parseNetHost takes a host as pypi.org, *.example.com, localhost:8080 or
// [2001:db8::1]:443, or the word all.
func parseNetHost(text string) (string, error) {
	switch strings.ToLower(text) {
	case NetAll:
		return NetAll, nil
	case "none":
		return "", fmt.Errorf("%q is no host; without --allow-net there is no network", text)
	}
	if !isNetHost(text) {
		return "", fmt.Errorf("%q is no host; write pypi.org, *.example.com, localhost:8080, or all for the network as it is", text)
	}
	return strings.ToLower(text), nil
}

func isNetHost(text string) bool {
	name, isWild := strings.CutPrefix(text, "*.")
	if isNetAddress(name) {
		return !isWild
	}
	host, port, hasPort := cutNetPort(name)
	if hasPort {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return false
		}
	}
	inner, isBracketed := strings.CutPrefix(host, "[")
	if isBracketed {
		address, isClosed := strings.CutSuffix(inner, "]")
		return isClosed && !isWild && strings.Contains(address, ":") && isNetAddress(address)
	}
	if isNetAddress(host) {
		return !isWild && !strings.Contains(host, ":")
	}
	return netLabels.MatchString(host) && len(host) <= 253 && !endsInNumber(host)
}

// cutNetPort parts a host from the port behind it.
func cutNetPort(text string) (host, port string, hasPort bool) {
	at := strings.LastIndexByte(text, ':')
	if at < 0 || strings.HasSuffix(text, "]") {
		return text, "", false
	}
	return text[:at], text[at+1:], true
}

func isNetAddress(text string) bool {
	addr, err := netip.ParseAddr(text)
	return err == nil && addr.Zone() == ""
}

// endsInNumber reports whether a name may be read as an address, as 127.1 is.
func endsInNumber(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	hex, isHex := strings.CutPrefix(last, "0x")
	return strings.Trim(last, "0123456789") == "" || isHex && strings.Trim(hex, "0123456789abcdef") == ""
}
