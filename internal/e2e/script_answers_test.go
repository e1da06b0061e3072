package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

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
