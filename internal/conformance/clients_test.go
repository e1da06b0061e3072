package conformance

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plan is what a client is to do; the programs in testdata/clients read it.
type plan struct {
	// SDK is the line of the TypeScript SDK, v1 or v2.
	SDK       string `json:"sdk"`
	Transport string `json:"transport"` // stdio, http or sse
	Era       string `json:"era"`       // legacy or modern

	Command []string          `json:"command"` // of stdio
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"` // of the others
	Token   string            `json:"token"`

	// Anonymous says that the client has no interpreter of its own and must name
	// the one it means in every call.
	Anonymous bool `json:"anonymous"`
	// Elicit has the client answer what the code asks with input().
	Elicit bool `json:"elicit"`
	// Comeback is how a second client finds the session of the first: "handle"
	// names the interpreter, "principal" is known by its token, "wait" leaves
	// while code runs and fetches what became of it. Empty: there is none.
	Comeback string `json:"comeback"`
	Dir      string `json:"dir"` // for files that tell code to go on

	authenticated bool // with a token of the server's file
}

// conversations are the plans, each held by every client that speaks the era.
func conversations() map[string]plan {
	return map[string]plan{
		"stdio":             {Transport: "stdio", Era: "legacy", Elicit: true},
		"stdio modern":      {Transport: "stdio", Era: "modern", Elicit: true},
		"http":              {Transport: "http", Era: "legacy", Elicit: true},
		"http modern":       {Transport: "http", Era: "modern", Elicit: true, Anonymous: true, Comeback: "handle"},
		"sse":               {Transport: "sse", Era: "legacy", Comeback: "wait"},
		"http token":        {Transport: "http", Era: "legacy", authenticated: true, Comeback: "principal"},
		"http token modern": {Transport: "http", Era: "modern", authenticated: true, Comeback: "principal"},
		"sse token":         {Transport: "sse", Era: "legacy", authenticated: true, Comeback: "principal"},
	}
}

// TestClients has the official clients talk with the server: variables stay
// from call to call, figures arrive, progress is told, a cancelled call ends and
// its session goes on, who comes back finds the session again.
func TestClients(t *testing.T) {
	t.Parallel()
	for name, plan := range conversations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("python", func(t *testing.T) {
				t.Parallel()
				converse(t, plan, installed(t, "python/bin/python"), "python/converse.py")
			})
			for _, sdk := range []string{"v1", "v2"} {
				if sdk == "v1" && plan.Era == "modern" {
					continue // it has no other era than the older one
				}
				t.Run("typescript "+sdk, func(t *testing.T) {
					t.Parallel()
					converse(t, plan.with(sdk), node(t), "typescript/converse.mjs")
				})
			}
		})
	}
}

// converse has a client follow the plan with a server of its own, and checks
// that it took every step.
func converse(t *testing.T, p plan, interpreter, script string) {
	t.Helper()
	p.Dir = t.TempDir()
	if p.Transport == "stdio" {
		line, env := commandLine(t)
		p.Command, p.Env = line, map[string]string{}
		for _, variable := range env {
			name, value, _ := strings.Cut(variable, "=")
			p.Env[name] = value
		}
	} else {
		// The clients open the way for code by files of theirs, which a sandbox hides.
		args := []string{"--transport", p.Transport, "--sandbox", "off"}
		if p.authenticated {
			file := filepath.Join(t.TempDir(), "tokens")
			p.Token = makeToken(t, file)
			args = append(args, "--auth-tokens", file)
		}
		p.URL = serve(t, args...) + map[string]string{"http": "/mcp", "sse": "/sse"}[p.Transport]
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	script, err = filepath.Abs(filepath.Join("..", "..", "testdata", "clients", filepath.FromSlash(script)))
	if err != nil {
		t.Fatal(err)
	}
	said := finish(t, program(t, interpreter, script, string(text)))
	if took := strings.Fields(strings.ReplaceAll(said.stdout, "ok ", "")); said.status != 0 || !slices.Equal(took, steps(p)) {
		t.Errorf("the client took the steps %v of %v and ended with %s", took, steps(p), said)
	}
}

func (p plan) with(sdk string) plan {
	p.SDK = sdk
	return p
}

func steps(p plan) []string {
	all := []string{"state", "figure", "progress", "cancellation"}
	if p.Elicit {
		all = append(all, "elicitation")
	}
	if p.Comeback != "" {
		all = append(all, "comeback")
	}
	return append(all, "goodbye")
}
