package resources

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/tools/resources/uri"
)

func TestArtifactsAreRead(t *testing.T) {
	h := newHouse(t, time.Hour)
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			c, _ := h.connect(t, options...)
			stranger, _ := h.connect(t, options...)
			_, id := run(t, c, `{"code":"artifact a%b.md first"}`)
			_, _ = run(t, c, `{"code":"artifact a%b.md second\nartifact c.md other"}`)
			root, address := uri.OfInterpreter(id), uri.OfArtifact(id, "a%b.md")
			contents, err := read(c, address)
			if err != nil {
				t.Fatal(err)
			}
			if text, ok := contents[0].(mcp.TextResourceContents); !ok || text.Text != "second" || text.MIMEType != "text/markdown" {
				t.Errorf("%+v", contents[0])
			}
			if got := readText(t, c, address+"?match=sec"); got != "1: second\n[1 of lines 1 to 1 match; 6 bytes in all]" {
				t.Errorf("%q", got)
			}
			checkJSON(t, readText(t, c, root), map[string]any{"runs.1.artifact_uris.0": address, "runs.0.artifact_uris.1": uri.OfArtifact(id, "c.md")})
			checkJSON(t, readText(t, c, root+"/executions/1"), map[string]any{
				"artifacts.0.uri": address, "artifacts.0.name": "a%b.md", "artifacts.0.kind": "txt", "artifacts.0.size": 5., "artifacts.0.preview": "first"})
			want := []string{root, root + "/files", uri.OfArtifact(id, "c.md"), address}
			if diff := cmp.Diff(want, listedURIs(t, c)); diff != "" {
				t.Error(diff)
			}
			if got := completed(t, c, uri.Of(uri.Artifact).String(), "name", ""); !cmp.Equal(got, []string{"c.md", "a%b.md"}) {
				t.Errorf("%v", got)
			}
			if got := completed(t, c, uri.Of(uri.Figure).String(), "name", ""); len(got) != 0 {
				t.Errorf("%v", got)
			}
			checkRefusal(t, c, uri.OfArtifact(id, "none"), "has kept no artifact")
			checkRefusal(t, c, address+"?form=1", `unknown parameter "form"`)
			checkRefusal(t, stranger, address, "Interpreter "+id+" not found")
		})
	}
}

// completed returns what a client is offered for an argument of a template.
func completed(t *testing.T, c *client.Client, template, argument, start string) []string {
	t.Helper()
	var request mcp.CompleteRequest
	request.Params.Ref = mcp.ResourceReference{Type: "ref/resource", URI: template}
	request.Params.Argument = mcp.CompleteArgument{Name: argument, Value: start}
	result, err := c.Complete(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return result.Completion.Values
}

func TestSubscribersHearOfArtifacts(t *testing.T) {
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			h := newHouse(t, soon)
			c, notifications := h.connect(t, options...)
			_, id := run(t, c, `{"code":"artifact a.md first"}`)
			address := uri.OfArtifact(id, "a.md")
			subscribeTo(t, c, notifications, era == "modern", address)
			_, _ = run(t, c, `{"code":"artifact a.md other"}`) // of the same size
			awaitUpdate(t, notifications, address)
		})
	}
}

// TestArtifactsInAnswers: images of artifacts come after those of figures, within
// the same bounds, and each artifact is linked.
func TestArtifactsInAnswers(t *testing.T) {
	c, _ := newHouse(t, time.Hour).connect(t)
	got, id := run(t, c, `{"code":"artifact a.md text\nfigure f.png pixels"}`)
	link, ok := got.Content[len(got.Content)-1].(mcp.ResourceLink)
	if !ok || link.URI != uri.OfArtifact(id, "a.md") || link.Name != "a.md" || link.MIMEType != "text/markdown" || link.Size == nil || *link.Size != 4 {
		t.Errorf("%+v", got.Content)
	}
	text := got.Content[0].(mcp.TextContent).Text
	want := "[artifact] a.md (txt, 4 B): " + uri.OfArtifact(id, "a.md") + "\n  text"
	if !strings.Contains(text, want) {
		t.Errorf("%q has no %q", text, want)
	}
}
