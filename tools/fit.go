package tools

import (
	"context"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/sessions"
)

// The values of Options.StructuredContent.
const (
	StructuredAuto   = "auto"   // as the table of clients says
	StructuredAlways = "always" // for all
	StructuredNever  = "never"  // for none
)

// MessageLimit is how many bytes a message may have on any transport. Clients
// that are built on the TypeScript SDK close the connection at a longer line.
const MessageLimit = 10 << 20

const (
	// mostBytes bounds an answer whatever the operator chose: half a megabyte
	// is left for what the transport puts around it.
	mostBytes = MessageLimit - 512<<10
	// mostError bounds the text of an error, in characters: Claude Code cuts
	// those over some 11,000, and what to do stands at the end.
	mostError = 10_000
	// resultSizeMeta is how a tool tells Claude Code up to how many characters,
	// 500,000 at most, its answers may have before they go to a file.
	resultSizeMeta     = "anthropic/maxResultSizeChars"
	mostResultSizeMeta = 500_000
)

// Fit is what answers to one kind of client are like.
type Fit struct {
	// Client is the kind's name in the documentation; Names are the beginnings
	// of what such clients call themselves, in lower case. Exact says that they
	// are whole names.
	Client string
	Names  []string
	Exact  bool
	// Text is how many characters of text an answer has.
	Text int
	// Side is the longest side of a picture, in pixels.
	Side int
	// Bytes is how large a whole answer is as it travels.
	Bytes int
	// Patience is how long the impatient ones among such clients are kept waiting for
	// an answer; 0: all wait as long as the operator chose. See toolbox.patience.
	Patience time.Duration
	// Record says whether answers carry structuredContent.
	Record bool
	// Why gives the reasons, for the documentation.
	Why string
}

// The default suits a client of which nothing is known. The vision models of
// the large vendors scale pictures down to about 1,568 pixels or less, so
// larger ones cost bytes for nothing. 900,000 bytes stay below the smallest
// limit of a whole answer, a megabyte, that any client is known to have.
const (
	usualText  = 8_000
	usualSide  = 1568
	usualBytes = 900_000
)

// fits is the table of clients. The last one is for all others. What stands
// here was read in vendors' documentation and published source, or, where it
// says "reported", in several of their users' reports (November 2026).
var fits = []Fit{
	{
		// Reported: "result exceeds maximum length of 1048576", base64 of
		// pictures included; hosted connectors about 150,000 characters of text.
		// The API that both use takes pictures up to 2,000 pixels when there
		// are many in a conversation.
		Client: "Claude Desktop, claude.ai", Names: []string{"claude-ai", "claude desktop", "anthropic/claudeai"},
		Text: usualText, Side: usualSide, Bytes: usualBytes,
		Why: "refuses an answer over 1 MiB, pictures included; gives up a call after a minute or a few",
	},
	{
		// Documented: results over 50,000 characters, or 25,000 tokens, go to a
		// file unless the tool says otherwise in _meta. Reported, and open:
		// structuredContent replaces text and images for the model.
		Client: "Claude Code", Names: []string{"claude-code"},
		Text: usualText, Side: usualSide, Bytes: usualBytes,
		Why: "moves over 50,000 characters or 25,000 tokens to a file, which `_meta` of the tools puts off; shows its model the record in place of text and images",
	},
	{
		// Published source: a text longer than 8,192 characters is written to a
		// file, and the model gets its path alone; pictures are scaled to what
		// the model takes. Open issue: the record replaces the text.
		Client: "VS Code", Names: []string{"visual studio code", "vscode"},
		Text: usualText, Side: usualSide, Bytes: usualBytes,
		Why: "replaces a text over 8 KiB by the path of a file; shows its model the record in place of the text",
	},
	{
		// Vendor's own account: long answers go to files that the agent reads.
		// Reported: only content reaches the model, never the record.
		Client: "Cursor", Names: []string{"cursor"},
		Text: usualText, Side: usualSide, Bytes: usualBytes,
		Why: "shows its model the content alone; moves long answers to files",
	},
	{
		// Published source and issues: the middle of a tool's output is cut at
		// 10,000 tokens, which are taken for four bytes each, after JSON has
		// escaped it; events over 1 MiB lose their pictures; with a record the
		// model sees nothing else.
		Client: "Codex", Names: []string{"codex"},
		Text: usualText, Side: usualSide, Bytes: usualBytes,
		Why: "cuts the middle of what exceeds 10,000 tokens; shows its model the record in place of text and images",
	},
	{
		// Documented: both content and structuredContent reach the model.
		Client: "ChatGPT", Names: []string{"openai-mcp"},
		Text: usualText, Side: usualSide, Bytes: usualBytes,
		Why: "shows its model content and record, so everything twice",
	},
	{
		// Measured on the wire (openai-agents 0.24, autogen-ext 0.7.5): they call
		// themselves as the Python SDK that they are built on, list the tools before
		// they call one, ask for no progress, and give up after 5.0 seconds, some
		// without a word. LangChain and LlamaIndex call themselves so too, but call
		// first, in a session, or a process, of its own for each call: what they were
		// answered as running would end with it.
		Client: "OpenAI Agents SDK, AutoGen, others on the Python SDK", Names: []string{"mcp"}, Exact: true,
		Text: usualText, Side: usualSide, Bytes: usualBytes, Record: true, Patience: 4 * time.Second,
		Why: "a program, which may read the record; some give up after 5 seconds, so one that listed the tools before its first call and asks for no progress is answered `running` after 4, unless the call says `wait`",
	},
	{
		Client: "all others",
		Text:   usualText, Side: usualSide, Bytes: usualBytes, Record: true,
		Why: "below the smallest limits that are known",
	},
}

// Fits returns the table of clients for the documentation. The last entry is
// for all clients that no other one names.
func Fits() []Fit { return append([]Fit(nil), fits...) }

// SmallestText is the smallest text budget that a client may get, in
// characters; chosen is the operator's, 0 for the table's. What exceeds it may
// be cut from an answer and must be kept elsewhere.
func SmallestText(chosen int) int {
	if chosen > 0 {
		return chosen
	}
	smallest := usualText
	for _, f := range fits {
		smallest = min(smallest, f.Text)
	}
	return smallest
}

// LargestSide is the longest side in pixels that a client's pictures may have;
// chosen is the operator's, 0 for the table's.
func LargestSide(chosen int) int {
	if chosen > 0 {
		return chosen
	}
	largest := 0
	for _, f := range fits {
		largest = max(largest, f.Side)
	}
	return largest
}

// fitOf is the entry for a client of the given name.
func fitOf(name string) Fit {
	name = strings.ToLower(name)
	for _, f := range fits {
		for _, known := range f.Names {
			if name == known || !f.Exact && strings.HasPrefix(name, known) {
				return f
			}
		}
	}
	return fits[len(fits)-1]
}

// chosen puts what the operator chose in place of the table's.
func (b *toolbox) chosen(f Fit) Fit {
	f.Text = orDefault(b.TextBudget, f.Text)
	f.Side = orDefault(b.ImageMaxSide, f.Side)
	f.Bytes = min(orDefault(b.ImageBudget, f.Bytes), mostBytes)
	switch b.StructuredContent {
	case StructuredAlways:
		f.Record = true
	case StructuredNever:
		f.Record = false
	}
	return f
}

// fit says what the answer to a request is to be like.
func (b *toolbox) fit(ctx context.Context, request mcp.CallToolRequest) Fit {
	f := b.chosen(fitOf(clientName(ctx, request)))
	f.Record = f.Record || b.Client(ctx) == sessions.Operator // whose prompt is a program
	return f
}

// clientName is what the calling program calls itself: newer clients say so in
// every request, older ones once when they connect.
func clientName(ctx context.Context, request mcp.CallToolRequest) string {
	if info := request.Params.Meta.ClientInfo(); info != nil {
		return info.Name
	}
	if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		return session.GetClientInfo().Name
	}
	return ""
}

// toolMeta is what the list says of a tool beyond the protocol. It is the same
// for all clients: those that don't know it ignore it, and no model sees it.
func (b *toolbox) toolMeta() *mcp.Meta {
	// Room for a note or a marker more than the budget counts.
	size := b.chosen(fitOf("claude-code")).Text + 10_000
	return mcp.NewMetaFromMap(map[string]any{resultSizeMeta: min(size, mostResultSizeMeta)})
}
