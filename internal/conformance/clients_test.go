package conformance

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// client is a program that others wrote, as it is met in testdata/clients.
type client struct {
	name string // in the table of docs/reference.md
	// module opens the client for testdata/clients/python/converse.py; empty for
	// the TypeScript SDK.
	module  string
	variant string // what the module, or the TypeScript program, is told beside
	// sdk is "v1" where the client is built with the older line of the Python SDK.
	sdk  string
	ways []string // which of the conversations it holds
}

var (
	legacy = []string{"stdio", "http", "sse"}
	modern = []string{"stdio modern", "http modern"}
	plain  = slices.Concat(legacy, modern)
	tokens = []string{"http token", "http token modern", "sse token"}
)

// clients are all that are tried. A name may be there twice, for ways that
// different lines of the SDK take.
var clients = []client{
	{name: "Python SDK", module: "python_sdk", ways: slices.Concat(plain, tokens)},
	{name: "TypeScript SDK", variant: "v2", ways: slices.Concat(plain, tokens)},
	{name: "TypeScript SDK, v1", variant: "v1", ways: slices.Concat(legacy, []string{"http token", "sse token"})},
	{name: "FastMCP", module: "fastmcp_client", ways: plain},
	{name: "OpenAI Agents SDK", module: "openai_agent", ways: modern},
	{name: "OpenAI Agents SDK", module: "openai_agent", sdk: "v1", ways: legacy},
	{name: "OpenAI Agents SDK, strict mode", module: "openai_agent", variant: "strict", ways: modern},
	{name: "AutoGen", module: "autogen_workbench", sdk: "v1", ways: legacy},
	{name: "pydantic-ai", module: "pydantic_ai_agent", ways: plain},
	{name: "LangChain, `get_tools()`", module: "langchain_tools", sdk: "v1", ways: legacy},
	{name: "LangChain, `session()`", module: "langchain_tools", variant: "session", sdk: "v1", ways: legacy},
	{name: "LlamaIndex", module: "llama_index_tools", ways: legacy},
	{name: "google-genai", module: "google_genai_chat", ways: plain},
}

// official reports whether the client is an SDK of the protocol's own, which has
// all of it.
func (c client) official() bool { return c.module == "" || c.module == "python_sdk" }

// leaves reports whether the client starts a server for each call over stdio,
// which ends with it.
func (c client) leaves() bool {
	return c.module == "llama_index_tools" || c.module == "langchain_tools" && c.variant == ""
}

// plan is what a client is to do; the programs in testdata/clients read it.
type plan struct {
	Client    string `json:"client"`  // the module that opens it
	Variant   string `json:"variant"` // what the module is told beside
	Transport string `json:"transport"`
	Era       string `json:"era"` // legacy or modern

	Command []string          `json:"command"` // of stdio
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"` // of the others
	Token   string            `json:"token"`

	Steps []string `json:"steps"`
	// Leaves says that every call meets a server of its own, so that nothing stays.
	Leaves bool `json:"leaves"`
	// Comeback is how a second client finds the interpreter of the first: "known"
	// needs no name for it, by its token or its process; "wait" leaves while code
	// runs and fetches what became of it. Empty: there is none.
	Comeback string `json:"comeback"`
	Dir      string `json:"dir"` // for files by which the code and the client meet
}

// comebacks are what the official clients do in the end, by way.
var comebacks = map[string]string{
	"http modern": "known", "sse": "wait",
	"http token": "known", "http token modern": "known", "sse token": "known",
}

// planOf returns what the client does on a way, which is a transport, perhaps
// with "token" and "modern". The server is still to be named.
func (c client) planOf(way string) plan {
	words := strings.Fields(way)
	p := plan{
		Client: c.module, Variant: c.variant, Transport: words[0], Era: "legacy",
		Steps:  []string{"list", "state", "figure"},
		Leaves: c.leaves() && words[0] == "stdio",
	}
	if slices.Contains(words, "modern") {
		p.Era = "modern"
	}
	if slices.Contains(plain, way) {
		p.Steps = append(p.Steps, "six seconds")
	}
	p.Steps = append(p.Steps, "cancellation")
	if c.official() {
		p.Steps = append(p.Steps, "progress")
		if p.Transport != "sse" && !slices.Contains(words, "token") {
			p.Steps = append(p.Steps, "elicitation")
		}
		if p.Comeback = comebacks[way]; p.Comeback != "" {
			p.Steps = append(p.Steps, "comeback")
		}
	}
	return p
}

// TestClients has clients talk with the server: they list its tools, keep
// variables from call to call without naming an interpreter, get a figure, make a
// call longer than some of them wait, and cancel one. How it went must be as
// testdata/conformance/clients.json has it, from which docs/reference.md tells it;
// -update writes that down.
func TestClients(t *testing.T) {
	t.Parallel()
	held := newRecord(t)
	for _, c := range clients {
		for _, way := range c.ways {
			t.Run(c.name+"/"+way, func(t *testing.T) {
				t.Parallel()
				held.check(t, c.name, way, c.converse(t, way))
			})
		}
	}
}

// converse has the client follow its plan with a server of its own.
func (c client) converse(t *testing.T, way string) conversation {
	t.Helper()
	p := c.planOf(way)
	p.Dir = t.TempDir()
	if p.Transport == "stdio" {
		line, env := commandLine(t)
		p.Command, p.Env = line, map[string]string{}
		for _, variable := range env {
			name, value, _ := strings.Cut(variable, "=")
			p.Env[name] = value
		}
	} else {
		// Code and clients meet by files, which a sandbox hides.
		args := []string{"--transport", p.Transport, "--sandbox", "off"}
		if strings.Contains(way, "token") {
			file := filepath.Join(t.TempDir(), "tokens")
			p.Token = makeToken(t, file)
			args = append(args, "--auth-tokens", file)
		}
		p.URL = serve(t, args...) + map[string]string{"http": "/mcp", "sse": "/sse"}[p.Transport]
	}
	return c.follow(t, p)
}

// follow has the client do what the plan says.
func (c client) follow(t *testing.T, p plan) conversation {
	t.Helper()
	text, err := json.Marshal(p)
	must(t, err)
	interpreter, script := c.program(t)
	script, err = filepath.Abs(filepath.Join("..", "..", "testdata", "clients", filepath.FromSlash(script)))
	must(t, err)
	said := finish(t, program(t, interpreter, script, string(text)))
	talk, err := readConversation(said.stdout)
	if took := talk.took(); err != nil || said.status != 0 || !slices.Equal(took, append(p.Steps, "goodbye")) {
		t.Fatalf("%v: the client took the steps %q of %q and ended with %s", err, took, p.Steps, said)
	}
	return talk
}

// program returns what runs the client and the program that is run.
func (c client) program(t *testing.T) (interpreter, script string) {
	t.Helper()
	if c.module == "" {
		return node(t), "typescript/converse.mjs"
	}
	return installed(t, "python"+c.sdk+"/bin/python"), "python/converse.py"
}
