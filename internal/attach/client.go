package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/internal/connect"
	"understudy/sessions"
)

// client speaks MCP with a server as its operator.
type client struct{ mcp *mcpclient.Client }

// asker answers a question of the code's, from input(). It may be nil: then nobody does.
type asker func(ctx context.Context, question string) (answer string, err error)

// dial connects to a server. It stays with the older protocol, in which a question
// comes while a call waits, and waits for its answer beyond the call's end.
func dial(ctx context.Context, server connect.Found, version string, person asker) (*client, error) {
	conn, err := server.Open()
	if err != nil {
		return nil, fmt.Errorf("connecting to the server: %w", err)
	}
	link := transport.NewIO(conn, conn, io.NopCloser(strings.NewReader("")))
	transport.WithCommandLogger(slog.New(slog.DiscardHandler))(link) // the calls tell of what goes wrong
	c := &client{mcpclient.NewClient(link,
		mcpclient.WithProtocolVersion("2025-11-25"), mcpclient.WithElicitationHandler(person))}
	hello := mcp.InitializeRequest{}
	hello.Params.ClientInfo = mcp.Implementation{Name: "understudy-attach", Version: version}
	err = c.mcp.Start(ctx)
	if err == nil {
		_, err = c.mcp.Initialize(ctx, hello)
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("greeting the server: %w", err)
	}
	return c, nil
}

func (c *client) close() { _ = c.mcp.Close() } // nothing is lost by it

// list returns the interpreters of a server.
func list(ctx context.Context, server connect.Found, version string) ([]sessions.Listing, error) {
	c, err := dial(ctx, server, version, nil)
	if err != nil {
		return nil, err
	}
	defer c.close()
	var answer struct {
		Interpreters []sessions.Listing `json:"interpreters"`
	}
	_, err = c.call(ctx, "manage_interpreters", map[string]any{"operation": "list"}, &answer)
	return answer.Interpreters, err
}

// refused is an answer that nothing was done.
type refused string

func (r refused) Error() string { return string(r) }

// call calls a tool, and reads the record of its answer.
func (c *client) call(ctx context.Context, tool string, args map[string]any, record any) (text string, err error) {
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = tool, args
	result, err := c.mcp.CallTool(ctx, request)
	if err != nil {
		return "", err
	}
	for _, content := range result.Content {
		if t, ok := content.(mcp.TextContent); ok {
			text += t.Text
		}
	}
	if result.IsError {
		return text, refused(text)
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, record)
	}
	return text, err
}

// Elicit puts a form of the protocol to the person: one line.
func (ask asker) Elicit(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	answer, err := "", errors.New("nobody is asked")
	if ask != nil {
		answer, err = ask(ctx, request.Params.Message)
	}
	response := mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"answer": answer}}
	if err != nil {
		response = mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionCancel}
	}
	return &mcp.ElicitationResult{ElicitationResponse: response}, nil
}
