package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"understudy/internal/app"
	"understudy/internal/config"
	"understudy/internal/connect"
)

// Connect is the command connect: a pipe between a client and the background
// server for this directory and these settings. args are the program's own.
func Connect(ctx context.Context, c *config.Config, args []string, in io.Reader, out, notes io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding our own program: %w", err)
	}
	if log := c.Connect.Launch; log != "" { // the last two arguments
		return connect.Launch(slices.Concat([]string{self}, args[1:len(args)-2], []string{"--background", log}))
	}
	if err := connect.CheckShare(c.Connect.Share); err != nil {
		return &config.UsageError{Err: err}
	}
	place, err := app.SharedPlace(c)
	if err != nil {
		return err
	}
	starter := connect.Starter{Place: place, Launch: slices.Concat([]string{self}, args[1:], []string{"--launch"})}
	return connect.Pipe(ctx, starter, connect.Peer{Share: c.Connect.Share, Build: app.Build()}, in, out, notes)
}
