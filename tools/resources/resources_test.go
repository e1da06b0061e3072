package resources

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
	"understudy/tools/resources/uri"
)

func TestResourcesAreRead(t *testing.T) {
	inEachEra(t, func(t *testing.T, c, _ *client.Client) {
		_, id := run(t, c, `{"code":"one\ntwo\nfigure f.png pixels"}`)
		root := uri.OfInterpreter(id)
		want := "1: one\n[1 of lines 1 to 1 match; 8 bytes in all; read on: " + root + "/executions/1/stdout?from=2&lines=1&match=o]"
		same(t, want, readText(t, c, root+"/executions/1/stdout?match=o&lines=1"))
		contents, err := read(c, root+"/figures/f.png")
		must(t, err)
		blob := contents[0].(mcp.BlobResourceContents)
		expect(t, blob.Blob == "cGl4ZWxz" && blob.MIMEType == "image/png", "%+v", blob)
		call(t, c, "manage_interpreters", `{"operation":"upload","path":"data/é.csv","content":"1,2\n3,4\n"}`)
		checkJSON(t, readText(t, c, root), map[string]any{"id": id, "runs.0.uri": root + "/executions/1", "runs.0.stdout_bytes": 8., "runs.0.figure_uris.0": root + "/figures/f.png"})
		checkJSON(t, readText(t, c, root+"/executions/1"), map[string]any{
			"code": "one\ntwo\nfigure f.png pixels", "status": "ok", "stdout": "one\ntwo\n", "stdout_uri": root + "/executions/1/stdout", "figures.0.uri": root + "/figures/f.png"})
		checkJSON(t, readText(t, c, root+"/files?path=data"), map[string]any{"path": "data", "entries.0.path": "data/é.csv", "entries.0.size": 8., "entries.0.uri": uri.OfFile(id, "data/é.csv")})
	})
}

// checkJSON compares what is at dotted paths of a JSON text.
func checkJSON(t *testing.T, text string, want map[string]any) {
	t.Helper()
	var all any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for path, value := range want {
		at := all
		for _, key := range strings.Split(path, ".") {
			switch v := at.(type) {
			case map[string]any:
				at = v[key]
			case []any:
				var i int
				_, _ = fmt.Sscan(key, &i)
				at = v[i]
			}
		}
		expect(t, at == value, "%s is %v, not %v", path, at, value)
	}
}

func TestResourcesThatAreNotRead(t *testing.T) {
	inEachEra(t, func(t *testing.T, c, stranger *client.Client) {
		_, id := run(t, c, `{"code":"one"}`)
		root := uri.OfInterpreter(id)
		for _, address := range []string{root, root + "/executions/1", root + "/executions/1/stdout", root + "/files", root + "/files/x", root + "/figures/x", root + "/artifacts/x"} {
			checkRefusal(t, stranger, address, "Interpreter "+id+" not found")
		}
		checkRefusal(t, c, root+"/executions/2", "executions 1 to 1 are")
		checkRefusal(t, c, root+"/figures/x.png", "has shown no figure")
		checkRefusal(t, c, root+"/files/none", "no \"none\" in the working directory")
		checkRefusal(t, c, "test://nothing", "no such resource")
		checkRefusal(t, c, readURI, "no such resource")
		checkRefusal(t, c, root+"/files/../x", "inside the working directory")
		checkRefusal(t, c, root+"/files//etc/passwd", "relative")
		checkRefusal(t, c, root+"/executions/1/stdout?form=1", `unknown parameter "form"`)
	})
}

func checkRefusal(t *testing.T, c *client.Client, address, words string) {
	t.Helper()
	_, err := read(c, address)
	// Whether it was "not found" is a code that the transports write.
	expect(t, err != nil && strings.Contains(err.Error(), words) && !strings.Contains(err.Error(), "handler"), "%s: %v", address, err)
}

func TestResourcesAreListed(t *testing.T) {
	inEachEra(t, func(t *testing.T, c, stranger *client.Client) {
		uris := listedURIs(t, c)
		expect(t, len(uris) == 0, "%v", uris)
		long, _ := json.Marshal(map[string]any{"code": strings.Repeat("long\n", 1000)})
		_, id := run(t, c, `{"code":"short\nfigure a.png x\nfigure b.png x"}`)
		run(t, c, string(long))
		root := uri.OfInterpreter(id)
		want := []string{root, root + "/files", root + "/executions/2/stdout", root + "/figures/a.png", root + "/figures/b.png"}
		same(t, want, listedURIs(t, c))
		uris = listedURIs(t, stranger)
		expect(t, len(uris) == 0, "%v", uris)
		templates, err := c.ListResourceTemplates(t.Context(), mcp.ListResourceTemplatesRequest{})
		expect(t, err == nil && len(templates.ResourceTemplates) == 8, "%v %v", templates, err)
	})
}

func listedURIs(t *testing.T, c *client.Client) []string {
	t.Helper()
	listed, err := c.ListResources(t.Context(), mcp.ListResourcesRequest{})
	must(t, err)
	var uris []string
	for _, r := range listed.Resources {
		expect(t, r.Name != "", "%+v", r)
		uris = append(uris, r.URI)
	}
	return uris
}

func TestListsAreBounded(t *testing.T) {
	h := newHouse(t, time.Hour)
	c, _ := h.connect(t)
	for range 5 {
		made := call(t, c, "manage_interpreters", `{"operation":"create"}`).StructuredContent.(map[string]any)
		id := made["interpreter_id"]
		for i := range 40 {
			run(t, c, fmt.Sprintf(`{"interpreter_id":%q,"code":"figure %d.png x"}`, id, i))
		}
	}
	uris := listedURIs(t, c)
	expect(t, len(uris) == mostListed && strings.HasSuffix(uris[2], "/figures/39.png"), "%d listed: %v", len(uris), uris[:3])
}

func TestCompletion(t *testing.T) {
	inEachEra(t, func(t *testing.T, c, stranger *client.Client) {
		_, id := run(t, c, `{"code":"figure a.png x"}`)
		run(t, c, `{"code":"figure b.png x\nartifact a%b.md first"}`)
		run(t, c, `{"code":"artifact a%b.md second\nartifact c.md other"}`)
		got := complete(t, c, uri.Artifact, "name", "", nil)
		expect(t, cmp.Equal(got, []string{"c.md", "a%b.md"}), "%v", got)
		call(t, c, "manage_interpreters", `{"operation":"upload","path":"data/x.csv","content":""}`)
		for _, test := range []struct {
			name, value string
			want        []string
		}{
			{"id", "", []string{id}}, {"id", id[:3], []string{id}}, {"id", "x", []string{}},
			{"n", "", []string{"3", "2", "1"}}, {"name", "a", []string{"a.png"}}, {"path", "", []string{"data/"}},
			{"path", "data/", []string{"data/x.csv"}}, {"path", "d", []string{"data/"}}, {"path", "../", []string{}}, {"path", "/", []string{}}, {"other", "", []string{}},
		} {
			diff := cmp.Diff(test.want, complete(t, c, uri.Figure, test.name, test.value, nil))
			expect(t, diff == "", "%s %q: %s", test.name, test.value, diff)
			theirs := complete(t, stranger, uri.Figure, test.name, test.value, map[string]string{"id": id})
			expect(t, len(theirs) == 0, "%s %q: a stranger gets %v", test.name, test.value, theirs)
		}
		call(t, c, "manage_interpreters", `{"operation":"create"}`)
		numbers := complete(t, c, uri.Figure, "n", "", nil)
		expect(t, len(numbers) == 0, "of which interpreter? %v", numbers)
		numbers = complete(t, c, uri.Figure, "n", "", map[string]string{"id": id})
		expect(t, len(numbers) == 3, "%v", numbers)
	})
}

func complete(t *testing.T, c *client.Client, kind uri.Kind, name, value string, around map[string]string) []string {
	t.Helper()
	var request mcp.CompleteRequest
	request.Params.Ref = mcp.ResourceReference{Type: "ref/resource", URI: uri.Of(kind).String()}
	request.Params.Argument = mcp.CompleteArgument{Name: name, Value: value}
	request.Params.Context = mcp.CompleteContext{Arguments: around}
	result, err := c.Complete(t.Context(), request)
	must(t, err)
	return result.Completion.Values
}

// TestLinksAreForThoseWhoKnowThem: a client of an era without them would refuse the answer.
func TestLinksAreForThoseWhoKnowThem(t *testing.T) {
	h := newHouse(t, time.Hour)
	c, _ := h.connect(t, client.WithLegacyProtocolOnly())
	for version, links := range map[string]int{mcp.LATEST_PROTOCOL_VERSION: 1, "2025-03-26": 0} {
		var hello mcp.InitializeRequest
		hello.Params.ProtocolVersion = version
		must(t, errOf(c.Initialize(t.Context(), hello)))
		got, _ := run(t, c, `{"code":"figure a.png x"}`)
		expect(t, len(got.Content) == 1+links, "%s: %d contents", version, len(got.Content))
	}
}

// TestReadsAreTold: also those that find nothing, under the uri.Address that was asked for.
func TestReadsAreTold(t *testing.T) {
	h := newHouse(t, time.Hour)
	told := map[string]sessions.Code{}
	h.resources.Read = func(_ context.Context, address string, err error, _ time.Duration) {
		told[address] = sessions.CodeOf(err)
	}
	c, _ := h.connect(t)
	_, id := run(t, c, `{"code":"one"}`)
	for _, path := range []string{"", "/files/none"} {
		_, _ = read(c, uri.OfInterpreter(id)+path) // what it said is told, too
	}
	want := map[string]sessions.Code{uri.OfInterpreter(id): "", uri.OfInterpreter(id) + "/files/none": sessions.CodeNotFound}
	same(t, want, told)
}
