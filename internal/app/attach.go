package app

import (
	"context"
	"io"
	"os"

	"understudy/internal/attach"
	"understudy/internal/config"
)

// Attach is the command attach.
func Attach(ctx context.Context, c *config.Config, in *os.File, out, notes io.Writer) error {
	directory, _ := WorkingDirectory(c)
	return attach.Run(ctx, attach.Options{
		DataDir: c.DataDir, Directory: directory, ID: c.Attach.ID, Version: Version(),
		In: in, Out: out, Notes: notes,
	})
}
