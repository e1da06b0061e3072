package egress

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func addrs(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

// TestWhatANameLeadsTo: names are resolved once, and only what may be is dialed.
func TestWhatANameLeadsTo(t *testing.T) {
	own := func() []netip.AddrPort {
		return []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8808"), netip.MustParseAddrPort("[::]:9090"), netip.MustParseAddrPort("10.9.9.9:80")}
	}
	for name, test := range map[string]struct {
		hosts   []string
		leads   []netip.Addr // what name.example leads to
		url     string
		dialed  string // "" if refused
		because string
	}{
		"loopback":              {[]string{"name.example"}, addrs("127.0.0.1", "::1"), "name.example", "", "it leads to ::1, an address of this machine"},
		"metadata":              {[]string{"name.example"}, addrs("169.254.169.254"), "name.example", "", "link-local"},
		"a private network":     {[]string{"name.example"}, addrs("10.1.2.3"), "name.example", "", "it leads to 10.1.2.3, an address of a private network, which the server's --allow-net would have to list, too"},
		"mapped":                {[]string{"*.example"}, addrs("::ffff:192.168.0.1"), "name.example", "", "it leads to 192.168.0.1"},
		"a mixture":             {[]string{"name.example"}, addrs("10.1.2.3", "93.184.216.34", "127.0.0.1"), "name.example", "93.184.216.34:80", ""},
		"the next one":          {[]string{"name.example"}, addrs("93.184.216.30", "93.184.216.34"), "name.example", "93.184.216.30:80 93.184.216.34:80", ""},
		"listed as well":        {[]string{"name.example", "10.1.2.3"}, addrs("10.1.2.3"), "name.example", "10.1.2.3:80", ""},
		"listed for a port":     {[]string{"name.example", "10.1.2.3:8080"}, addrs("10.1.2.3"), "name.example", "", "private network"},
		"this machine's own":    {[]string{"name.example"}, addrs("93.184.216.99"), "name.example", "", "it leads to 93.184.216.99, an address of this machine"},
		"localhost":             {[]string{"localhost:8080"}, nil, "localhost:8080", "127.0.0.1:8080", ""},
		"localhost elsewhere":   {[]string{"localhost:8080"}, nil, "localhost:80", "", "not this port"},
		"below localhost":       {[]string{"*.localhost"}, nil, "name.localhost", "", "an address of this machine"},
		"a literal":             {[]string{"127.0.0.1:8080"}, nil, "127.0.0.1:8080", "127.0.0.1:8080", ""},
		"another of loopback":   {[]string{"127.0.0.1:8080"}, nil, "127.0.0.2:8080", "", "does not list"},
		"the server":            {[]string{"localhost:8808"}, nil, "localhost:8808", "", "understudy's own"},
		"the server by address": {[]string{"127.0.0.1:8808"}, nil, "127.0.0.1:8808", "", "understudy's own"},
		"its other listener":    {[]string{"localhost:9090"}, nil, "localhost:9090", "", "understudy's own"},
		"its other from beyond": {[]string{"93.184.216.99:9090"}, nil, "93.184.216.99:9090", "", "understudy's own"},
		"its third":             {[]string{"10.9.9.9"}, nil, "10.9.9.9", "", "understudy's own"},
		"all addresses":         {[]string{"0.0.0.0:9090"}, nil, "0.0.0.0:9090", "", "understudy's own"},
		"nowhere":               {[]string{"name.example"}, addrs(), "name.example", "", "has no address"},
		"not there":             {[]string{"other.example"}, nil, "other.example", "", "can't be resolved"},
	} {
		t.Run(name, func(t *testing.T) {
			w := beginWith(t, Options{Hosts: test.hosts, Own: own}, func(p *Proxy) {
				p.machine = func() ([]netip.Addr, error) { return addrs("93.184.216.99", "10.9.9.9"), nil }
			})
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			t.Cleanup(server.Close)
			w.has("name.example", test.leads...)
			w.has("localhost", addrs("127.0.0.1")...)
			w.has("name.localhost", addrs("127.0.0.1")...)
			for _, place := range []string{"93.184.216.34:80", "10.1.2.3:80", "127.0.0.1:8080"} {
				w.puts(netip.MustParseAddrPort(place), server.Listener.Addr().String())
			}
			response, err := w.client(t).Get("http://" + test.url)
			must(t, err)
			defer response.Body.Close()
			body, _ := io.ReadAll(response.Body)
			asked, dialed := w.seen()
			var places []string
			for _, place := range dialed {
				places = append(places, place.String())
			}
			got := strings.Join(places, " ")
			expect(t, got == test.dialed && (response.StatusCode == http.StatusOK) == (test.dialed != ""), "dialed %q, %s", got, response.Status)
			expect(t, strings.Contains(string(body), test.because), "%q", body)
			expect(t, len(asked) <= 1, "resolved: %q", asked)
		})
	}
}

// TestTheMachineKnowsItself, as the system has it.
func TestTheMachineKnowsItself(t *testing.T) {
	all, err := machineAddresses()
	expect(t, err == nil && slices.Contains(all, netip.MustParseAddr("127.0.0.1")), "%v, %v", all, err)
}

// TestWithoutLookup: the system's resolver and dialer, and a connection for each
// session.
func TestWithoutLookup(t *testing.T) {
	from := make(chan string, 8)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { from <- r.RemoteAddr }))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	p, err := New(Options{Hosts: []string{"localhost:" + port}})
	must(t, err)
	t.Cleanup(p.Close)
	get := func(w *world) string {
		t.Helper()
		response, err := w.client(t).Get("http://localhost:" + port)
		insist(t, err == nil && response.StatusCode == http.StatusOK, "%v %v", response, err)
		response.Body.Close()
		return <-from
	}
	// net/http drops a connection after a request if it does not know in time that all of
	// it was written: another one is kept then.
	kept := func(w *world) string {
		t.Helper()
		last := get(w)
		for range 100 {
			now := get(w)
			if now == last {
				return now
			}
			last = now
		}
		t.Fatal("each request of a session has a connection of its own")
		return ""
	}
	var each []string
	for range 2 {
		w := &world{proxy: p}
		w.addr = w.serve(t).Addr().String()
		each = append(each, kept(w))
	}
	expect(t, each[0] != each[1], "two sessions share a connection")
}
