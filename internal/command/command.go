// Package command is the command line: what each command does, one file a command. What a
// server is made of is in internal/app.
package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/charmbracelet/x/term"

	"understudy/internal/app"
	"understudy/internal/config"
)

// The exit statuses.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // as shells say of a program that Ctrl-C ended
)

// Run does what the command line asks for, tells the user of an error, and returns the exit
// status. args are the program's, with its name.
func Run(args []string) int {
	c, err := config.Parse(config.Source{Args: args[1:]})
	if err == nil {
		err = run(c, args)
	}
	var usage *config.UsageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "understudy: interrupted")
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "understudy: %v\nRun \"understudy --help\" for what can be said.\n", err)
		return exitUsage
	default:
		fmt.Fprintf(os.Stderr, "understudy: %v\n", err)
		return exitFailed
	}
}

func run(c *config.Config, args []string) error {
	in, out, notes := os.Stdin, os.Stdout, os.Stderr
	log := app.NewLogger(c, notes)
	if c.Command == "attach" { // where Ctrl-C is for the code that runs
		return Attach(context.Background(), c, in, out, notes)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once

	commands := map[string]func() error{
		"gateway":       func() error { return app.Gateway(ctx, c, log) },
		"setup":         func() error { return Setup(ctx, c, out, notes) },
		"doctor":        func() error { return Doctor(ctx, c, out) },
		"demo":          func() error { return Demo(ctx, c, out) },
		"install":       func() error { return Install(c, out, notes) },
		"plugins list":  func() error { return ListPlugins(ctx, c, out, notes) },
		"plugins check": func() error { return CheckPlugins(ctx, c, out) },
		"plugins test":  func() error { return TestPlugins(ctx, c, out) },
		"token":         func() error { return Token(c, out, notes) },
		"watch":         func() error { return Watch(ctx, c, in, out) },
		"report":        func() error { return Report(ctx, c, out) },
		"export":        func() error { return Export(ctx, c, out) },
		"policy check":  func() error { return CheckPolicy(ctx, c, out) },
		"completion":    func() error { return Completion(c, out) },
		"schema":        func() error { return Schema(out) },
		"version":       func() error { return PrintVersion(c, out) },
	}
	if command := commands[c.Command]; command != nil {
		return command()
	}
	if c.Command == "connect" && !c.Connect.IsServer() {
		return Connect(ctx, c, args, in, out, notes)
	}
	// Who has left has closed our outputs. A line of log must not end the server
	// before it has ended its sessions.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return app.Serve(ctx, c, log)
}

// quiet is a logger for trials whose outcome a command says itself.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// isTerminal reports whether a person sits at a stream.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(file.Fd())
}
