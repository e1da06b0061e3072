package app

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"understudy/internal/workspace/preview"
)

// previewPatience is how long a preview waits for a workspace that is being prepared:
// small data is copied by then, and no client gives a request up so soon.
const previewPatience = 10 * time.Second

// newPreview returns what tools.Options.Preview wants: a text on what is in the
// directory input of a workspace. Links in it may lead to the sources, which are files
// and directories of the operator's, and nowhere else. As long as waiting returns a
// text, the workspace is being prepared, and the text says how far that is; its error
// is why it can't be. nil is for one that is ready.
func newPreview(input string, sources []string, waiting func() (string, error)) func(context.Context) (string, error) {
	cache := preview.NewCache(input, preview.Options{Roots: sources})
	return func(ctx context.Context) (string, error) {
		if waiting != nil {
			words, err := waiting()
			if err != nil {
				return "There is no preview: " + err.Error() + ".\n", nil
			}
			if words != "" {
				return "There is no preview yet: " + words + ". Read it again later, or look at input/ once a run has been answered.\n", nil
			}
		}
		text, err := cache.Text(ctx)
		if errors.Is(err, preview.ErrReplaced) || errors.Is(err, fs.ErrNotExist) { // code's doing, and no fault of the server's
			return "There is no preview: " + err.Error() + ".\n", nil
		}
		return text, err
	}
}
