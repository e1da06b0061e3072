// Package e2e holds conversations with the real binary.
package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	_ "understudy/internal/app" // results are kept only as long as the binary is the same
)

// root is the way from here to the top of the project.
const root = "../../"

// binary is the path of understudy, built once and first on PATH.
var binary string

// helpers are programs that this one is under another name.
var helpers = map[string]func(){}

func TestMain(m *testing.M) {
	// Under the race detector every program sleeps a second before it exits.
	if os.Getenv("GORACE") == "" {
		_ = os.Setenv("GORACE", "atexit_sleep_ms=10")
	}
	testscript.Main(built{m}, helpers)
}

// built runs the tests with a new understudy.
type built struct{ *testing.M }

func (b built) Run() int {
	dir, err := os.MkdirTemp("", "understudy-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "understudy")
	if err := errors.Join(os.Chmod(dir, 0o755), build(dir, lookForRaces())); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return b.M.Run()
}

// build builds understudy in a directory.
func build(dir string, races bool) error {
	build := exec.Command("go", "build", "-race="+strconv.FormatBool(races), "-o", dir+string(os.PathSeparator), "understudy")
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building understudy: %w\n%s", err, said)
	}
	return nil
}

// lookForRaces reports whether the tests run with the race detector: then the server does, too.
func lookForRaces() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
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
