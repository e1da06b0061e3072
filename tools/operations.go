package tools

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/schemas"
	"understudy/sessions"
	"understudy/tools/answer"
	"understudy/tools/resources/uri"
)

// Manager is what the tools need of *sessions.Manager.
type Manager interface {
	Run(ctx context.Context, client sessions.Client, r sessions.RunRequest) (*sessions.Result, error)
	Await(ctx context.Context, client sessions.Client, r sessions.WaitRequest) (*sessions.Result, error)
	Create(ctx context.Context, client sessions.Client, r sessions.CreateRequest) (sessions.Listing, error)
	List(ctx context.Context, client sessions.Client) ([]sessions.Listing, error)
	Show(ctx context.Context, client sessions.Client, id string) (sessions.Listing, error)
	Delete(ctx context.Context, client sessions.Client, id string) error
	Restart(ctx context.Context, client sessions.Client, id string) (sessions.Listing, error)
	Interrupt(ctx context.Context, client sessions.Client, id string) (*sessions.Interruption, error)
	Branch(ctx context.Context, client sessions.Client, id string) (sessions.Listing, error)
	Undo(ctx context.Context, client sessions.Client, id string) (*sessions.Undone, error)
	Variables(ctx context.Context, client sessions.Client, id string) (names sessions.Namespace, notes []string, err error)
	SetVariables(ctx context.Context, client sessions.Client, id string, variables map[string]*string) (*sessions.Setting, error)
	Upload(ctx context.Context, client sessions.Client, id, path string, data []byte) (*sessions.Upload, error)
	Farewell(client sessions.Client) string
}

var _ Manager = (*sessions.Manager)(nil)

func (b *toolbox) create(ctx context.Context, c operationCall) (reply, error) {
	made, err := b.manager.Create(ctx, c.client, sessions.CreateRequest{InterpreterID: c.InterpreterID, Python: c.Python})
	return aboutOne(made, fmt.Sprintf("Created interpreter %s (%s). Pass it as interpreter_id to run_python_code.", made.ID, place(made))), err
}

func (b *toolbox) restart(ctx context.Context, c operationCall) (reply, error) {
	fresh, err := b.manager.Restart(ctx, c.client, c.InterpreterID)
	return aboutOne(fresh, fmt.Sprintf("Restarted interpreter %s (%s). It has no variables now.", fresh.ID, place(fresh))), err
}

func (b *toolbox) branch(ctx context.Context, c operationCall) (reply, error) {
	made, err := b.manager.Branch(ctx, c.client, c.InterpreterID)
	return aboutOne(made, fmt.Sprintf("Branched interpreter %s from %s, with its variables (%s). Pass it as interpreter_id to run_python_code; the two go on independently.", made.ID, made.Parent, place(made))), err
}

// aboutOne is a reply about the interpreter that has come of an operation.
func aboutOne(l sessions.Listing, text string) reply {
	return reply{answer.Sections(text, answer.NoteLines(l.Notes), initError(l)), map[string]any{"interpreter_id": l.ID, "interpreter": l}}
}

func (b *toolbox) delete(ctx context.Context, c operationCall) (reply, error) {
	id := c.InterpreterID
	if id == "" {
		return reply{}, sessions.Errorf(sessions.CodeInvalid, "interpreter_id is required for delete operation")
	}
	text := fmt.Sprintf("Deleted interpreter %s; its variables%s are gone.", id, word(b.FilesEnd, " and files", ""))
	return reply{text, map[string]any{"interpreter_id": id}}, b.manager.Delete(ctx, c.client, id)
}

func (b *toolbox) interrupt(ctx context.Context, c operationCall) (reply, error) {
	i, err := b.manager.Interrupt(ctx, c.client, c.InterpreterID)
	if err != nil {
		return reply{}, err
	}
	record := map[string]any{"interpreter_id": i.InterpreterID, "interruption": i, "elapsed": i.Elapsed.Seconds()}
	return reply{answer.Sections(sentence(i.Message), answer.NoteLines(i.Notes)), record}, nil
}

func (b *toolbox) undo(ctx context.Context, c operationCall) (reply, error) {
	u, err := b.manager.Undo(ctx, c.client, c.InterpreterID)
	if err != nil {
		return reply{}, err
	}
	record := map[string]any{"interpreter_id": u.InterpreterID, "undone": u}
	return reply{answer.Sections(sentence(u.Message), answer.NoteLines(u.Notes)), record}, nil
}

func (b *toolbox) variables(ctx context.Context, c operationCall) (reply, error) {
	match, err := newMatch(c.Match)
	if err != nil {
		return reply{}, err
	}
	names, remarks, err := b.manager.Variables(ctx, c.client, c.InterpreterID)
	return described(names, match, remarks, b.answers.Profile(ctx, c.request).Text), err
}

// wait goes on waiting for an execution, which operation answer gives what it asks for; its
// answer looks like run_python_code's.
func (b *toolbox) wait(ctx context.Context, c operationCall) (*mcp.CallToolResult, error) {
	lines, err := typed(c.ManageInterpretersArgs)
	if err != nil {
		return nil, err
	}
	r := sessions.WaitRequest{InterpreterID: c.InterpreterID, Lines: lines, Wait: seconds(c.Wait)}
	call := answer.Call{Named: c.InterpreterID != "", Answers: len(lines) > 0}
	return b.follow(ctx, c.request, "wait", r, func(r sessions.WaitRequest) (*sessions.Result, error) {
		return b.manager.Await(ctx, c.client, r)
	}, func(*sessions.Result) answer.Call { return call })
}

// typed are the lines that operation answer passes on, none for another.
func typed(args ManageInterpretersArgs) ([]string, error) {
	switch {
	case args.Operation != "answer":
		return nil, nil
	case args.Text == nil:
		return nil, &schemas.ArgumentError{Argument: "text", Message: `operation answer needs "text", the line that the code asks for: "" for an empty one, "\u0004" (Ctrl-D) for the end of input`}
	}
	lines := strings.Split(strings.TrimSuffix(*args.Text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines, nil
}

// list lists the client's interpreters, and says when it has no default one. A caller who
// can have none of its own sees the one that it names.
func (b *toolbox) list(ctx context.Context, c operationCall) (reply, error) {
	var all []sessions.Listing
	var farewell string
	var err error
	switch {
	case c.client != sessions.Anonymous:
		all, err = b.manager.List(ctx, c.client)
		farewell = b.manager.Farewell(c.client)
	case c.InterpreterID == "":
		farewell = "this connection has none of its own; pass the interpreter_id that an earlier answer named to see that one"
	default:
		all = make([]sessions.Listing, 1)
		all[0], err = b.manager.Show(ctx, c.client, c.InterpreterID)
	}
	var problems []string
	if b.ServerProblems != nil {
		problems = b.ServerProblems()
	}
	return listed(all, farewell, b.answers.Profile(ctx, c.request).Text, problems...), err
}

// setVariables sets session variables.
func (b *toolbox) setVariables(ctx context.Context, c operationCall) (reply, error) {
	set, err := b.manager.SetVariables(ctx, c.client, c.InterpreterID, c.Variables)
	if err != nil {
		return reply{}, err
	}
	text := settled(set)
	if c.client == sessions.Anonymous && c.InterpreterID == "" { // it may have been made for this
		text += fmt.Sprintf(" Pass %s as interpreter_id to run_python_code.", set.InterpreterID)
	}
	return reply{text, map[string]any{"interpreter_id": set.InterpreterID, "set_variables": set}}, nil
}

func settled(s *sessions.Setting) string {
	var did []string
	if len(s.Set) > 0 {
		did = append(did, "set "+quoted(s.Set))
	}
	if len(s.Removed) > 0 {
		did = append(did, "removed "+quoted(s.Removed))
	}
	if len(did) == 0 {
		did = []string{"there was nothing to remove"}
	}
	text := fmt.Sprintf("Session variables of interpreter %s: %s.", s.InterpreterID, strings.Join(did, ", "))
	if len(s.Names) == 0 {
		return text + " None is set now."
	}
	return text + fmt.Sprintf(" Plugins find %s from the next run on.", quoted(s.Names))
}

// quoted writes names with commas between, a bounded text.
func quoted(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = fmt.Sprintf("%q", name)
	}
	return answer.Clip(strings.Join(all, ", "), 2000)
}

// upload puts a file into the working directory: MCP has no other way in.
func (b *toolbox) upload(ctx context.Context, c operationCall) (reply, error) {
	data, err := b.uploaded(c.ManageInterpretersArgs)
	if err != nil {
		return reply{}, err
	}
	u, err := b.manager.Upload(ctx, c.client, c.InterpreterID, c.Path, data)
	if err != nil {
		return reply{}, err
	}
	verb := "Uploaded"
	if u.Replaced {
		verb = "Replaced"
	}
	text := fmt.Sprintf("%s %s (%s) in the working directory of interpreter %s: %s", verb, u.Path, humanize.IBytes(uint64(u.Size)), u.InterpreterID, u.File)
	return reply{text, map[string]any{"interpreter_id": u.InterpreterID, "upload": u, "uri": uri.OfFile(u.InterpreterID, u.Path)}}, nil
}

// uploaded returns the file's bytes, however they came.
func (b *toolbox) uploaded(args ManageInterpretersArgs) ([]byte, error) {
	switch {
	case args.Path == "":
		return nil, sessions.Errorf(sessions.CodeInvalid, "path is required for upload operation: where the file is to be, relative to the working directory, as in data/a.csv")
	case args.Content == nil && args.ContentBase64 == nil, isGiven(args.Content) && isGiven(args.ContentBase64):
		return nil, sessions.Errorf(sessions.CodeInvalid, "give the file as content (text) or as content_base64 (other bytes), one of the two")
	case !isGiven(args.ContentBase64) && args.Content != nil:
		return []byte(*args.Content), b.checkUpload(len(*args.Content))
	}
	if err := b.checkUpload(base64.StdEncoding.DecodedLen(len(*args.ContentBase64)) - 2); err != nil { // 2 bytes of padding at most
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(*args.ContentBase64)
	if err != nil {
		return nil, sessions.Errorf(sessions.CodeInvalid, "argument \"content_base64\" is not base64 (the standard alphabet, padded): %w", err)
	}
	return data, b.checkUpload(len(data))
}

// isGiven reports whether an argument says something: "" stands beside another one
// where a model must fill in both.
func isGiven(text *string) bool { return text != nil && *text != "" }

func (b *toolbox) checkUpload(size int) error {
	if size <= b.MaxUpload {
		return nil
	}
	return sessions.Errorf(sessions.CodeLimit, "the file has %d bytes, and at most %d are taken at once (--max-upload); upload it in parts and join them with code", size, b.MaxUpload)
}
