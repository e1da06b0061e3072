package answer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

func TestImagesOfArtifacts(t *testing.T) {
	t.Parallel()
	large, small := plot(t, 800, 600), plot(t, 100, 80)
	r := &sessions.Result{InterpreterID: "7f3a", Execution: 1, Figures: inFull(figuresOf(small))}
	r.Artifacts = []sessions.Artifact{
		{Name: "plain.txt", Kind: "txt", Size: 5},
		{Name: "small.png", Kind: "image", Size: int64(len(small)), MIMEType: "image/png", Image: small},
		{Name: "broken.png", Kind: "image", Size: 3, MIMEType: "image/png", Image: []byte("GIF")},
		{Name: "large.png", Kind: "chart", Size: int64(len(large)), MIMEType: "image/png", Image: large},
	}
	for side, want := range map[int][]string{1568: {"same", "same", "missing", "same"}, 400: {"same", "same", "missing", "png"}} {
		answer := box(Options{ImageMaxSide: side}).Answer(t.Context(), mcp.CallToolRequest{}, r, Call{})
		var titles []string
		for _, content := range answer.Content {
			if image, ok := content.(mcp.ImageContent); ok {
				titles = append(titles, image.Meta.AdditionalFields["title"].(string))
			}
		}
		expect(t, cmp.Equal(titles, []string{"Figure <1>", "small.png", "large.png"}), "%v", titles)
		shown := exhibits(r)
		for i, p := range box(Options{}).pictures(side, shown, 1<<20, 1) {
			got := kindOf(p, shown[i].Preview)
			expect(t, got == want[i], "%s is %s, not %s", shown[i].Title, got, want[i])
		}
		text := answer.Content[0].(mcp.TextContent).Text
		expect(t, strings.Contains(text, "broken.png (image, 3 B): understudy://interpreters/7f3a/artifacts/broken.png; not shown: its preview is neither PNG nor JPEG"),
			"%+v", text)
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
	expect(t, strings.Contains(text, " more are in the record: understudy://interpreters/7f3a9c/executions/3") && len(text) <= 1200, "%d bytes: %s", len(text), text)
	r.Artifacts = r.Artifacts[:2]
	text = (view{Result: r, budget: 4000}).text()
	expect(t, strings.Count(text, "  line\n") >= 100 && strings.Count(text+"\n", "\n  …\n") == 2, "%+v", text)
	record, encoded := box(Options{}).record(Profile{Text: 1000, Bytes: 100_000}, r, nil)
	expect(t, record != nil && len(encoded) <= 100_000 && len(record.Artifacts) == 2, "%d bytes: %+v", len(encoded), record)
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
	same(t, 1+mostPictures+2, len(exhibits(r)))
	answer := box(Options{}).Answer(t.Context(), mcp.CallToolRequest{}, r, Call{})
	text := answer.Content[0].(mcp.TextContent).Text
	n := strings.Count(text, "; not shown: "+tooMany)
	expect(t, n == 3, "%d are not shown: %s", n, text)
}
