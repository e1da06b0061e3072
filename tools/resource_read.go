package tools

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

const (
	// maxContents is how many bytes of a message the contents of a resource may
	// take: a line of 10 MiB ends the connection with some clients.
	maxContents = 10<<20 - 64<<10
	// maxFile is how many bytes a file may have whose base64 fits.
	maxFile = maxContents / 4 * 3
)

// read returns what a resource holds, for a client that may see it.
func (l *shelf) read(ctx context.Context, uri string) ([]mcp.ResourceContents, error) {
	a, err := parseAddress(uri)
	if err != nil {
		return nil, err
	}
	client := l.Client(ctx)
	switch a.kind {
	case anInterpreter:
		return l.readInterpreter(client, uri, a)
	case anExecution:
		return l.readExecution(client, uri, a)
	case anOutput:
		page, err := l.library.Output(ctx, client, a.interpreter, a.execution, a.stream, a.lines)
		if err != nil {
			return nil, err
		}
		return textContents(uri, "text/plain", pageText(page, uri, a))
	case aFigure:
		file, figure, err := l.library.Figure(ctx, client, a.interpreter, a.name, maxFile)
		if err != nil {
			return nil, err
		}
		return blobContents(uri, figure.MIMEType, file.Data), nil
	case anArtifact:
		file, artifact, err := l.library.Artifact(ctx, client, a.interpreter, a.name, a.lines, maxFile)
		if err != nil {
			return nil, err
		}
		return fileContents(uri, artifact.MIMEType, file, a)
	case aDirectory:
		return l.readDirectory(ctx, client, uri, a)
	case aPreview:
		return l.readPreview(ctx)
	default:
		return l.readFile(ctx, client, uri, a)
	}
}

// interpreterView is what the resource of an interpreter holds.
type interpreterView struct {
	sessions.Listing
	Runs  []executionView `json:"runs"` // newest first
	Files string          `json:"files_uri"`
}

// executionView names an execution and what can be read of it.
type executionView struct {
	Execution int             `json:"execution"`
	Status    sessions.Status `json:"status"`
	Started   time.Time       `json:"started"`
	URI       string          `json:"uri"`
	Stdout    int64           `json:"stdout_bytes,omitempty"`
	Stderr    int64           `json:"stderr_bytes,omitempty"`
	Figures   []string        `json:"figure_uris,omitempty"`
	Artifacts []string        `json:"artifact_uris,omitempty"`
}

// someFigures is how many figures of one execution are named in a list.
const someFigures = 20

func (l *shelf) readInterpreter(client sessions.Client, uri string, a address) ([]mcp.ResourceContents, error) {
	listing, err := l.library.Interpreter(client, a.interpreter)
	if err != nil {
		return nil, err
	}
	briefs, err := l.library.Executions(client, a.interpreter)
	if err != nil {
		return nil, err
	}
	view := interpreterView{Listing: listing, Runs: []executionView{}, Files: directoryURI(a.interpreter, "")}
	for i := len(briefs) - 1; i >= 0; i-- {
		view.Runs = append(view.Runs, viewOf(a.interpreter, briefs[i]))
	}
	return jsonContents(uri, view)
}

func viewOf(id string, b sessions.Brief) executionView {
	v := executionView{
		Execution: b.Execution, Status: b.Status, Started: b.Started, URI: executionURI(id, b.Execution),
		Stdout: b.Printed[sessions.Stdout], Stderr: b.Printed[sessions.Stderr],
	}
	for _, figure := range b.Figures[:min(someFigures, len(b.Figures))] {
		v.Figures = append(v.Figures, figureURI(id, figureFile(figure)))
	}
	for _, a := range b.Artifacts[:min(someArtifacts, len(b.Artifacts))] {
		v.Artifacts = append(v.Artifacts, artifactURI(id, a.Name))
	}
	return v
}

// recordView is what the resource of an execution holds.
type recordView struct {
	*sessions.Record
	StdoutURI string `json:"stdout_uri,omitempty"`
	StderrURI string `json:"stderr_uri,omitempty"`
}

func (l *shelf) readExecution(client sessions.Client, uri string, a address) ([]mcp.ResourceContents, error) {
	record, err := l.library.Execution(client, a.interpreter, a.execution)
	if err != nil {
		return nil, err
	}
	view := recordView{Record: record}
	if record.Stdout != "" {
		view.StdoutURI = outputURI(a.interpreter, a.execution, sessions.Stdout)
	}
	if record.Stderr != "" {
		view.StderrURI = outputURI(a.interpreter, a.execution, sessions.Stderr)
	}
	record.Figures = locateFigures(a.interpreter, record.Figures)
	record.Artifacts = locateArtifacts(a.interpreter, record.Artifacts)
	record.TermOut = nil // the order of the two streams is not kept
	noNulls(&record.Result)
	if travelling(view)+envelope > maxContents/2 { // it travels as a JSON string, escaped once more
		record.Code = clip(record.Code, maxContents/16)
		shed(&record.Result, maxContents/4)
	}
	return jsonContents(uri, view)
}

// entryView is an entry of a directory and where it can be read.
type entryView struct {
	sessions.FileInfo
	MIMEType string `json:"mime_type,omitempty"`
	URI      string `json:"uri,omitempty"`
}

func (l *shelf) readDirectory(ctx context.Context, client sessions.Client, uri string, a address) ([]mcp.ResourceContents, error) {
	listed, err := l.library.Files(ctx, client, a.interpreter, a.name)
	if err != nil {
		return nil, err
	}
	entries := make([]entryView, len(listed.Entries))
	for i, entry := range listed.Entries {
		entries[i] = entryView{FileInfo: entry}
		switch entry.Kind {
		case sessions.KindFile, sessions.KindLink:
			entries[i].MIMEType, entries[i].URI = mime.TypeByExtension(path.Ext(entry.Path)), fileURI(a.interpreter, entry.Path)
		case sessions.KindDirectory:
			entries[i].URI = directoryURI(a.interpreter, entry.Path)
		}
	}
	view := map[string]any{"path": listed.Path, "entries": entries}
	if listed.Left > 0 {
		view["left_out"] = listed.Left
	}
	return jsonContents(uri, view)
}

func (l *shelf) readFile(ctx context.Context, client sessions.Client, uri string, a address) ([]mcp.ResourceContents, error) {
	file, err := l.library.File(ctx, client, a.interpreter, a.name, a.lines, maxFile)
	if err != nil {
		return nil, err
	}
	return fileContents(uri, mimeType(file), file, a)
}

// fileContents is a text, a part of one, or all else as it is.
func fileContents(uri, kind string, file *sessions.File, a address) ([]mcp.ResourceContents, error) {
	switch {
	case file.Page != nil:
		return textContents(uri, kind, pageText(file.Page, uri, a))
	case file.Text:
		return textContents(uri, kind, strings.ToValidUTF8(string(file.Data), "\uFFFD"))
	default:
		return blobContents(uri, kind, file.Data), nil
	}
}

// mimeType names a file's type by its name, else by its first bytes.
func mimeType(file *sessions.File) string {
	byName := mime.TypeByExtension(path.Ext(file.Path))
	media, _, _ := strings.Cut(byName, "/")
	switch {
	case file.Text && (byName == "" || media == "video" || media == "audio"): // a .ts file may be TypeScript
		return "text/plain"
	case byName != "":
		return byName
	}
	return http.DetectContentType(file.Data[:min(512, len(file.Data))])
}

// textContents refuses a text that is too long once it is written as JSON.
func textContents(uri, mimeType, text string) ([]mcp.ResourceContents, error) {
	if size := travelling(text); size > maxContents {
		return nil, sessions.Errorf(sessions.CodeLimit, "this takes %d bytes of a message, more than one holds; read a part with from and lines, as in ?from=1&lines=500", size)
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: mimeType, Text: text}}, nil
}

func blobContents(uri, mimeType string, data []byte) []mcp.ResourceContents {
	return []mcp.ResourceContents{mcp.BlobResourceContents{URI: uri, MIMEType: mimeType, Blob: base64.StdEncoding.EncodeToString(data)}}
}

func jsonContents(uri string, v any) ([]mcp.ResourceContents, error) {
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", uri, err)
	}
	return textContents(uri, "application/json", string(raw))
}

// pageText is a page of lines and, unless it is all there is, one line below it
// that says what it is and how to read on.
func pageText(p *sessions.Page, uri string, a address) string {
	if p.Whole() && a.lines.IsZero() && !p.Running {
		return p.Text
	}
	return sections(p.Text, "["+strings.Join(pageFacts(p, uri, a), "; ")+"]")
}

func pageFacts(p *sessions.Page, uri string, a address) []string {
	size := humanize.Comma(p.Size) + " bytes in all"
	var facts []string
	switch {
	case a.lines.Match != "":
		facts = append(facts, fmt.Sprintf("%s of lines %d to %d match; %s", humanize.Comma(int64(p.Found)), p.First, p.Last, size))
	case p.Last < p.First:
		facts = append(facts, fmt.Sprintf("there is no line %d; %s", p.First, size))
	case p.Last == p.First:
		facts = append(facts, fmt.Sprintf("line %d; %s", p.First, size))
	default:
		facts = append(facts, fmt.Sprintf("lines %d to %d; %s", p.First, p.Last, size))
	}
	if p.Cut {
		facts = append(facts, fmt.Sprintf("line %d is longer than one answer holds and this is its beginning; let code read the rest%s", p.Last, in(p.Path)))
	}
	if p.Next > 0 {
		next := sessions.Range{From: p.Next, Lines: a.lines.Lines, Match: a.lines.Match}
		facts = append(facts, "read on: "+withLines(uri, next))
	}
	if p.Lost > 0 {
		facts = append(facts, humanize.Comma(p.Lost)+" more bytes were not kept (--spool-limit)")
	}
	if p.Running {
		facts = append(facts, "it still runs and may print more")
	}
	return facts
}

func in(path string) string {
	if path == "" {
		return ""
	}
	return " from " + path
}

// locateFigures returns the figures with their URIs.
func locateFigures(id string, figures []sessions.Figure) []sessions.Figure {
	if id == "" || len(figures) == 0 {
		return figures
	}
	located := append([]sessions.Figure(nil), figures...)
	for i := range located {
		if located[i].Path != "" {
			located[i].URI = figureURI(id, figureFile(located[i]))
		}
	}
	return located
}
