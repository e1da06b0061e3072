package tools

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// The values of Options.StructuredContent.
const (
	StructuredAuto   = "auto"   // for all clients but those in readsRecordInstead
	StructuredAlways = "always" // for all
	StructuredNever  = "never"  // for none
)

// readsRecordInstead lists the clients that show their model structuredContent
// in place of what was written for it, by the beginning of the name that they
// give themselves, in lower case.
var readsRecordInstead = []struct{ client, reason string }{
	{"claude-code", "the record replaces text and images, so the model would not see a single plot"},
	{"visual studio code", "the record replaces the text; images stay but lose their place"},
	{"codex", "prefers the record to the text, and the record has no images"},
}

// wantsRecord reports whether the caller is to get structuredContent.
func (b *toolbox) wantsRecord(ctx context.Context, request mcp.CallToolRequest) bool {
	switch b.StructuredContent {
	case StructuredAlways:
		return true
	case StructuredNever:
		return false
	}
	name := strings.ToLower(clientName(ctx, request))
	for _, entry := range readsRecordInstead {
		if strings.HasPrefix(name, entry.client) {
			return false
		}
	}
	return true
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
