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
var pageSource string

var pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"title": (*Document).title, "facts": (*Document).facts, "remarks": (*Document).remarks,
	"took": took, "outputs": outputs, "after": after, "readable": readable,
	"code": func(c Cell) string { return shownCode(strings.TrimRight(commented(c), "\n")) },
	"data": func(o output) template.URL { return template.URL(dataURL(o.MIME, o.Data)) },
}).Parse(pageSource))

// Page makes an HTML page that needs nothing but itself, and runs no scripts.
func (d *Document) Page() ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, d); err != nil {
		return nil, fmt.Errorf("writing the page: %w", err)
	}
	return b.Bytes(), nil
}

// dataURL holds an image of one of the kinds that are shown.
func dataURL(mime string, data []byte) string {
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)
}
