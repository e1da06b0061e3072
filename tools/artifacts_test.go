package tools

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

func TestArtifactsAreRead(t *testing.T) {
	h := newHouse(t, time.Hour)
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			c, _ := h.connect(t, options...)
			stranger, _ := h.connect(t, options...)
			_, id := run(t, c, `{"code":"artifact a%b.md first"}`)
			_, _ = run(t, c, `{"code":"artifact a%b.md second\nartifact c.md other"}`)
			root, uri := interpreterURI(id), artifactURI(id, "a%b.md")
			contents, err := read(c, uri)
			if err != nil {
				t.Fatal(err)
			}
			if text, ok := contents[0].(mcp.TextResourceContents); !ok || text.Text != "second" || text.MIMEType != "text/markdown" {
				t.Errorf("%+v", contents[0])
			}
			if got := readText(t, c, uri+"?match=sec"); got != "1: second\n[1 of lines 1 to 1 match; 6 bytes in all]" {
				t.Errorf("%q", got)
			}
			checkJSON(t, readText(t, c, root), map[string]any{"runs.1.artifact_uris.0": uri, "runs.0.artifact_uris.1": artifactURI(id, "c.md")})
			checkJSON(t, readText(t, c, root+"/executions/1"), map[string]any{
				"artifacts.0.uri": uri, "artifacts.0.name": "a%b.md", "artifacts.0.kind": "txt", "artifacts.0.size": 5., "artifacts.0.preview": "first"})
			want := []string{root, root + "/files", artifactURI(id, "c.md"), uri}
			if diff := cmp.Diff(want, listedURIs(t, c)); diff != "" {
				t.Error(diff)
			}
			if got := completed(t, c, artifactTemplate, "name", ""); !cmp.Equal(got, []string{"c.md", "a%b.md"}) {
				t.Errorf("%v", got)
			}
			if got := completed(t, c, figureTemplate, "name", ""); len(got) != 0 {
				t.Errorf("%v", got)
			}
			checkRefusal(t, c, artifactURI(id, "none"), "has kept no artifact")
			checkRefusal(t, c, uri+"?form=1", `unknown parameter "form"`)
			checkRefusal(t, stranger, uri, "Interpreter "+id+" not found")
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
			uri := artifactURI(id, "a.md")
			subscribeTo(t, c, notifications, era == "modern", uri)
			_, _ = run(t, c, `{"code":"artifact a.md other"}`) // of the same size
			awaitUpdate(t, notifications, uri)
		})
	}
}

// TestArtifactsInAnswers: images of artifacts come after those of figures, within
// the same bounds, and each artifact is linked.
func TestArtifactsInAnswers(t *testing.T) {
	c, _ := newHouse(t, time.Hour).connect(t)
	answer, id := run(t, c, `{"code":"artifact a.md text\nfigure f.png pixels"}`)
	link, ok := answer.Content[len(answer.Content)-1].(mcp.ResourceLink)
	if !ok || link.URI != artifactURI(id, "a.md") || link.Name != "a.md" || link.MIMEType != "text/markdown" || link.Size == nil || *link.Size != 4 {
		t.Errorf("%+v", answer.Content)
	}
	text := answer.Content[0].(mcp.TextContent).Text
	want := "[artifact] a.md (txt, 4 B): " + artifactURI(id, "a.md") + "\n  text"
	if !strings.Contains(text, want) {
		t.Errorf("%q has no %q", text, want)
	}
}

func TestImagesOfArtifacts(t *testing.T) {
	large, small := plot(t, 800, 600), plot(t, 100, 80)
	r := &sessions.Result{InterpreterID: "7f3a", Execution: 1, Figures: inFull(figuresOf(small))}
	r.Artifacts = []sessions.Artifact{
		{Name: "plain.txt", Kind: "txt", Size: 5},
		{Name: "small.png", Kind: "image", Size: int64(len(small)), MIMEType: "image/png", Image: small},
		{Name: "broken.png", Kind: "image", Size: 3, MIMEType: "image/png", Image: []byte("GIF")},
		{Name: "large.png", Kind: "chart", Size: int64(len(large)), MIMEType: "image/png", Image: large},
	}
	for side, want := range map[int][]string{1568: {"same", "same", "missing", "same"}, 400: {"same", "same", "missing", "png"}} {
		answer := box(Options{ImageMaxSide: side}).answer(t.Context(), mcp.CallToolRequest{}, r, asked{})
		var titles []string
		for _, content := range answer.Content {
			if image, ok := content.(mcp.ImageContent); ok {
				titles = append(titles, image.Meta.AdditionalFields["title"].(string))
			}
		}
		if !cmp.Equal(titles, []string{"Figure <1>", "small.png", "large.png"}) {
			t.Errorf("%v", titles)
		}
		shown := exhibits(r)
		for i, p := range box(Options{}).pictures(side, shown, 1<<20, 1) {
			if got := kindOf(p, shown[i].Preview); got != want[i] {
				t.Errorf("%s is %s, not %s", shown[i].Title, got, want[i])
			}
		}
		text := answer.Content[0].(mcp.TextContent).Text
		if !strings.Contains(text, "broken.png (image, 3 B): understudy://interpreters/7f3a/artifacts/broken.png; not shown: its preview is neither PNG nor JPEG") {
			t.Error(text)
		}
	}
}

// TestManyArtifacts: those that an answer has no room for are counted.
func TestManyArtifacts(t *testing.T) {
	r := example(func(r *sessions.Result) {
		for range 300 {
			r.Artifacts = append(r.Artifacts, sessions.Artifact{Name: "a.txt", Kind: "txt", URI: "understudy://a", Preview: strings.Repeat("line\n", 100)})
		}
	})
	text := view{Result: r, budget: 4000}.text()
	if !strings.Contains(text, " more are in the record: understudy://interpreters/7f3a9c/executions/3") || len(text) > 1200 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	r.Artifacts = r.Artifacts[:2]
	if text = (view{Result: r, budget: 4000}).text(); strings.Count(text, "  line\n") < 100 || strings.Count(text+"\n", "\n  …\n") != 2 {
		t.Error(text)
	}
	record, size := box(Options{}).record(Fit{Text: 1000, Bytes: 100_000}, r, nil)
	if record == nil || size > 100_000 || len(record.Artifacts) != 2 {
		t.Errorf("%d bytes: %+v", size, record)
	}
}

// TestFewImagesOfArtifacts: of very many, the answer says that they are not shown.
func TestFewImagesOfArtifacts(t *testing.T) {
	image := plot(t, 10, 10)
	r := example(func(r *sessions.Result) {
		r.Figures = inFull(figuresOf(image))
		for range mostPictures + 2 {
			r.Artifacts = append(r.Artifacts, sessions.Artifact{Name: "a.png", Kind: "image", URI: "understudy://a", Image: image})
		}
	})
	if n := len(exhibits(r)); n != 1+mostPictures+2 {
		t.Errorf("%d images", n)
	}
	answer := box(Options{}).answer(t.Context(), mcp.CallToolRequest{}, r, asked{})
	text := answer.Content[0].(mcp.TextContent).Text
	if n := strings.Count(text, "; not shown: "+tooMany); n != 3 {
		t.Errorf("%d are not shown: %s", n, text)
	}
}
