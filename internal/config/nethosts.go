package config

import (
	"fmt"
	"regexp"
)

// netHost is a name or an address with an optional port, as pypi.org, *.example.com
// or localhost:8080.
var netHost = regexp.MustCompile(`^(\*\.)?[\p{L}\p{Nd}_.-]+(:\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$`)

// parseNetHost takes a host of --allow-net, or all.
func parseNetHost(text string) (string, error) {
	if !netHost.MatchString(text) {
		return "", fmt.Errorf("%q is no host; write pypi.org, *.example.com or localhost:8080, or all", text)
	}
	return text, nil
}
