package policy

import (
	"fmt"
	"log/slog"
	"time"

	"understudy/internal/reload"
)

// Source has the book that holds now. A file is read again when it has changed; one
// with a mistake in it, or none at all any more, leaves the rules as they were.
type Source struct {
	book *Book               // of rules that don't change
	file *reload.File[*Book] // nil for these
}

// Open reads the rules at place: DefaultsName, or a file, or "" for those of more
// alone.
func Open(place string, more Additions, log *slog.Logger) (*Source, error) {
	return open(place, more, log, time.Now)
}

func open(place string, more Additions, log *slog.Logger, now func() time.Time) (_ *Source, err error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Source{}
	switch place {
	case "":
		s.book, err = Parse("command line", nil, more)
	case DefaultsName:
		s.book, err = Parse(DefaultsName, []byte("extends: "+DefaultsName+"\n"), more)
	default:
		s.file, err = reload.Open(place, reload.Options[*Book]{
			What:    "the policy",
			Parse:   func(text []byte) (*Book, error) { return Parse(place, text, more) },
			Changed: func(b *Book) { log.Info("policy read again", "file", place, "principals", b.Principals()) },
			Logger:  log, Now: now,
		})
		if err != nil {
			err = fmt.Errorf("policy: %w", err)
		}
	}
	return s, err
}

// Book returns the rules, read again if the file has changed.
func (s *Source) Book() *Book {
	if s.file != nil {
		return s.file.Get()
	}
	return s.book
}
