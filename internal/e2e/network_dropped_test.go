package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// httpClient speaks streamable HTTP of the older eras in plain requests.
type httpClient struct {
	t       *testing.T
	url     string
	session string
}

// post sends a request and returns the whole body of its answer.
func (h *httpClient) post(ctx context.Context, id int, method string, params map[string]any) (string, error) {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		h.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if h.session != "" {
		request.Header.Set("Mcp-Session-Id", h.session)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if h.session == "" {
		h.session = response.Header.Get("Mcp-Session-Id")
	}
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

func (h *httpClient) call(ctx context.Context, id int, tool string, arguments map[string]any) (string, error) {
	h.t.Helper()
	return h.post(ctx, id, "tools/call", map[string]any{"name": tool, "arguments": arguments})
}

// TestALostConnectionOfHTTP: the code of a call whose connection broke runs on,
// or is interrupted, as --on-disconnect says; the client waits for it in its
// session. It may have one call at a time, and so learns that the server has
// heard of the loss.
func TestALostConnectionOfHTTP(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]string{"keep": "to the end", "interrupt": "--on-disconnect interrupt"} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o777); err != nil { // under root code has a user of its own
				t.Fatal(err)
			}
			r := startRemote(t, "--on-disconnect", choice, "--workdir", dir, "--max-calls-per-client", "1")
			h := &httpClient{t: t, url: r.url + "/mcp"}
			h.initialize()
			ctx, hangUp := context.WithCancel(t.Context())
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, _ = h.call(ctx, 2, "run_python_code", map[string]any{
					"code": "import os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('to the', 'end')",
				})
			}()
			eventually(t, func() error {
				_, err := os.Stat(filepath.Join(dir, "begun"))
				return err
			})
			hangUp()
			<-over
			if choice == "keep" {
				h.await(map[string]any{"operation": "wait", "wait": 0.01}, `"status":"running"`)
				if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			h.await(map[string]any{"operation": "wait"}, want)
		})
	}
}

func (h *httpClient) initialize() {
	h.t.Helper()
	if _, err := h.post(h.t.Context(), 1, "initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "tester", "version": "1"},
	}); err != nil {
		h.t.Fatal(err)
	}
}

// await calls manage_interpreters until its answer has the text.
func (h *httpClient) await(arguments map[string]any, want string) {
	h.t.Helper()
	eventually(h.t, func() error {
		answer, err := h.call(h.t.Context(), 3, "manage_interpreters", arguments)
		if err == nil && !strings.Contains(answer, want) {
			return errors.New(answer)
		}
		return err
	})
}

// TestAnMCPSessionForEachCall, as some clients open one and never end it: none meets the
// limit, who came before is left alone, and a name that an earlier session has is found.
func TestAnMCPSessionForEachCall(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("processes are found on Linux only")
	}
	r := startRemote(t, "--max-sessions", "4")
	kept := ""
	for i := range 12 {
		h := &httpClient{t: t, url: r.url + "/mcp"}
		h.initialize()
		if i == 0 {
			h.run("x = 41", `"status":"ok"`)
			h.run("x += 1", `"status":"ok"`)
			kept = h.session
			continue
		}
		h.run("x", "x is defined in interpreter ")
	}
	h := &httpClient{t: t, url: r.url + "/mcp", session: kept}
	h.run("print(x, 'is kept')", "42 is kept")
}

// run runs code, the answer to which must have the text.
func (h *httpClient) run(code, want string) {
	h.t.Helper()
	answer, err := h.call(h.t.Context(), 4, "run_python_code", map[string]any{"code": code})
	if err != nil || !strings.Contains(answer, want) {
		h.t.Errorf("%s: %s, %v", code, answer, err)
	}
}
