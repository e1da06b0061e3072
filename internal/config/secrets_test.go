package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("value\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := must(t, nil, "--sandbox", "standard", "--allow-net", "a.org", "--secret", "A=env:X@a.org,b.org:8443#X-Api-Key,B=file:"+file+"@c.org?key", "--secret", "C=env:C@d.org")
	all := c.Serve.Secrets()
	expect(t, len(all) == 3 && all[0].Env == "X" && len(all[0].Places) == 2 && all[0].Places[1] == (SecretPlace{Host: "b.org:8443", Header: "X-Api-Key"}) &&
		all[1].Places[0] == (SecretPlace{Host: "c.org", Query: "key"}) && all[2].Name == "C", "%+v", all)
	value, err := all[1].Read()
	expect(t, err == nil && value == "value", "%q, %v", value, err)
	expect(t, strings.Join(c.Serve.AllowNet, ",") == "a.org,b.org:8443,c.org:443,d.org:443", "%v", c.Serve.AllowNet)
	for _, text := range []string{"", "A", "A=x@a.org", "A=env:X", "1=env:X@a.org", "A=env:X@a.org?a=b", "A=env:X@a.org,b/c"} {
		_, err := parseSecret(text)
		expect(t, err != nil, "%q is taken", text)
	}
	for want, check := range map[string]error{
		"sandbox, which is off": Confine{Secret: []string{"A=env:X@a.org"}}.checkSecrets(SandboxOff, "linux"),
		"allow-net is all":      Confine{Secret: []string{"A=env:X@a.org"}, AllowNet: []string{NetAll}}.checkSecrets(SandboxStandard, "linux"),
		"needs the sandbox of":  Confine{Secret: []string{"A=env:X@a.org"}}.checkSecrets(SandboxStandard, "darwin"),
		"names A twice":         Confine{Secret: []string{"A=env:X@a.org", "A=env:Y@b.org"}}.checkSecrets(SandboxStandard, "linux"),
		"another name":          Confine{Secret: []string{"PATH=env:X@a.org"}}.checkSecrets(SandboxStandard, "linux"),
	} {
		expect(t, check != nil && strings.Contains(check.Error(), want), "%s: %v", want, check)
	}
}
