package app

import (
	"encoding/json"
	"fmt"
	"io"

	"understudy/tools"
)

// Schema prints the JSON schemas of the tools' arguments and of the record.
func Schema(out io.Writer) error {
	all, err := tools.Schemas()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("printing the schemas: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}
