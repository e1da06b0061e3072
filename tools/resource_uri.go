package tools

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"understudy/sessions"
)

// resourceRoot is how the URI of every resource begins.
const resourceRoot = "understudy://interpreters/"

// The templates of the resources, as clients see them.
const (
	interpreterTemplate = resourceRoot + "{id}"
	executionTemplate   = resourceRoot + "{id}/executions/{n}"
	stdoutTemplate      = executionTemplate + "/stdout{?from,lines,match}"
	stderrTemplate      = executionTemplate + "/stderr{?from,lines,match}"
	figureTemplate      = resourceRoot + "{id}/figures/{name}"
	artifactTemplate    = resourceRoot + "{id}/artifacts/{name}{?from,lines,match}"
	directoryTemplate   = resourceRoot + "{id}/files{?path}"
	fileTemplate        = resourceRoot + "{id}/files/{+path}{?from,lines,match}"
)

// kind is what a resource is.
type kind int

const (
	anInterpreter kind = iota
	anExecution
	anOutput
	aFigure
	anArtifact
	aDirectory
	aFile
	aPreview
)

// address is a URI of a resource, taken apart.
type address struct {
	kind        kind
	interpreter string
	execution   int             // of an execution and its output
	stream      sessions.Stream // of an output
	name        string          // of a figure or an artifact, or the path of a directory or a file
	lines       sessions.Range  // of an output, an artifact or a file
}

func interpreterURI(id string) string { return resourceRoot + url.PathEscape(id) }

func executionURI(id string, number int) string {
	return interpreterURI(id) + "/executions/" + strconv.Itoa(number)
}

func outputURI(id string, number int, stream sessions.Stream) string {
	return executionURI(id, number) + "/" + stream.String()
}

func figureURI(id, name string) string {
	return interpreterURI(id) + "/figures/" + url.PathEscape(name)
}

func artifactURI(id, name string) string {
	return interpreterURI(id) + "/artifacts/" + url.PathEscape(name)
}

func directoryURI(id, dir string) string {
	uri := interpreterURI(id) + "/files"
	if dir != "" && dir != "." {
		uri += "?path=" + url.QueryEscape(dir)
	}
	return uri
}

func fileURI(id, name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return interpreterURI(id) + "/files/" + strings.Join(parts, "/")
}

// figureFile is the name by which a figure's URI knows it.
func figureFile(f sessions.Figure) string { return fileOf(f.Path) }

// withLines adds a range to the URI of an output or a file.
func withLines(uri string, r sessions.Range) string {
	uri, _, _ = strings.Cut(uri, "?")
	var query []string
	if r.From != 0 {
		query = append(query, "from="+strconv.Itoa(r.From))
	}
	if r.Lines != 0 {
		query = append(query, "lines="+strconv.Itoa(r.Lines))
	}
	if r.Match != "" {
		query = append(query, "match="+url.QueryEscape(r.Match))
	}
	if len(query) == 0 {
		return uri
	}
	return uri + "?" + strings.Join(query, "&")
}

// parseAddress takes a URI apart. What is no address of ours is not found; a
// wrong parameter is named.
func parseAddress(uri string) (address, error) {
	unknown := sessions.Errorf(sessions.CodeNotFound, "no such resource; resources/templates/list shows what there is")
	if uri == previewURI {
		return address{kind: aPreview}, nil
	}
	rest, ours := strings.CutPrefix(uri, resourceRoot)
	if !ours || len(uri) > 16<<10 {
		return address{}, unknown
	}
	rest, query, _ := strings.Cut(rest, "?")
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		plain, err := url.PathUnescape(part)
		if err != nil {
			return address{}, sessions.Errorf(sessions.CodeInvalid, "the URI is not well escaped: %w", err)
		}
		parts[i] = plain
	}
	a, ok := takeParts(parts)
	if !ok || a.interpreter == "" {
		return address{}, unknown
	}
	return a, a.takeQuery(query)
}

// takeParts reads the path below resourceRoot.
func takeParts(parts []string) (a address, ok bool) {
	a.interpreter = parts[0]
	what := parts[1:]
	switch {
	case len(what) == 0:
		return a, true
	case what[0] == "executions" && (len(what) == 2 || len(what) == 3):
		number, err := strconv.Atoi(what[1])
		a.kind, a.execution = anExecution, number
		if len(what) == 3 {
			a.kind = anOutput
			return a, err == nil && a.takeStream(what[2])
		}
		return a, err == nil
	case what[0] == "figures" && len(what) == 2:
		a.kind, a.name = aFigure, what[1]
		return a, true
	case what[0] == "artifacts" && len(what) == 2:
		a.kind, a.name = anArtifact, what[1]
		return a, true
	case what[0] == "files" && len(what) == 1:
		a.kind = aDirectory
		return a, true
	case what[0] == "files":
		a.kind, a.name = aFile, strings.Join(what[1:], "/")
		return a, true
	}
	return a, false
}

func (a *address) takeStream(name string) bool {
	for _, stream := range []sessions.Stream{sessions.Stdout, sessions.Stderr} {
		if name == stream.String() {
			a.stream = stream
			return true
		}
	}
	return false
}

// takeQuery reads the parameters that a resource of this kind has.
func (a *address) takeQuery(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return sessions.Errorf(sessions.CodeInvalid, "the URI's parameters are not well escaped: %w", err)
	}
	var allowed []string
	switch a.kind {
	case anOutput, anArtifact, aFile:
		allowed = []string{"from", "lines", "match"}
	case aDirectory:
		allowed = []string{"path"}
	}
	for name := range values {
		if !slices.Contains(allowed, name) {
			known := "this resource has none"
			if len(allowed) > 0 {
				known = "known are " + strings.Join(allowed, ", ")
			}
			return sessions.Errorf(sessions.CodeInvalid, "unknown parameter %.60q in the URI; %s", name, known)
		}
	}
	if a.kind == aDirectory {
		a.name = values.Get("path")
	}
	a.lines.Match = values.Get("match")
	return errors.Join(number(values, "from", &a.lines.From), number(values, "lines", &a.lines.Lines))
}

// number reads a whole number; absent and empty leave it alone.
func number(values url.Values, name string, into *int) error {
	text := values.Get(name)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || name == "lines" && n < 1 {
		return sessions.Errorf(sessions.CodeInvalid, "parameter %q must be %s, not %.60q", name, map[string]string{
			"from": "the number of a line (1 is the first, -1 the last)", "lines": "a number of lines, at least 1",
		}[name], text)
	}
	*into = n
	return nil
}
