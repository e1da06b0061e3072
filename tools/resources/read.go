package resources

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

	"understudy/deploy"
	"understudy/sessions"
	"understudy/tools/answer"
	"understudy/tools/resources/uri"
	"understudy/tools/skill"
)

const (
	// maxContents is how many bytes of a message the contents of a resource may
	// take: a line of 10 MiB ends the connection with some clients.
	maxContents = 10<<20 - 64<<10
	// maxFile is how many bytes a file may have whose base64 fits.
	maxFile = maxContents / 4 * 3
)

// read returns what a resource holds, for a client that may see it.
func (l *Server) read(ctx context.Context, address string) ([]mcp.ResourceContents, error) {
	if address == skill.URI {
		return textContents(address, skill.MIMEType, string(deploy.Skill))
	}
	a, err := uri.Parse(address)
	if err != nil {
		return nil, err
	}
	client := l.Client(ctx)
	switch a.Kind {
	case uri.Interpreter:
		return l.readInterpreter(client, address, a)
	case uri.Execution:
		return l.readExecution(client, address, a)
	case uri.Directory:
		return l.readDirectory(ctx, client, address, a)
	case uri.Output:
		page, err := l.library.Output(ctx, client, a.Interpreter, a.Execution, a.Stream, a.Lines)
		return fileContents(address, "text/plain", &sessions.File{Page: page}, a, err)
	case uri.Figure:
		file, figure, err := l.library.Figure(ctx, client, a.Interpreter, a.Name, maxFile)
		return fileContents(address, figure.MIMEType, file, a, err)
	case uri.Artifact:
		file, artifact, err := l.library.Artifact(ctx, client, a.Interpreter, a.Name, a.Lines, maxFile)
		return fileContents(address, artifact.MIMEType, file, a, err)
	case uri.PreviewKind:
		if l.PreviewReady != nil {
			l.PreviewReady(ctx)
		}
		text, err := l.previewNow(ctx)
		if err != nil {
			return nil, err
		}
		return textContents(address, "text/markdown", text)
	default:
		file, err := l.library.File(ctx, client, a.Interpreter, a.Name, a.Lines, maxFile)
		return fileContents(address, "", file, a, err)
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

// someFigures and someArtifacts are how many of one execution are named in a list.
const someFigures, someArtifacts = 20, 100

func (l *Server) readInterpreter(client sessions.Client, address string, a uri.Address) ([]mcp.ResourceContents, error) {
	listing, err := l.library.Interpreter(client, a.Interpreter)
	if err != nil {
		return nil, err
	}
	briefs, err := l.library.Executions(client, a.Interpreter)
	if err != nil {
		return nil, err
	}
	view := interpreterView{Listing: listing, Runs: []executionView{}, Files: uri.OfDirectory(a.Interpreter, "")}
	for i := len(briefs) - 1; i >= 0; i-- {
		view.Runs = append(view.Runs, viewOf(a.Interpreter, briefs[i]))
	}
	return jsonContents(address, view)
}

func viewOf(id string, b sessions.Brief) executionView {
	v := executionView{
		Execution: b.Execution, Status: b.Status, Started: b.Started, URI: uri.OfExecution(id, b.Execution),
		Stdout: b.Printed[sessions.Stdout], Stderr: b.Printed[sessions.Stderr],
	}
	for _, figure := range b.Figures[:min(someFigures, len(b.Figures))] {
		v.Figures = append(v.Figures, uri.OfFigure(id, figure))
	}
	for _, a := range b.Artifacts[:min(someArtifacts, len(b.Artifacts))] {
		v.Artifacts = append(v.Artifacts, uri.OfArtifact(id, a.Name))
	}
	return v
}

// recordView is what the resource of an execution holds.
type recordView struct {
	*sessions.Record
	StdoutURI string `json:"stdout_uri,omitempty"`
	StderrURI string `json:"stderr_uri,omitempty"`
}

func (l *Server) readExecution(client sessions.Client, address string, a uri.Address) ([]mcp.ResourceContents, error) {
	record, err := l.library.Execution(client, a.Interpreter, a.Execution)
	if err != nil {
		return nil, err
	}
	view := recordView{Record: record}
	if record.Stdout != "" {
		view.StdoutURI = uri.OfOutput(a.Interpreter, a.Execution, sessions.Stdout)
	}
	if record.Stderr != "" {
		view.StderrURI = uri.OfOutput(a.Interpreter, a.Execution, sessions.Stderr)
	}
	located := record.Result
	located.InterpreterID = a.Interpreter
	located = *answer.Located(&located)
	record.Figures, record.Artifacts = located.Figures, located.Artifacts
	record.TermOut = nil // the order of the two streams is not kept
	answer.NoNulls(&record.Result)
	encoded, err := json.MarshalIndent(view, "", " ")
	if err == nil && len(encoded)+answer.Envelope > maxContents/2 { // it travels as a JSON string, escaped once more
		record.Code = answer.Clip(record.Code, maxContents/16)
		if _, err = answer.Shed(&record.Result, maxContents/4); err == nil {
			encoded, err = json.MarshalIndent(view, "", " ")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", address, err)
	}
	return textContents(address, "application/json", string(encoded))
}

// entryView is an entry of a directory and where it can be read.
type entryView struct {
	sessions.FileInfo
	MIMEType string `json:"mime_type,omitempty"`
	URI      string `json:"uri,omitempty"`
}

func (l *Server) readDirectory(ctx context.Context, client sessions.Client, address string, a uri.Address) ([]mcp.ResourceContents, error) {
	listed, err := l.library.Files(ctx, client, a.Interpreter, a.Name)
	if err != nil {
		return nil, err
	}
	entries := make([]entryView, len(listed.Entries))
	for i, entry := range listed.Entries {
		entries[i] = entryView{FileInfo: entry}
		switch entry.Kind {
		case sessions.KindFile, sessions.KindLink:
			entries[i].MIMEType, entries[i].URI = mime.TypeByExtension(path.Ext(entry.Path)), uri.OfFile(a.Interpreter, entry.Path)
		case sessions.KindDirectory:
			entries[i].URI = uri.OfDirectory(a.Interpreter, entry.Path)
		}
	}
	view := map[string]any{"path": listed.Path, "entries": entries}
	if listed.Left > 0 {
		view["left_out"] = listed.Left
	}
	return jsonContents(address, view)
}

// previewNow describes the data as it is, for clients of a server that has some. It waits
// for nothing, as other resources are looked at after it.
func (l *Server) previewNow(ctx context.Context) (string, error) {
	if l.Preview == nil {
		return "", sessions.Errorf(sessions.CodeNotFound, "this server was started without --data; there is nothing to preview")
	}
	text, err := l.Preview(ctx)
	if err != nil {
		return "", fmt.Errorf("previewing the data: %w", err)
	}
	return uri.AboutPreview + text, nil
}

// fileContents is a text, a part of one, or all else as it is, of the type mimeType or, if that
// is "", of the one that the file has.
func fileContents(address, mimeType string, file *sessions.File, a uri.Address, err error) ([]mcp.ResourceContents, error) {
	if err != nil {
		return nil, err
	}
	if mimeType == "" {
		mimeType = typeOf(file)
	}
	switch {
	case file.Page != nil:
		return textContents(address, mimeType, pageText(file.Page, address, a))
	case file.Text && a.Kind != uri.Figure:
		return textContents(address, mimeType, strings.ToValidUTF8(string(file.Data), "\uFFFD"))
	}
	return []mcp.ResourceContents{mcp.BlobResourceContents{URI: address, MIMEType: mimeType, Blob: base64.StdEncoding.EncodeToString(file.Data)}}, nil
}

// typeOf names a file's type by its name, else by its first bytes.
func typeOf(file *sessions.File) string {
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
func textContents(address, mimeType, text string) ([]mcp.ResourceContents, error) {
	if size := answer.Size(text); size > maxContents {
		return nil, sessions.Errorf(sessions.CodeLimit, "this takes %d bytes of a message, more than one holds; read a part with from and lines, as in ?from=1&lines=500", size)
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: address, MIMEType: mimeType, Text: text}}, nil
}

func jsonContents(address string, v any) ([]mcp.ResourceContents, error) {
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", address, err)
	}
	return textContents(address, "application/json", string(raw))
}

// pageText is a page of lines and, unless it is all there is, one line below it
// that says what it is and how to read on.
func pageText(p *sessions.Page, address string, a uri.Address) string {
	if p.Whole() && a.Lines.IsZero() && !p.Running {
		return p.Text
	}
	return answer.Sections(p.Text, "["+strings.Join(pageFacts(p, address, a), "; ")+"]")
}

func pageFacts(p *sessions.Page, address string, a uri.Address) []string {
	what := fmt.Sprintf("lines %d to %d", p.First, p.Last)
	switch {
	case a.Lines.Match != "":
		what = fmt.Sprintf("%s of lines %d to %d match", humanize.Comma(int64(p.Found)), p.First, p.Last)
	case p.Last < p.First:
		what = fmt.Sprintf("there is no line %d", p.First)
	case p.Last == p.First:
		what = fmt.Sprintf("line %d", p.First)
	}
	facts := []string{what, humanize.Comma(p.Size) + " bytes in all"}
	if p.Cut {
		cut := fmt.Sprintf("line %d is longer than one answer holds and this is its beginning; let code read the rest", p.Last)
		if p.Path != "" {
			cut += " from " + p.Path
		}
		facts = append(facts, cut)
	}
	if p.Next > 0 {
		next := sessions.Range{From: p.Next, Lines: a.Lines.Lines, Match: a.Lines.Match}
		facts = append(facts, "read on: "+uri.WithLines(address, next))
	}
	if p.Lost > 0 {
		facts = append(facts, humanize.Comma(p.Lost)+" more bytes were not kept")
	}
	if p.Running {
		facts = append(facts, "it still runs and may print more")
	}
	return facts
}
