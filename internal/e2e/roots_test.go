package e2e

import (
	"context"
	"net/url"
	"os"
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
	must(t, err)
	project := filepath.Join(home, "my project")
	must(t, os.Mkdir(project, 0o755))
	for name, test := range map[string]struct {
		roots rooted
		want  string
	}{
		"a project":          {rooted{{URI: "https://example.com/"}, {URI: "file://" + home}, {URI: "file://" + (&url.URL{Path: project}).EscapedPath()}}, project},
		"none that is fit":   {rooted{{URI: "file:///"}, {URI: "file:///no/such/directory"}}, filepath.Join(home, "understudy")},
		"a client with none": {nil, filepath.Join(home, "understudy")},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, "serve", "--log-level", "warn", "--start", "spawn")
			cmd.Env, cmd.Dir = append(cmd.Env, "HOME="+home), "/"
			options := []client.ClientOption{client.WithLegacyProtocolOnly()}
			if test.roots != nil {
				options = append(options, client.WithRootsHandler(test.roots))
			}
			c := spawn(t, cmd, options...)
			_, text := run(t, c, "import os; print('in', os.getcwd())")
			if !strings.Contains(text, "in "+test.want+"\n") || !strings.Contains(text, "[note] the working directory is "+test.want) {
				t.Error(text)
			}
			must(t, c.Close())
		})
	}
}
