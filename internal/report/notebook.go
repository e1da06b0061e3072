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

const (
	pageLimit    = 8 << 20 // bytes of an artifact's HTML in a notebook
	skippedLimit = 4000    // bytes of the output of what is not run
)

// object is one of JSON.
type object = map[string]any

// Notebook makes a notebook of Jupyter, format 4.5. Run from top to bottom it gives the
// same outputs, as far as its code does.
func (d *Document) Notebook() ([]byte, error) {
	d = d.withoutEndless()
	cells := []object{
		markdownCell("heading", "# "+inline(d.title())+"\n\n"+inline(strings.Join(d.facts(), " "))), d.setup(),
	}
	count := 0
	for i, cell := range d.Cells {
		e := cell.Execution
		said := d.markdownRemarks(i)
		if cell.Skipped {
			said += "\n\n" + fenced("python", shownCode(commented(cell))) + skippedOutput(e)
		}
		if said != "" {
			cells = append(cells, markdownCell(fmt.Sprintf("before-%d", e.ID), strings.TrimLeft(said, "\n")))
		}
		if !cell.Skipped {
			count++
			cells = append(cells, executionCell(cell, count))
		}
		if said := after(e); said != "" {
			cells = append(cells, markdownCell(fmt.Sprintf("after-%d", e.ID), inline(said)))
		}
	}
	language := object{"name": "python", "mimetype": "text/x-python", "file_extension": ".py"}
	if d.Run.Python != "" {
		language["version"] = d.Run.Python
	}
	kernel := object{"name": "python3", "display_name": "Python 3", "language": "python"}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(object{
		"nbformat": 4, "nbformat_minor": 5, "cells": cells,
		"metadata": object{"kernelspec": kernel, "language_info": language},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the notebook: %w", err)
	}
	return text.Bytes(), nil
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

func markdownCell(id, source string) object {
	return object{"cell_type": "markdown", "id": id, "metadata": object{}, "source": source}
}

func codeCell(id, source string, count any, metadata object, outputs []object) object {
	return object{
		"cell_type": "code", "id": id, "execution_count": count, "metadata": metadata,
		"source": strings.TrimRight(source, "\n"), "outputs": outputs,
	}
}

// setup is the cell that the others are run behind. It is told the settings of the run:
// which values are echoed, and whether warnings are shown; and the numbers of the
// executions that are run, by which messages name their cells.
func (d *Document) setup() object {
	var set struct{ Echo, Warnings string }
	if yaml.Unmarshal([]byte(d.Run.Config), &set) != nil || set.Echo != "last" && set.Echo != "none" {
		set.Echo = "all"
	}
	warn := "True"
	if set.Warnings == "ignore" {
		warn = "False"
	}
	var numbers []string
	for _, c := range d.Cells {
		if !c.Skipped {
			numbers = append(numbers, strconv.Itoa(c.Execution.Place.Execution))
		}
	}
	call := fmt.Sprintf("_understudy(echo=%q, warn=%s, numbers=[%s])", set.Echo, warn, strings.Join(numbers, ", "))
	source := strings.Replace(notebookSetup, setupCall, call, 1)
	if tools := replay(d.Cells); tools != "" {
		source += "\n\n" + tools + "del understudy_mcptools\n"
	}
	if dir := d.Interpreter.Workdir; dir != "" {
		source += "\n# The code ran in this directory; files may be named relative to it.\n# %cd " + strings.Join(strings.Fields(dir), " ")
	}
	folded := object{"tags": []string{"understudy"}, "jupyter": object{"source_hidden": true}}
	return codeCell("setup", source, nil, folded, []object{})
}

func executionCell(cell Cell, count int) object {
	e := cell.Execution
	metadata := object{"understudy": object{ // which execution it was
		"interpreter_id": e.Place.InterpreterID, "execution": e.Place.Execution,
		"status": e.Status, "exec_time": e.ExecTime.Seconds(),
	}}
	if cell.Failed {
		metadata["tags"] = []string{"raises-exception"} // so that a run goes on behind it
	}
	shown := []object{}
	for _, o := range outputs(e) {
		shown = append(shown, notebookOutput(o))
	}
	return codeCell(fmt.Sprintf("execution-%d", e.ID), commented(cell), count, metadata, shown)
}

func notebookOutput(o output) object {
	data := object{"text/plain": o.Text}
	switch {
	case o.Kind == outputStream:
		return object{"output_type": "stream", "name": o.Name, "text": o.Text}
	case o.Kind == outputError:
		return object{"output_type": "error", "ename": o.Name, "evalue": o.Value, "traceback": strings.Split(o.Text, "\n")}
	case o.MIME == "image/svg+xml":
		data[o.MIME] = string(o.Data)
	case o.Kind == outputImage:
		data[o.MIME] = base64.StdEncoding.EncodeToString(o.Data)
	case o.Kind == outputPage && len(o.Data) <= pageLimit: // in a frame, where it can't reach the notebook
		data["text/html"] = `<iframe sandbox="allow-scripts" style="width:100%;height:480px;border:0" srcdoc="` +
			html.EscapeString(string(o.Data)) + `"></iframe>`
	}
	return object{"output_type": "display_data", "data": data, "metadata": object{}}
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

func (d *Document) markdownRemarks(i int) string {
	var all []string
	for _, r := range d.remarks(i) {
		all = append(all, strings.TrimRight("**"+inline(r.Text)+"**\n\n"+quoted(r.Plan), "\n"))
	}
	return strings.Join(all, "\n\n")
}
