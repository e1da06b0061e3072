package report

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// pageCell is an execution as a page shows it.
type pageCell struct {
	Number    int
	Name      string // of its anchor
	Remarks   []remark
	Code      string
	Failed    bool
	Skipped   bool
	Status    string
	Took      string
	Outputs   []shownOutput
	Afterword string
}

type shownOutput struct {
	Stream, Text, Error string
	Image               template.URL
	Alt                 string
}

// Page makes an HTML page that needs nothing but itself, and runs no scripts.
func (d *Document) Page() ([]byte, error) {
	cells := make([]pageCell, len(d.Cells))
	for i := range d.Cells {
		cells[i] = d.pageCell(i)
	}
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, map[string]any{"Title": d.title(), "Facts": d.facts(), "Cells": cells})
	if err != nil {
		return nil, fmt.Errorf("writing the page: %w", err)
	}
	return b.Bytes(), nil
}

func (d *Document) pageCell(i int) pageCell {
	cell := d.Cells[i]
	e := cell.Execution
	p := pageCell{
		Number: e.Place.Execution, Name: fmt.Sprintf("execution-%d", e.ID), Remarks: d.remarks(i),
		Code: shownCode(strings.TrimRight(cell.Code, "\n")), Failed: cell.Failed, Skipped: cell.Skipped,
		Status: string(e.Status), Took: took(e), Afterword: after(e),
	}
	for _, o := range outputs(e) {
		p.Outputs = append(p.Outputs, newShownOutput(o))
	}
	return p
}

func newShownOutput(o output) shownOutput {
	switch o.Kind {
	case outputStream:
		return shownOutput{Stream: o.Name, Text: readable(o.Text)}
	case outputError:
		return shownOutput{Error: o.Name, Text: readable(o.Text)}
	case outputImage:
		data := "data:" + mediaType(o.MIME) + ";base64," + base64.StdEncoding.EncodeToString(o.Data)
		return shownOutput{Image: template.URL(data), Alt: readable(o.Text)}
	default:
		return shownOutput{Text: readable(o.Text)}
	}
}

// mediaType is a type of pictures that is safe within a URL.
func mediaType(mime string) string {
	switch mime {
	case "image/svg+xml", "image/jpeg", "image/gif", "image/webp", "image/bmp":
		return mime
	default:
		return "image/png"
	}
}
