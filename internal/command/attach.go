package command

import (
	"context"
	"io"
	"os"

	"understudy/internal/app"
	"understudy/internal/attach"
	"understudy/internal/config"
)

// Attach is the command attach.
func Attach(ctx context.Context, c *config.Config, in *os.File, out, notes io.Writer) error {
	directory, _ := app.WorkingDirectory(c)
	return attach.Run(ctx, attach.Options{
		DataDir: c.DataDir, Directory: directory, ID: c.Attach.ID, Version: app.Version(),
		In: in, Out: out, Notes: notes,
	})
}
