package answer

import (
	"cmp"
	"context"
	"slices"
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
	// MostBytes bounds an answer whatever the operator chose: half a megabyte
	// is left for what the transport puts around it.
	MostBytes = MessageLimit - 512<<10
	// MostError bounds the text of an error, in characters: Claude Code cuts
	// those over some 11,000, and what to do stands at the end.
	MostError = 10_000
	// resultSizeMeta is how a tool tells Claude Code up to how many characters,
	// 500,000 at most, its answers may have before they go to a file.
	resultSizeMeta     = "anthropic/maxResultSizeChars"
	mostResultSizeMeta = 500_000
)

// Profile is what answers to one kind of client are like.
type Profile struct {
	// Client is the kind's name in the documentation; Names are the beginnings
	// of what such clients call themselves, in lower case. Exact says that they
	// are whole names.
	Client string
	Names  []string
	Exact  bool
	// Text is how many characters of text an answer has, Side the longest side of a picture
	// in pixels, Bytes how large a whole answer is as it travels: what the operator chose, or
	// else the same for all. The table has none.
	Text, Side, Bytes int
	// Patience is how long the impatient ones among such clients are kept waiting for
	// an answer; 0: all wait as long as the operator chose. See patience in package tools.
	Patience time.Duration
	// Record says whether answers carry structuredContent.
	Record bool
	// Why gives the reasons, for the documentation.
	Why string
}

// What suits a client of which nothing is known, and every client that is known. The vision
// models of the large vendors scale pictures down to about 1,568 pixels or less, so larger
// ones cost bytes for nothing. 900,000 bytes stay below the smallest limit of a whole answer,
// a megabyte, that any client is known to have.
const (
	usualText  = 8_000
	usualSide  = 1568
	usualBytes = 900_000
)

// profiles is the table of clients. The last one is for all others. What stands
// here was read in vendors' documentation and published source, or, where it
// says "reported", in several of their users' reports (November 2026).
var profiles = []Profile{
	{
		// Reported: "result exceeds maximum length of 1048576", base64 of
		// pictures included; hosted connectors about 150,000 characters of text.
		// The API that both use takes pictures up to 2,000 pixels when there
		// are many in a conversation.
		Client: "Claude Desktop, claude.ai", Names: []string{"claude-ai", "claude desktop", "anthropic/claudeai"},
		Why: "refuses an answer over 1 MiB, pictures included; gives up a call after a minute or a few",
	},
	{
		// Documented: results over 50,000 characters, or 25,000 tokens, go to a
		// file unless the tool says otherwise in _meta. Reported, and open:
		// structuredContent replaces text and images for the model.
		Client: "Claude Code", Names: []string{"claude-code"},
		Why: "moves over 50,000 characters or 25,000 tokens to a file, which `_meta` of the tools puts off; shows its model the record in place of text and images",
	},
	{
		// Published source: a text longer than 8,192 characters is written to a
		// file, and the model gets its path alone; pictures are scaled to what
		// the model takes. Open issue: the record replaces the text.
		Client: "VS Code", Names: []string{"visual studio code", "vscode"},
		Why: "replaces a text over 8 KiB by the path of a file; shows its model the record in place of the text",
	},
	{
		// Vendor's own account: long answers go to files that the agent reads.
		// Reported: only content reaches the model, never the record.
		Client: "Cursor", Names: []string{"cursor"},
		Why: "shows its model the content alone; moves long answers to files",
	},
	{
		// Published source and issues: the middle of a tool's output is cut at
		// 10,000 tokens, which are taken for four bytes each, after JSON has
		// escaped it; events over 1 MiB lose their pictures; with a record the
		// model sees nothing else.
		Client: "Codex", Names: []string{"codex"},
		Why: "cuts the middle of what exceeds 10,000 tokens; shows its model the record in place of text and images",
	},
	{
		// Documented: both content and structuredContent reach the model.
		Client: "ChatGPT", Names: []string{"openai-mcp"},
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
		Record: true, Patience: 4 * time.Second,
		Why: "a program, which may read the record; some give up after 5 seconds, so one that listed the tools before its first call and asks for no progress is answered `running` after 4, unless the call says `wait`",
	},
	{
		Client: "all others",
		Record: true,
		Why:    "below the smallest limits that are known",
	},
}

// Profiles returns the table of clients for the documentation. The last entry is
// for all clients that no other one names.
func Profiles() []Profile { return slices.Clone(profiles) }

// SmallestText is the smallest text budget that a client may get, in
// characters; chosen is the operator's, 0 for the usual. What exceeds it may
// be cut from an answer and must be kept elsewhere.
func SmallestText(chosen int) int { return cmp.Or(max(chosen, 0), usualText) }

// LargestSide is the longest side in pixels that a client's pictures may have;
// chosen is the operator's, 0 for the usual.
func LargestSide(chosen int) int { return cmp.Or(max(chosen, 0), usualSide) }

// profileOf is the entry for a client of the given name.
func profileOf(name string) Profile {
	name = strings.ToLower(name)
	for _, f := range profiles {
		for _, known := range f.Names {
			if name == known || !f.Exact && strings.HasPrefix(name, known) {
				return f
			}
		}
	}
	return profiles[len(profiles)-1]
}

// chosen fills in what the operator chose.
func (b *Renderer) chosen(f Profile) Profile {
	f.Text = cmp.Or(b.TextBudget, usualText)
	f.Side = cmp.Or(b.ImageMaxSide, usualSide)
	f.Bytes = min(cmp.Or(b.ImageBudget, usualBytes), MostBytes)
	switch b.StructuredContent {
	case StructuredAlways:
		f.Record = true
	case StructuredNever:
		f.Record = false
	}
	return f
}

// Profile says what the answer to a request is to be like.
func (b *Renderer) Profile(ctx context.Context, request mcp.CallToolRequest) Profile {
	f := b.chosen(profileOf(clientName(ctx, request)))
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

// ToolMeta is what the list says of a tool beyond the protocol. It is the same
// for all clients: those that don't know it ignore it, and no model sees it.
func (b *Renderer) ToolMeta() *mcp.Meta {
	// Room for a note or a marker more than the budget counts.
	size := b.chosen(profileOf("claude-code")).Text + 10_000
	return mcp.NewMetaFromMap(map[string]any{resultSizeMeta: min(size, mostResultSizeMeta)})
}
