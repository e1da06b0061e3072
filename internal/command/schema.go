package command

import (
	"encoding/json"
	"fmt"
	"io"

	"understudy/internal/plugins"
	"understudy/tools"
)

// Schema prints the JSON schemas of the tools' arguments, of the record and of a
// plugin's NAME.yaml.
func Schema(out io.Writer) error {
	all, err := tools.Schemas()
	if err != nil {
		return err
	}
	if all["plugin"], err = plugins.Schema(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("printing the schemas: %w", err)
	}
	_, err = fmt.Fprintf(out, "%s\n", text)
	return err
}
