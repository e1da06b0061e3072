package report

import "strings"

// Script makes a Python file that runs without Jupyter, with "# %%" between its cells,
// which many editors know. It has no outputs.
func (d *Document) Script() []byte {
	head := append([]string{d.title() + ".", ""}, d.facts()...)
	return []byte(PlainPython(strings.Join(head, "\n"), d.Cells))
}
