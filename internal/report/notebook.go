package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"understudy/internal/journal"
	"understudy/sessions"
)

// notebookSetup is the first cell of a notebook, which makes Jupyter print as
// understudy does.
//
//go:embed notebook_setup.py
var notebookSetup string

// setupCall is where notebookSetup is told which values are echoed.
const setupCall = `_understudy(echo="all", warn=True, numbers=[])`

// pageLimit is how many bytes of HTML of an artifact are put into a notebook.
const pageLimit = 8 << 20

// notebook is a notebook of Jupyter, format 4.5.
type notebook struct {
	Cells         []any            `json:"cells"`
	Metadata      notebookMetadata `json:"metadata"`
	NBFormat      int              `json:"nbformat"`
	NBFormatMinor int              `json:"nbformat_minor"`
}

type notebookMetadata struct {
	Kernel struct {
		DisplayName string `json:"display_name"`
		Language    string `json:"language"`
		Name        string `json:"name"`
	} `json:"kernelspec"`
	Language struct {
		Name          string `json:"name"`
		Version       string `json:"version,omitempty"`
		MIMEType      string `json:"mimetype"`
		FileExtension string `json:"file_extension"`
	} `json:"language_info"`
}

type markdownCell struct {
	Type     string   `json:"cell_type"`
	ID       string   `json:"id"`
	Metadata struct{} `json:"metadata"`
	Source   string   `json:"source"`
}

type codeCell struct {
	Type           string       `json:"cell_type"`
	ID             string       `json:"id"`
	Metadata       cellMetadata `json:"metadata"`
	ExecutionCount *int         `json:"execution_count"`
	Source         string       `json:"source"`
	Outputs        []any        `json:"outputs"`
}

type cellMetadata struct {
	Tags    []string `json:"tags,omitempty"`
	Jupyter *hiding  `json:"jupyter,omitempty"`
	// Understudy says which execution it was.
	Understudy *cellOrigin `json:"understudy,omitempty"`
}

type hiding struct {
	SourceHidden bool `json:"source_hidden"`
}

type cellOrigin struct {
	sessions.Place
	Status   sessions.Status `json:"status"`
	ExecTime float64         `json:"exec_time"` // seconds
}

type streamOutput struct {
	Type string `json:"output_type"`
	Name string `json:"name"`
	Text string `json:"text"`
}

type displayOutput struct {
	Type     string            `json:"output_type"`
	Data     map[string]string `json:"data"`
	Metadata struct{}          `json:"metadata"`
}

type errorOutput struct {
	Type      string   `json:"output_type"`
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// Notebook makes a notebook of Jupyter. Run from top to bottom it gives the same
// outputs, as far as its code does.
func (d *Document) Notebook() ([]byte, error) {
	d = d.withoutEndless()
	n := notebook{NBFormat: 4, NBFormatMinor: 5}
	n.Metadata.Kernel.DisplayName, n.Metadata.Kernel.Language, n.Metadata.Kernel.Name = "Python 3", "python", "python3"
	n.Metadata.Language.Name, n.Metadata.Language.Version = "python", d.Run.Python
	n.Metadata.Language.MIMEType, n.Metadata.Language.FileExtension = "text/x-python", ".py"
	n.Cells = []any{d.heading(), d.setup()}
	count := 0
	for i := range d.Cells {
		n.Cells = append(n.Cells, d.cellsOf(i, &count)...)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(n); err != nil {
		return nil, fmt.Errorf("writing the notebook: %w", err)
	}
	return text.Bytes(), nil
}

func newMarkdown(id, source string) markdownCell {
	return markdownCell{Type: "markdown", ID: id, Source: source}
}

func (d *Document) heading() markdownCell {
	return newMarkdown("heading", "# "+inline(d.title())+"\n\n"+inline(strings.Join(d.facts(), " ")))
}

// setup is the cell that the others are run behind.
func (d *Document) setup() codeCell {
	echo, warn := d.settings()
	call := fmt.Sprintf("_understudy(echo=%q, warn=%s, numbers=[%s])", echo, warn, d.numbers())
	source := strings.TrimRight(strings.Replace(notebookSetup, setupCall, call, 1), "\n")
	if dir := d.Interpreter.Workdir; dir != "" {
		source += "\n\n# The code ran in this directory; files may be named relative to it.\n# %cd " + strings.Join(strings.Fields(dir), " ")
	}
	return codeCell{
		Type: "code", ID: "setup", Source: source, Outputs: []any{},
		Metadata: cellMetadata{Tags: []string{"understudy"}, Jupyter: &hiding{SourceHidden: true}},
	}
}

// withoutEndless skips what ended only because it was made to: run again it might hold
// up all that is below. Interrupting it from within breaks some kernels.
func (d *Document) withoutEndless() *Document {
	clone := *d
	clone.Cells = slices.Clone(d.Cells)
	for i := range clone.Cells {
		c := &clone.Cells[i]
		if s := c.Execution.Status; !c.Skipped && (s == sessions.StatusTimeout || s == sessions.StatusInterrupted) {
			c.Skipped, c.Note = true, c.Note+" Run again it may not end; what is below may miss what it had set."
		}
	}
	return &clone
}

// settings are those of the run that the setup needs: which values are echoed, and
// whether warnings are shown, as Python.
func (d *Document) settings() (echo, warn string) {
	var set struct{ Echo, Warnings string }
	echo, warn = "all", "True"
	if yaml.Unmarshal([]byte(d.Run.Config), &set) != nil {
		return echo, warn
	}
	if set.Echo == "last" || set.Echo == "none" {
		echo = set.Echo
	}
	if set.Warnings == "ignore" {
		warn = "False"
	}
	return echo, warn
}

// numbers are the numbers of the executions that are run, by which messages name
// their cells.
func (d *Document) numbers() string {
	var all []string
	for _, c := range d.Cells {
		if !c.Skipped {
			all = append(all, strconv.Itoa(c.Execution.Place.Execution))
		}
	}
	return strings.Join(all, ", ")
}

// cellsOf returns the cells of an execution. count counts those that are run.
func (d *Document) cellsOf(i int, count *int) []any {
	cell := d.Cells[i]
	e := cell.Execution
	var all []any
	if said := markdownRemarks(d.remarks(i)); said != "" || cell.Skipped {
		if cell.Skipped {
			said += "\n\n" + fenced("python", shownCode(cell.Code)) + skippedOutput(e)
		}
		all = append(all, newMarkdown(fmt.Sprintf("before-%d", e.ID), strings.TrimLeft(said, "\n")))
	}
	if !cell.Skipped {
		*count++
		all = append(all, newCodeCell(cell, *count))
	}
	if said := after(e); said != "" {
		all = append(all, newMarkdown(fmt.Sprintf("after-%d", e.ID), inline(said)))
	}
	return all
}

func newCodeCell(cell Cell, count int) codeCell {
	e := cell.Execution
	c := codeCell{
		Type: "code", ID: fmt.Sprintf("execution-%d", e.ID), ExecutionCount: &count,
		Source: strings.TrimRight(cell.Code, "\n"), Outputs: []any{},
		Metadata: cellMetadata{Understudy: &cellOrigin{Place: e.Place, Status: e.Status, ExecTime: e.ExecTime.Seconds()}},
	}
	if cell.Failed {
		c.Metadata.Tags = []string{"raises-exception"} // so that a run goes on behind it
	}
	for _, o := range outputs(e) {
		c.Outputs = append(c.Outputs, notebookOutput(o))
	}
	return c
}

func notebookOutput(o output) any {
	display := displayOutput{Type: "display_data", Data: map[string]string{"text/plain": o.Text}}
	switch o.Kind {
	case outputStream:
		return streamOutput{"stream", o.Name, o.Text}
	case outputError:
		return errorOutput{"error", o.Name, o.Value, strings.Split(o.Text, "\n")}
	case outputImage:
		if o.MIME == "image/svg+xml" {
			display.Data[o.MIME] = string(o.Data)
		} else {
			display.Data[o.MIME] = base64.StdEncoding.EncodeToString(o.Data)
		}
	case outputPage:
		if len(o.Data) <= pageLimit {
			display.Data["text/html"] = framed(o.Data)
		}
	}
	return display
}

// framed puts a page into a frame, where it can't reach the notebook.
func framed(page []byte) string {
	return `<iframe sandbox="allow-scripts" style="width:100%;height:480px;border:0" srcdoc="` + html.EscapeString(string(page)) + `"></iframe>`
}

// skippedOutput is the output of what is not run, as text.
func skippedOutput(e journal.Execution) string {
	var text strings.Builder
	for _, o := range outputs(e) {
		if o.Kind == outputStream || o.Kind == outputError {
			text.WriteString(readable(o.Text))
		}
	}
	if text.Len() == 0 {
		return ""
	}
	return "\n\nIts output:\n\n" + fenced("text", shorten(text.String(), skippedLimit))
}

// skippedLimit is how many bytes are shown of the output of what is not run.
const skippedLimit = 4000

func markdownRemarks(remarks []remark) string {
	var all []string
	for _, r := range remarks {
		said := "**" + inline(r.Text) + "**"
		if strings.TrimSpace(r.Plan) != "" {
			said += "\n\n" + quoted(r.Plan)
		}
		all = append(all, strings.TrimRight(said, "\n"))
	}
	return strings.Join(all, "\n\n")
}
