package egress

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func parseAll(t *testing.T, hosts ...string) rules {
	t.Helper()
	var all rules
	for _, host := range hosts {
		r, err := parseRule(host)
		must(t, err)
		all = append(all, r)
	}
	return all
}

func TestWhatIsAllowed(t *testing.T) {
	all := parseAll(t, "PyPI.org", "*.example.com", "deep.example.com:8443", "bücher.example", "10.1.2.3", "[2606:4700::1]:8080", "2606:4700::2", "a_b.example.net.", "localhost:8080")
	for text, want := range map[string]bool{
		"pypi.org:443": true, "pypi.org:80": true, "PYPI.ORG.:443": true, "pypi.org:22": false, "pypi.org:8443": false,
		"xpypi.org:443": false, "pypi.org.evil.net:443": false, "evil.net:443": false,
		"a.example.com:443": true, "a.b.example.com:443": true, "example.com:443": false, "xexample.com:443": false, ".example.com:443": false,
		"deep.example.com:8443": true, "deep.example.com:443": true, "other.example.com:8443": false,
		"xn--bcher-kva.example:443": true, "BÜCHER.example:443": true, "bücher。example:443": true, "bucher.example:443": false,
		"10.1.2.3:443": true, "[::ffff:10.1.2.3]:443": true, "10.1.2.4:443": false, "010.1.2.3:443": false, "10.1.515:443": false, "0x0a010203:443": false, "167838211:443": false,
		"[2606:4700::1]:8080": true, "[2606:4700:0::0001]:8080": true, "[2606:4700::1]:443": false, "[2606:4700::2]:443": true, "[2606:4700::2%eth0]:443": false,
		"a_b.example.net:443": true, "localhost:8080": true, "localhost:80": false, "127.0.0.1:8080": false,
		"pypi.org\x00.evil.net:443": false, "pypi.org/:443": false, "evil.net#pypi.org:443": false, "user@pypi.org:443": false, "pypi.org :443": false, "": false, ":443": false,
		"pypi.org:": false, "pypi.org:0": false, "pypi.org:65979": false, "pypi.org:+443": false, "pypi.org:443:443": false, "[pypi.org]:443": false, "pypi.org": false,
		"ⓟypi.org:443": true, // what IDNA maps to the name is the name
	} {
		target, err := parseTarget(text, 0)
		if err == nil {
			_, err = all.allow(target)
		}
		expect(t, (err == nil) == want, "%q: %v", text, err)
	}
}

func TestRefusalsSayWhy(t *testing.T) {
	all := parseAll(t, "pypi.org")
	for text, words := range map[string]string{"evil.net:443": "--allow-net does not list this host", "pypi.org:22": "not this port"} {
		target, err := parseTarget(text, 0)
		must(t, err)
		_, err = all.allow(target)
		var no *refusal
		expect(t, errors.As(err, &no) && strings.Contains(no.text, words) && strings.Contains(no.text, text) && no.host == text, "%+v", no)
	}
}

func TestHostsThatAreNone(t *testing.T) {
	for _, host := range []string{"", "*", "*.", "all the rest", "http://pypi.org", "pypi.org/simple", "*.10.0.0.1", "a.*.org", "*pypi.org", "**.org", "pypi.org:0", "pypi.org:x", "10.0.0.0/8", "127.1", "fe80::1%eth0", "a..b", strings.Repeat("a", 64) + ".org"} {
		if p, err := New(Options{Hosts: []string{"pypi.org", host}}); err == nil || !strings.Contains(err.Error(), "write pypi.org, ") {
			p.Close()
			t.Errorf("%q: %v", host, err)
		}
	}
}

func TestAddressesThatAreNotPublic(t *testing.T) {
	for _, text := range []string{
		"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200",
		"192.0.0.192", "192.0.2.1", "198.18.0.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
		"::1", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::7f00:1", "fe80::1", "fec0::1", "fd00:ec2::254", "fc00::1", "ff02::1",
		"64:ff9b::a00:1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "3fff::1", "100::1",
	} {
		expect(t, kind(netip.MustParseAddr(text)) != "", "%s is taken for public", text)
	}
	for _, text := range []string{"93.184.216.34", "151.101.0.223", "172.32.0.1", "100.128.0.1", "2606:4700::1", "2a04:4e42::223", "64:ff9b::5db8:d822", "::ffff:93.184.216.34"} {
		what := kind(netip.MustParseAddr(text))
		expect(t, what == "", "%s is %s", text, what)
	}
}

func TestBypass(t *testing.T) {
	for want, hosts := range map[string][]string{
		"localhost,127.0.0.1,::1": {"pypi.org", "no host"},
		"127.0.0.1,::1":           {"localhost:8080"},
		"localhost,::1":           {"127.0.0.1:8080"},
		"localhost,127.0.0.1":     {"[::1]:8080"},
	} {
		got := Bypass(hosts)
		expect(t, got == want, "%q: %q, not %q", hosts, got, want)
	}
}

// TestALongHostTakesNoTime: punycode would, as the square of its length.
func TestALongHostTakesNoTime(t *testing.T) {
	for _, text := range []string{strings.Repeat("ü", 1<<20) + ":443", strings.Repeat("a.", 1<<20) + ":443"} {
		_, err := parseTarget(text, 0)
		expect(t, err != nil && strings.Contains(err.Error(), "253"), "%v", err)
	}
}

// FuzzTarget: what is read is canonical, and nobody gets by the rules.
func FuzzTarget(f *testing.F) {
	for _, text := range []string{"pypi.org:443", "PYPI.org.:443", "[::1]:80", "bücher.example:80", "xn--bcher-kva.example:1", "127.1:80", "ⓟypi.org:443", "\xb0:1"} {
		f.Add(text)
	}
	all := rules{{name: "pypi.org"}, {name: "example.com", wild: true}}
	f.Fuzz(func(t *testing.T, text string) {
		read, err := parseTarget(text, 0)
		if err != nil {
			return
		}
		again, err := parseTarget(read.String(), 0)
		insist(t, err == nil && again == read, "%q: %v, then %v, %v", text, read, again, err)
		if _, err := all.allow(read); err == nil && read.name != "pypi.org" && !strings.HasSuffix(read.name, ".example.com") {
			t.Fatalf("%q is allowed as %v", text, read)
		}
	})
}
