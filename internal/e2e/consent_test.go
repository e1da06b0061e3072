package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
)

// writer is an MCP server whose one tool does not say that it only reads.
const writer = `import json, sys
for line in sys.stdin:
    m = json.loads(line)
    given, tool = m.get("params") or {}, {"name": "write", "description": "Writes.", "inputSchema": {"type": "object"}}
    result = {
        "initialize": {"protocolVersion": given.get("protocolVersion"), "capabilities": {"tools": {}}, "serverInfo": {"name": "w", "version": "1"}},
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": [{"type": "text", "text": "written"}]},
    }.get(m.get("method"))
    outcome = {"result": result} if result else {"error": {"code": -32601, "message": "no"}}
    if "id" in m: print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **outcome}), flush=True)
`

// TestConsent: the user is asked whether another server's tool may be called, in both eras;
// what they allow for always holds after a restart of the server.
func TestConsent(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "w.py"), []byte(writer), 0o600))
	file := filepath.Join(dir, "servers.json")
	must(t, os.WriteFile(file, []byte(`{"mcpServers": {"notes": {"command": "`+python()+`", "args": ["`+filepath.Join(dir, "w.py")+`"]}}}`), 0o600))
	const text = "The Python code wants to call write of the MCP server notes, with {}\nThe server says of it: \"Writes.\""
	for _, legacy := range []bool{true, false} {
		p := &person{}
		options := []client.ClientOption{client.WithElicitationHandler(p)}
		if legacy {
			options = append(options, client.WithLegacyProtocolOnly())
		}
		start := func() *client.Client {
			cmd := command(t, "serve", "--mcp", file)
			cmd.Env = append(cmd.Env, "UNDERSTUDY_DATA_DIR="+filepath.Join(data, map[bool]string{true: "legacy", false: "modern"}[legacy]))
			return spawn(t, cmd, options...)
		}
		c := start()
		calls := func(choice string, asked int) {
			t.Helper()
			p.will(says(accepts(choice)))
			record, _ := run(t, c, "import mcptools\nfrom mcptools import notes\nfor _ in range(2):\n    try: print(notes.write())\n    except mcptools.ToolError as e: print(e)")
			want := "written\nwritten\n"
			if choice == "deny" {
				want = strings.Repeat("notes.write may not be called: the user has refused it. The server's operator can allow it with --mcp-allow notes.write\n", 2)
			}
			heard := p.heard()
			expect(t, record["stdout"] == want && len(heard) == asked, "%s (legacy: %v): asked %q, %v", choice, legacy, heard, record)
			for _, one := range heard {
				expect(t, one == text, "asked %q", one)
			}
		}
		calls("deny", 1)
		calls("once", 2)
		calls("always", 1)
		must(t, c.Close())
		c = start()
		calls("once", 0)
	}
}
