package plugins

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// State says whether a plugin can be called.
type State string

// The states of a plugin.
const (
	Ready    State = "ready"
	Disabled State = "disabled" // by enabled: false in its file
	Broken   State = "broken"
)

// Plugin is one function of the operator's.
type Plugin struct {
	Name  string
	State State
	// Problems say why it is broken, each with file and line where it has one.
	Problems []string
	// Callable reports whether its name may stand for it in Python, which that
	// of a broken one may not.
	Callable bool

	Description string
	// Signature is as Python writes it after the name; Doc is what help() shows.
	Signature, Doc string
	// ToolDescription is what a model reads of it as a tool.
	ToolDescription string
	// Schema is that of its arguments as a tool's.
	Schema      json.RawMessage
	Annotations Annotations

	File          string // of the source, absolute
	Source        string
	Configuration map[string]any // values that are set, as JSON has them
	Preload       []string       // modules to import ahead
	// Helpers stands for the modules that it may import from the directory.
	Helpers string
	// Version is another one whenever anything of this is.
	Version string

	off bool // by enabled: false, whatever else is wrong
}

// Headline is the first sentence of the description, for lists.
func (p Plugin) Headline() string { return firstSentence(p.Description) }

// mostDescription is more than the schema allows in one line.
const mostDescription = 16_000 // bytes

// Reason is why a broken plugin is, in one line.
func (p Plugin) Reason() string { return strings.Join(p.Problems, "; ") }

// describe makes a plugin of its NAME.yaml. The name is that of the file.
func describe(name, file string, text []byte) Plugin {
	p := Plugin{Name: name, State: Ready}
	t, faults := parseTree(text)
	if len(faults) == 0 {
		faults = t.validate()
	}
	var d document
	if len(faults) == 0 {
		faults = t.decode(&d)
	}
	if len(faults) == 0 {
		faults = t.check(&d)
		if d.Name != name {
			faults = append(faults, faultf(t.lines["name"], "name is %q, and the file is %s.yaml; they must be the same", clip(d.Name), name))
		}
	}
	if err := checkName(name); err != nil {
		p.breaks(filepath.Base(file) + ": " + err.Error())
	} else {
		p.Callable = true
	}
	slices.SortStableFunc(faults, func(a, b fault) int { return cmp.Or(a.line-b.line, strings.Compare(a.text, b.text)) })
	for _, f := range faults {
		p.breaks(place(file, f.line) + f.text)
	}
	enabled, said := t.value["enabled"].(bool)
	p.off = said && !enabled
	if text, ok := t.value["description"].(string); ok { // of a broken one too
		p.Description = clipTo(oneLine(text), mostDescription)
	}
	if p.State == Broken {
		return p
	}
	p.fill(d)
	return p
}

// decode reads the tree, which fits the schema, into d.
func (t tree) decode(d *document) []fault {
	encoded, err := json.Marshal(t.value)
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(encoded))
		decoder.UseNumber() // 3.0 is to stay a float
		err = decoder.Decode(d)
	}
	if err != nil {
		return []fault{{0, "it can't be read: " + err.Error()}}
	}
	return nil
}

func (p *Plugin) fill(d document) {
	if p.off {
		p.State = Disabled
	}
	p.Signature, p.Doc = signature(d), doc(d)
	p.ToolDescription, p.Schema = toolDescription(d), inputSchema(d)
	p.Preload = d.Preload
	p.Annotations = d.Annotations
	p.Configuration = make(map[string]any, len(d.Configuration))
	for name, s := range d.Configuration {
		p.Configuration[name] = s.Value
	}
}

func (p *Plugin) breaks(problem string) {
	p.State = Broken
	p.Problems = append(p.Problems, problem)
}

// suffer makes a plugin broken that can't be loaded, and by that another version.
func (p *Plugin) suffer(problem string) {
	if problem != "" && p.State == Ready {
		p.breaks(problem)
		p.Version += " broken"
	}
}

// place names file and line before a message.
func place(file string, line int) string {
	name := filepath.Base(file)
	if line == 0 {
		return name + ": "
	}
	return name + ":" + strconv.Itoa(line) + ": "
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
