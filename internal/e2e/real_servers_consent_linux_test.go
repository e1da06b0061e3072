package e2e

import (
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// TestRealServersAskTheUser: the tools of sqlite say nothing of themselves, so that the user
// is asked; how long an agreement lasts is the user's to say.
func TestRealServersAskTheUser(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]client.ClientOption{"modern": nil, "legacy": {client.WithLegacyProtocolOnly()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := openRealServers(t, options)
			r.run("import mcptools\nfrom mcptools import sqlite", "")
			insert := "print(sqlite.create_table('create table if not exists t (n int)'))"
			const made = "Table created successfully\n"
			asked := func(times int, stdout, code string, more ...any) {
				t.Helper()
				r.run(code, stdout, more...)
				heard := r.user.heard()
				expect(t, len(heard) == times, "%s: the user was asked %q, not %d times", code, heard, times)
				for _, question := range heard {
					expect(t, strings.Contains(question, "sqlite") && strings.Contains(question, "create"), "the user was asked %q", question)
				}
			}
			tried := strings.ReplaceAll("try:\n  INSERT\nexcept mcptools.ToolError as error: print(error.kind, '--mcp-allow' in str(error))", "INSERT", insert)
			r.user.will(says(accepts("deny")))
			asked(1, "denied True\ndenied True\n", tried+"\n"+tried)
			r.user.will(says(reacts(mcp.ElicitationResponseActionDecline, nil)))
			asked(1, "denied True\n", tried)
			r.user.will(says(accepts("once")))
			asked(2, made+made, insert+"\n"+insert)
			other := create(t, r.c)
			r.user.will(says(accepts("interpreter")))
			asked(1, made+made, insert+"\n"+insert)
			asked(1, made, insert)
			asked(2, made, "from mcptools import sqlite\n"+insert, "interpreter_id", other)
			r.user.will(says(accepts("always")))
			another := create(t, r.c)
			asked(1, made, "from mcptools import sqlite\n"+insert, "interpreter_id", another)
			asked(1, made, "from mcptools import sqlite\n"+insert, "interpreter_id", create(t, r.c))
		})
	}
}
