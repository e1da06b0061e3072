package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"understudy/internal/config"
	"understudy/internal/journal"
	"understudy/internal/report"
)

// Export is the command export: it writes what an interpreter ran as a notebook, a
// page or a script.
func Export(ctx context.Context, c *config.Config, out io.Writer) (err error) {
	reader, err := journal.OpenReader(c.JournalPath())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	document, err := report.Find(ctx, reader, c.Export.What)
	if err != nil {
		return err
	}
	text, err := exported(document, c.Export.Format)
	if err != nil {
		return err
	}
	if c.Export.File == "" {
		_, err = out.Write(text)
		return err
	}
	if err := report.Save(c.Export.File, text); err != nil {
		return fmt.Errorf("writing %s (choose another file with --out): %w", c.Export.File, err)
	}
	return nil
}

// exported is a document in a format of --format.
func exported(d *report.Document, format string) ([]byte, error) {
	switch format {
	case "html":
		return d.Page()
	case "py":
		return d.Script(), nil
	default:
		return d.Notebook()
	}
}
