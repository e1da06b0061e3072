package answer

import (
	"flag"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/goleak"

	"understudy/internal/check"
)

// update rewrites the golden texts.
var update = flag.Bool("update", false, "rewrite testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text returns the one text of an answer, its first content.
func text(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	for i, content := range r.Content {
		if _, isText := mcp.AsTextContent(content); isText != (i == 0) {
			t.Fatalf("content %d of %d is a %T: want one text, and it first", i, len(r.Content), content)
		}
	}
	first, _ := mcp.AsTextContent(r.Content[0])
	return first.Text
}

var must, expect = check.Must, check.Expect

func same(t *testing.T, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
