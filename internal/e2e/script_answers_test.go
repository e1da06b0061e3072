package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/png"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdTools prints the tools: names, arguments and descriptions.
func cmdTools(ts *testscript.TestScript, _ bool, _ []string) {
	listed, err := agentOf(ts).client.ListTools(context.Background(), mcp.ListToolsRequest{})
	ts.Check(err)
	for _, tool := range listed.Tools {
		names := slices.Sorted(maps.Keys(tool.InputSchema.Properties))
		fmt.Fprintf(ts.Stdout(), "%s(%s): %s\n", tool.Name, strings.Join(names, ", "), tool.Description)
	}
}

// cmdDescribe prints a tool's description as tools/list gives it.
func cmdDescribe(ts *testscript.TestScript, neg bool, args []string) {
	listed, err := agentOf(ts).client.ListTools(context.Background(), mcp.ListToolsRequest{})
	ts.Check(err)
	i := slices.IndexFunc(listed.Tools, func(t mcp.Tool) bool { return t.Name == args[0] })
	if (i < 0) != neg {
		ts.Fatalf("there are %d tools, and %s is the number %d", len(listed.Tools), args[0], i)
	}
	if i >= 0 {
		fmt.Fprintln(ts.Stdout(), listed.Tools[i].Description)
	}
}

// cmdImages checks the number of images, and that each is a PNG or JPEG that
// fits the limits; with a second argument, its longest side.
func cmdImages(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	n := 0
	for _, content := range agentOf(ts).last.Content {
		img, ok := content.(mcp.ImageContent)
		if !ok {
			continue
		}
		n++
		data, err := base64.StdEncoding.DecodeString(img.Data)
		ts.Check(err)
		if img.MIMEType == "image/png" {
			config, err := png.DecodeConfig(bytes.NewReader(data))
			ts.Check(err)
			if longest := max(config.Width, config.Height); longest > 1568 || len(args) > 1 && strconv.Itoa(longest) != args[1] {
				ts.Fatalf("image %d is %d×%d", n, config.Width, config.Height)
			}
		}
	}
	if n != want {
		ts.Fatalf("%d images, not %d", n, want)
	}
}

// field returns the value at a dotted path of the last record.
func (a *agent) field(path string) any {
	value := a.last.StructuredContent
	for _, key := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// cmdRecord compares a field of the record with JSON, or checks that it is
// absent. The value PNG stands for a data URI of one.
func cmdRecord(ts *testscript.TestScript, neg bool, args []string) {
	got := agentOf(ts).field(args[0])
	if neg {
		if got != nil {
			ts.Fatalf("%s is %v", args[0], got)
		}
		return
	}
	var want any
	if text, ok := got.(string); ok && args[1] == "PNG" {
		data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "data:image/png;base64,"))
		ts.Check(err)
		_, err = png.DecodeConfig(bytes.NewReader(data))
		ts.Check(err)
		return
	}
	if json.Unmarshal([]byte(args[1]), &want) != nil {
		want = args[1]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		ts.Fatalf("%s is not as wanted (-want +got):\n%s", args[0], diff)
	}
}

func (a *agent) forgetProgress() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.progress = nil
}

func (a *agent) progressed(pattern *regexp.Regexp) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, message := range a.progress {
		if pattern.MatchString(message) {
			return true
		}
	}
	return false
}

// cmdProgress checks that the last call was told of something.
func cmdProgress(ts *testscript.TestScript, neg bool, args []string) {
	a := agentOf(ts)
	if a.progressed(regexp.MustCompile(args[0])) == neg {
		ts.Fatalf("progress was %q", a.progress)
	}
}

// cmdRead prints a resource: text as it is, of other bytes the type and the
// number. With ! the read fails, and the error is printed.
func cmdRead(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var request mcp.ReadResourceRequest
	request.Params.URI = args[0]
	result, err := agentOf(ts).client.ReadResource(ctx, request)
	if neg != (err != nil) {
		ts.Fatalf("%v", err)
	}
	if err != nil {
		fmt.Fprintln(ts.Stdout(), err)
		return
	}
	for _, contents := range result.Contents {
		switch c := contents.(type) {
		case mcp.TextResourceContents:
			fmt.Fprintln(ts.Stdout(), c.Text)
		case mcp.BlobResourceContents:
			data, err := base64.StdEncoding.DecodeString(c.Blob)
			ts.Check(err)
			fmt.Fprintf(ts.Stdout(), "%s %d %x\n", c.MIMEType, len(data), data[:min(8, len(data))])
		}
	}
}

// cmdResources prints the URIs of the list of resources.
func cmdResources(ts *testscript.TestScript, _ bool, _ []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	listed, err := agentOf(ts).client.ListResources(ctx, mcp.ListResourcesRequest{})
	ts.Check(err)
	for _, r := range listed.Resources {
		fmt.Fprintln(ts.Stdout(), r.URI)
	}
}

// cmdLinks prints the links of the last answer.
func cmdLinks(ts *testscript.TestScript, _ bool, _ []string) {
	for _, content := range agentOf(ts).last.Content {
		if link, ok := content.(mcp.ResourceLink); ok {
			fmt.Fprintln(ts.Stdout(), link.URI, link.Name, link.MIMEType)
		}
	}
}

// cmdListen subscribes to resources, and to changes of their list.
func cmdListen(ts *testscript.TestScript, _ bool, args []string) {
	a := agentOf(ts)
	a.heard = make(chan string, 1000)
	a.client.OnNotification(func(n mcp.JSONRPCNotification) {
		uri, _ := n.Params.AdditionalFields["uri"].(string)
		a.heard <- strings.TrimSpace(n.Method + " " + uri)
	})
	stop, err := a.client.ListenAsync(context.Background(), mcp.SubscriptionFilter{ResourceSubscriptions: args, ResourcesListChanged: true}, nil)
	ts.Check(err)
	ts.Defer(stop)
	hear(ts, mcp.MethodNotificationSubscriptionsAcknowledged)
}

// cmdHear waits for a notification: a resource that was updated, or "list".
func cmdHear(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "list" {
		hear(ts, mcp.MethodNotificationResourcesListChanged)
		return
	}
	hear(ts, mcp.MethodNotificationResourceUpdated+" "+args[0])
}

func hear(ts *testscript.TestScript, want string) {
	deadline := time.After(time.Minute)
	for {
		select {
		case got := <-agentOf(ts).heard:
			if got == want {
				return
			}
		case <-deadline:
			ts.Fatalf("%s was not heard", want)
		}
	}
}
