// Package e2e holds conversations with the real binary.
package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	_ "understudy/internal/app" // results are kept only as long as the binary is the same
)

// binary is the path of understudy, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "understudy-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// What crashes and undos cost is exact then, however fast a test calls.
	if os.Getenv("UNDERSTUDY_COPY_SHARE") == "" {
		_ = os.Setenv("UNDERSTUDY_COPY_SHARE", "1")
	}
	binary = filepath.Join(dir, "understudy")
	build := exec.Command("go", "build", "-o", binary, "understudy")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building understudy:", err)
		return 1
	}
	return m.Run()
}

// python is the interpreter with the scientific libraries; without it a test is skipped.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv("UNDERSTUDY_TEST_PYTHON")
	if path == "" {
		t.Skip("UNDERSTUDY_TEST_PYTHON names no Python with the scientific libraries")
	}
	return path
}

// serve starts a server over stdio, in a directory of its own, with flags, and returns
// a client that has greeted it, and the directory.
func serve(t *testing.T, flags ...string) (*client.Client, string) {
	t.Helper()
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	arguments := append([]string{"serve", "--python", python(t), "--data-dir", filepath.Join(dir, "data"), "--workdir", project}, flags...)
	c, err := client.NewStdioMCPClientWithOptions(binary, nil, arguments, transport.WithCommandFunc(
		func(ctx context.Context, command string, env []string, args []string) (*exec.Cmd, error) {
			cmd := exec.CommandContext(ctx, command, args...)
			cmd.Env, cmd.Dir = append(os.Environ(), env...), project
			return cmd, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return c, project
}

// answer is what a model gets from a call.
type answer struct {
	text   string
	images int
	refuse bool
	record map[string]any
}

// call calls a tool.
func call(ctx context.Context, c *client.Client, tool string, arguments map[string]any) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = tool, arguments
	result, err := c.CallTool(ctx, request)
	if err != nil {
		return answer{}, err
	}
	a := answer{refuse: result.IsError}
	for _, content := range result.Content {
		switch content := content.(type) {
		case mcp.TextContent:
			a.text += content.Text
		case mcp.ImageContent:
			a.images++
		}
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(raw, &a.record)
}
