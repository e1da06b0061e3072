package config

import (
	"strings"
	"testing"
	"time"
)

func TestGatewaySettings(t *testing.T) {
	whole := []string{"gateway", "--auth-tokens", "tokens", "--pod-token", "token"}
	c := must(t, map[string]string{"UNDERSTUDY_LEASE": "10m", "UNDERSTUDY_ADDR": "0.0.0.0:80"}, whole...)
	g := c.Gateway
	expect(t, g.Has(TransportHTTP) && g.Has(TransportSSE) && g.Lease == 10*time.Minute && g.Addr == "0.0.0.0:80" && g.PodPort == 8808 && g.Pool == "understudy",
		"%+v", g)
	for missing, args := range map[string][]string{
		"pod-token":                     {"gateway", "--auth-tokens", "tokens"},
		"pod-per is principal":          {"gateway", "--pod-token", "token"},
		"lease":                         append(whole, "--lease", "1s"),
		"claim-wait":                    append(whole, "--claim-wait", "0"),
		"pod-port":                      append(whole, "--pod-port", "65536"),
		"transport: a gateway has many": append(whole, "--transport", "stdio"),
		"others than this machine can":  {"gateway", "--pod-token", "token", "--pod-per", "session", "--addr", ":80"},
	} {
		_, err := try(t, nil, args...)
		expect(t, err != nil && strings.Contains(err.Error(), missing), "%q: %v", args, err)
	}
	must(t, nil, "gateway", "--pod-token", "token", "--pod-per", "session")
}
