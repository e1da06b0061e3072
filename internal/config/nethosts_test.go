package config

import (
	"strings"
	"testing"
)

func TestNetHosts(t *testing.T) {
	for text, want := range map[string]string{
		"pypi.org": "pypi.org", "PyPI.org.": "pypi.org.", "*.pythonhosted.org": "*.pythonhosted.org", "*.example.com:8443": "*.example.com:8443",
		"localhost:8080": "localhost:8080", "a_b.example": "a_b.example", "bücher.example": "bücher.example", "xn--bcher-kva.example": "xn--bcher-kva.example",
		"10.1.2.3": "10.1.2.3", "10.1.2.3:8080": "10.1.2.3:8080", "2001:db8::1": "2001:db8::1", "[2001:DB8::1]:443": "[2001:db8::1]:443", "[::1]": "[::1]", "all": "all",
	} {
		if got, err := parseNetHost(text); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "*", "*.", "*pypi.org", "a.*.org", "**.org", "http://pypi.org", "pypi.org/simple", "user@pypi.org", "pypi.org:", "pypi.org:0", "pypi.org:65536", "pypi.org:+1", "pypi.org:http",
		"10.0.0.0/8", "127.1", "0x7f.1", "0x7f000001", "2130706433", "*.10.0.0.1", "*.::1", "*.[::1]", "[::1", "[pypi.org]", "[10.0.0.1]", "fe80::1%eth0", "[fe80::1%25eth0]:80",
		"a..b", ".a", "a b", "none\n", strings.Repeat("a", 64) + ".org", strings.Repeat("a.", 127) + "org",
	} {
		if got, err := parseNetHost(text); err == nil || !strings.Contains(err.Error(), "is no host; write pypi.org") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
