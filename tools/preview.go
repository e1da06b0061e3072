package tools

import (
	"context"

	"understudy/tools/resources/uri"
)

// previewText is what prompts tell of the data: nothing where there is none. That it
// can't be described is told too, since the model can look for itself.
func (b *toolbox) previewText(ctx context.Context) string {
	if b.Preview == nil {
		return ""
	}
	if b.PreviewReady != nil {
		b.PreviewReady(ctx)
	}
	text, err := b.Preview(ctx)
	if err != nil {
		b.Logger.Warn("no preview of the data", "error", err)
		return "There is data in input/ of the working directory, which could not be previewed."
	}
	return uri.AboutPreview + text
}
