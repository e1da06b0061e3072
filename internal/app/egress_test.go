package app

import (
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"understudy/internal/config"
)

func TestWhoGetsAProxy(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for hosts, want := range map[string]bool{"": false, "all": false, "pypi.org,*.pythonhosted.org": true} {
		var list []string
		if hosts != "" {
			list = strings.Split(hosts, ",")
		}
		p, err := newEgress(list, nil, log)
		if err != nil || (p != nil) != want || (serving(p) != nil) != want {
			t.Errorf("%q: %v, %v", hosts, p, err)
		}
		p.Close()
	}
	for _, list := range [][]string{{"all", "pypi.org"}, {"pypi.org/simple"}} {
		if _, err := newEgress(list, nil, log); err == nil || !strings.HasPrefix(err.Error(), "allow-net: ") {
			t.Errorf("%q: %v", list, err)
		}
	}
}

func TestWhereTheServerListens(t *testing.T) {
	places := func(texts ...string) (all []netip.AddrPort) {
		for _, text := range texts {
			all = append(all, netip.MustParseAddrPort(text))
		}
		return all
	}
	network := func(addr, metrics, socket string) (s config.Serve) {
		s.Transport, s.Addr, s.MetricsAddr, s.Socket = []string{config.TransportHTTP}, addr, metrics, socket
		return s
	}
	for _, test := range []struct {
		serve config.Serve
		want  []netip.AddrPort
	}{
		{network("127.0.0.1:8808", "", ""), places("127.0.0.1:8808")},
		{network("[::1]:8808", ":9090", ""), places("[::1]:8808", "[::]:9090")},
		{network("0.0.0.0:8808", "127.0.0.1:0", ""), places("0.0.0.0:8808")},
		{network("127.0.0.1:8808", "127.0.0.1:9090", "/run/u.sock"), places("127.0.0.1:9090")},
		{config.Serve{Transport: []string{config.TransportStdio}, Addr: "127.0.0.1:8808"}, nil},
	} {
		if got := ownPlaces(test.serve); !slices.Equal(got, test.want) {
			t.Errorf("%v, not %v", got, test.want)
		}
	}
}
