package resources

import (
	"context"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/tools/resources/uri"
)

// TestPreviewResource: it is listed and read where there is data, and not found elsewhere.
func TestPreviewResource(t *testing.T) {
	without, _ := newHouse(t, time.Hour).connect(t)
	checkRefusal(t, without, uri.Preview, "--data")
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			h := newHouse(t, time.Hour)
			waited := 0
			h.resources.Preview = func(context.Context) (string, error) { return "one", nil }
			h.resources.PreviewReady = func(context.Context) { waited++ }
			c, _ := h.connect(t, options...)
			listed, err := c.ListResources(t.Context(), mcp.ListResourcesRequest{})
			expect(t, err == nil && len(listed.Resources) == 1 && listed.Resources[0].URI == uri.Preview && listed.Resources[0].MIMEType == "text/markdown",
				"%v: %+v", err, listed)
			same(t, uri.AboutPreview+"one", readText(t, c, uri.Preview))
			// Who only watches for changes must not hold up the other resources.
			_, err = h.resources.previewNow(t.Context())
			expect(t, err == nil && waited == 1, "%v, waited %d times", err, waited)
		})
	}
}
