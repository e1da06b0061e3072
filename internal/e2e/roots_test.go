package e2e

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// rooted is a client that names directories.
type rooted []mcp.Root

func (r rooted) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: r}, nil
}

// TestRoots starts a server in no place to work: it works in the first directory that its
// client names, if the client can be asked, and says so.
func TestRoots(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(home, "my project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		roots rooted
		want  string
	}{
		"a project":          {rooted{{URI: "https://example.com/"}, {URI: "file://" + home}, {URI: "file://" + (&url.URL{Path: project}).EscapedPath()}}, project},
		"none that is fit":   {rooted{{URI: "file:///"}, {URI: "file:///no/such/directory"}}, filepath.Join(home, "understudy")},
		"a client with none": {nil, filepath.Join(home, "understudy")},
	} {
		t.Run(name, func(t *testing.T) {
			program, err := exec.LookPath("understudy")
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, "serve", "--data-dir", t.TempDir(), "--log-level", "warn", "--start", "spawn")
			cmd.Env, cmd.Dir = append(os.Environ(), "HOME="+home), "/"
			if python := os.Getenv("UNDERSTUDY_TEST_PYTHON"); python != "" {
				cmd.Env = append(cmd.Env, "UNDERSTUDY_PYTHON="+python)
			}
			link, err := startStdio(cmd)
			if err != nil {
				t.Fatal(err)
			}
			var options []client.ClientOption
			if test.roots != nil {
				options = append(options, client.WithRootsHandler(test.roots))
			}
			c := client.NewClient(link, options...)
			defer func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}()
			if err := c.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			hello := mcp.InitializeRequest{}
			hello.Params.ProtocolVersion = "2025-11-25"
			hello.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
			if _, err := c.Initialize(t.Context(), hello); err != nil {
				t.Fatal(err)
			}
			request := mcp.CallToolRequest{}
			request.Params.Name = "run_python_code"
			request.Params.Arguments = map[string]any{"code": "import os; print('in', os.getcwd())"}
			result, err := c.CallTool(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			text := result.Content[0].(mcp.TextContent).Text
			if !strings.Contains(text, "in "+test.want+"\n") || !strings.Contains(text, "[note] the working directory is "+test.want) {
				t.Error(text)
			}
		})
	}
}
