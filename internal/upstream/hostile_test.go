package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"understudy/sessions"
)

// hostile is a server that does one thing wrong.
func hostile(kind string) {
	out := bufio.NewWriter(os.Stdout)
	say := func(format string, args ...any) {
		fmt.Fprintf(out, format+"\n", args...)
		_ = out.Flush()
	}
	if kind == "flood" {
		for range 50_000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 100))
		}
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name, Cursor string }
		}
		_ = json.Unmarshal(in.Bytes(), &request)
		if kind == "leaves" && request.Method == "server/discover" {
			os.Exit(3) // as some do whom a client greets in the newer protocol
		}
		result := ""
		switch request.Method {
		case "initialize":
			if kind == "mute" {
				continue
			}
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"hostile","version":"1"}}`
		case "tools/list":
			result = hostileList(kind, request.Params.Cursor)
		case "tools/call":
			if result = hostileCall(request.Params.Name, say); result == "" {
				continue
			}
		case "server/discover":
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, request.ID)
			continue
		default:
			continue
		}
		say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result)
	}
	if kind == "stubborn" {
		select {} // the end of its input is nothing to it
	}
}

func hostileList(kind, cursor string) string {
	tool := func(name, more string) string {
		quoted, _ := json.Marshal(name)
		return fmt.Sprintf(`{"name":%s,"inputSchema":{"type":"object"}%s}`, quoted, more)
	}
	page := func(tools []string, next string) string {
		return fmt.Sprintf(`{"tools":[%s],"nextCursor":%q}`, strings.Join(tools, ","), next)
	}
	switch kind {
	case "million":
		number, _ := strconv.Atoi(cursor)
		var tools []string
		for i := range 100 {
			tools = append(tools, tool(fmt.Sprintf("tool%d", number*100+i), ""))
		}
		return page(tools, strconv.Itoa(number+1))
	case "empty":
		number, _ := strconv.Atoi(cursor)
		return page(nil, strconv.Itoa(number+1))
	case "broken":
		deep := strings.Repeat(`{"properties":{"a":`, 500) + "{}" + strings.Repeat("}}", 500)
		return page([]string{
			tool("class", ""), tool("__class__", ""), tool("match", ""), tool("a-b", ""), tool("a_b", ""), tool("a.b", ""), tool("1st", ""), tool("日本", ""), tool("search", ""),
			tool("", ""), `{"name":7}`, `"tool"`, `{"name":"array","inputSchema":[]}`, `{"name":"text","inputSchema":{"type":"string"}}`,
			tool("twice", ""), tool("twice", ""), tool("bell\x07", ""),
			tool("long", `,"description":"`+strings.Repeat("x", 10<<20)+`"`),
			`{"name":"deep","inputSchema":` + deep + `}`,
			`{"name":"loop","inputSchema":{"$ref":"#"}}`,
			`{"name":"tree","inputSchema":{"type":"object","properties":{"child":{"$ref":"#"}},"required":["child"]}}`,
			`{"name":"elsewhere","inputSchema":{"type":"object","properties":{"x":{"$ref":"file:///etc/passwd"}}}}`,
			`{"name":"laughs","inputSchema":{"type":"object","properties":{"x":{"$ref":"#/$defs/l60"}},"$defs":{"l0":{}` + laughs() + `}}}`,
		}, "")
	}
	var tools []string
	for _, name := range []string{"huge", "hugeBehind", "silent", "die", "pictures", "spawn", "storm", "whole", "ask", "orphan", "self"} {
		tools = append(tools, tool(name, `,"annotations":{"readOnlyHint":true}`))
	}
	return page(tools, "")
}

func laughs() string {
	var b strings.Builder
	for i := 1; i <= 60; i++ {
		fmt.Fprintf(&b, `,"l%d":{"allOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]}`, i, i-1, i-1)
	}
	return b.String()
}

// hostileCall is the result of a tool; "" where it answers itself, or never.
func hostileCall(name string, say func(string, ...any)) string {
	text := func(text string) string { return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text) }
	switch name {
	case "huge":
		return text(strings.Repeat("x", 100<<20))
	case "hugeBehind": // as others order their members, and one that nobody waits for
		say(`{"result":%s,"jsonrpc":"2.0","id":4242}`, text("stray"))
		return text(strings.Repeat("y", 40<<20))
	case "self":
		return text(strconv.Itoa(os.Getpid()))
	case "die":
		fmt.Fprintln(os.Stderr, "out of luck with sesame-open-12345")
		os.Exit(7)
	case "pictures":
		return `{"content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"image","data":"AAAA","mimeType":"image/png"},`, 65), ",") + `]}`
	case "spawn", "orphan":
		// npx and its like have children; some of those leave the group.
		cmd := exec.Command("sleep", "1000")
		if name == "orphan" {
			cmd = exec.Command("setsid", "--fork", "sh", "-c", "echo $$ >&3; exec 3>&-; exec sleep 1000")
			r, w, _ := os.Pipe()
			cmd.ExtraFiles = []*os.File{w}
			_ = cmd.Run()
			_ = w.Close()
			line, _ := bufio.NewReader(r).ReadString('\n')
			return text(strings.TrimSpace(line))
		}
		_ = cmd.Start()
		return text(strconv.Itoa(cmd.Process.Pid))
	case "storm":
		for range 1000 {
			say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		return text("stormed")
	case "whole":
		return `{"content":[],"structuredContent":{"big":12345678901234567890}}`
	case "ask":
		for i := range 1000 {
			say(`{"jsonrpc":"2.0","id":"q%d","method":"sampling/createMessage","params":{}}`, i)
		}
		return text("asked")
	}
	return ""
}

func TestHostileLists(t *testing.T) {
	t.Parallel()
	s := stdioServers(t, Options{}, "million", "empty", "broken")
	s.Ready(soon(t))
	states := map[string]State{}
	for _, state := range s.States() {
		expect(t, state.State == stateReady, "%s is %s: %s", state.Name, state.State, state.Problem)
		states[state.Name] = state
	}
	expect(t, states["million"].Tools == toolsLimit && strings.Contains(states["million"].Problem, "first 2000"), "a million tools are %+v", states["million"])
	expect(t, states["empty"].Tools == 0, "pages without tools are %+v", states["empty"])
	expect(t, strings.Contains(states["broken"].Problem, "8 tools are left out"), "broken tools: %s", states["broken"].Problem)
	functions := map[string]string{}
	for _, tool := range s.Tools("broken") {
		functions[tool.Name] = tool.Function
		expect(t, len(tool.Description) <= descriptionLimit+3, "%s has a description of %d bytes", tool.Name, len(tool.Description))
	}
	for name, function := range map[string]string{
		"__class__": "class_", "class": "class__2", "match": "match_", "a_b": "a_b", "a-b": "a_b_2", "a.b": "a_b_3", "1st": "_1st", "日本": "tool", "search": "search_",
	} {
		expect(t, functions[name] == function, "%q is %q in Python, not %q", name, functions[name], function)
	}
}

// Schemas that would have a check run for ever, or load files, are left to their servers.
func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	s := stdioServers(t, Options{}, "broken")
	s.Ready(soon(t))
	of, err := s.server("broken")
	must(t, err)
	nested := strings.Repeat(`{"child":`, 2000) + "{}" + strings.Repeat("}", 2000)
	for tool, arguments := range map[string]string{"loop": "{}", "tree": nested, "elsewhere": `{"x":1}`, "laughs": `{"x":1}`} {
		one, err := of.tool(tool)
		must(t, err)
		_, err = one.checkArguments("broken", json.RawMessage(arguments))
		expect(t, err == nil, "%s: %v", tool, err)
	}
}

func TestHostileCalls(t *testing.T) {
	t.Parallel()
	s := stdioServers(t, Options{}, "calls")
	ctx := soon(t)
	_, _, err := callTool(ctx, t, s, "calls", "huge", "")
	refused(t, err, sessions.RefusedLimit, "calls.huge", "32 MiB")
	_, _, err = callTool(ctx, t, s, "calls", "hugeBehind", "")
	refused(t, err, sessions.RefusedLimit, "32 MiB")
	_, _, err = callTool(ctx, t, s, "calls", "pictures", "")
	refused(t, err, sessions.RefusedLimit, "64")
	got, _, err := callTool(ctx, t, s, "calls", "whole", "")
	must(t, err)
	expect(t, string(got.Structured) == `{"big":12345678901234567890}`, "a long integer came as %s", got.Structured)
	_, _, err = callTool(ctx, t, s, "calls", "ask", "")
	must(t, err)
	_, _, err = callTool(ctx, t, s, "calls", "storm", "")
	must(t, err)
	expect(t, s.States()[0].State == stateReady, "after all that it is %+v", s.States()[0])
}

func TestSilence(t *testing.T) {
	t.Parallel()
	s := stdioServers(t, Options{}, "calls")
	s.Ready(soon(t))
	ctx, cancel := context20(t)
	defer cancel()
	_, _, err := callTool(ctx, t, s, "calls", "silent", "")
	refused(t, err, sessions.RefusedCancelled)
}

func TestDeathInTheMidst(t *testing.T) {
	t.Parallel()
	var log logged
	s := stdioServers(t, Options{Logger: log.logger()}, "calls")
	_, _, err := callTool(soon(t), t, s, "calls", "die", "")
	refused(t, err, sessions.RefusedUnavailable, "calls.die", "exit status 7", "out of luck with ***", "not known")
	got, _, err := callTool(soon(t), t, s, "calls", "whole", "")
	must(t, err)
	expect(t, got.Structured != nil, "the server that was begun again said nothing")
	expect(t, !strings.Contains(log.String(), "sesame"), "the log has a secret: %s", log.String())
}

// A server that ends at the first word of the newer protocol is greeted in the older.
func TestOlderProtocolOnly(t *testing.T) {
	t.Parallel()
	s := stdioServers(t, Options{}, "leaves", "flood")
	until(t, s, func() bool { return s.States()[0].State == stateReady && s.States()[1].State == stateReady })
}

// doomed is a server of ours that is to be killed: it prints the processes of an upstream
// server that minds no end of its input, and of a child of that.
func doomed() {
	self, _ := os.Executable()
	file, _ := os.CreateTemp("", "mcp")
	fmt.Fprintf(file, `{"mcpServers": {"stubborn": {"command": %q, "env": {"UPSTREAM_TEST_SERVER": "stubborn"}}}}`, self)
	s, err := Open(Options{File: file.Name()})
	_ = os.Remove(file.Name())
	if err != nil {
		panic(err)
	}
	var pids []string
	for _, tool := range []string{"self", "spawn"} {
		answer, err := s.Answer(context.Background(), sessions.ToolRequest{Op: sessions.ToolCall, Server: "stubborn", Name: tool})
		if err != nil {
			panic(err)
		}
		var r reply
		_ = json.Unmarshal(answer.Body, &r)
		pids = append(pids, r.Content[0].Text)
	}
	fmt.Println(strings.Join(pids, " "))
	select {}
}
