package transport

import (
	"context"
	"log/slog"
	"regexp"
)

// discreet is the log for mcp-go, which writes session ids: who reads one there
// could use the session. It leaves out what goes well, and shortens ids.
type discreet struct{ slog.Handler }

func (d discreet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && d.Handler.Enabled(ctx, level)
}

func (d discreet) Handle(ctx context.Context, r slog.Record) error {
	shortened := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		shortened.AddAttrs(withoutID(a))
		return true
	})
	return d.Handler.Handle(ctx, shortened)
}

func (d discreet) WithAttrs(attrs []slog.Attr) slog.Handler {
	shortened := make([]slog.Attr, 0, len(attrs))
	for _, a := range attrs {
		shortened = append(shortened, withoutID(a))
	}
	return discreet{d.Handler.WithAttrs(shortened)}
}

func (d discreet) WithGroup(name string) slog.Handler { return discreet{d.Handler.WithGroup(name)} }

// sessionID is what rand.Text makes.
var sessionID = regexp.MustCompile(`[A-Z2-7]{26}`)

// withoutID shortens the ids in an attribute. They are in its errors, too.
func withoutID(a slog.Attr) slog.Attr {
	text := a.Value.String()
	if short := sessionID.ReplaceAllStringFunc(text, shortened); short != text {
		return slog.String(a.Key, short)
	}
	return a
}
