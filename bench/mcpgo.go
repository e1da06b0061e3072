package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// libraryClient talks to a server of its own through mcp-go's client: what a
// program sees that does not write its JSON-RPC lines itself.
type libraryClient struct{ *client.Client }

func startLibraryClient(ctx context.Context, b *bench, settings ...string) (libraryClient, error) {
	args, err := serverArgs(b)
	if err != nil {
		return libraryClient{}, err
	}
	c, err := client.NewStdioMCPClient(b.binary, nil, append(args, settings...)...)
	if err != nil {
		return libraryClient{}, err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "understudy-bench", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return libraryClient{}, errors.Join(err, c.Close())
	}
	return libraryClient{c}, nil
}

func (c libraryClient) sum(ctx context.Context) (float64, error) {
	request := mcp.CallToolRequest{}
	request.Params.Name = "run_python_code"
	request.Params.Arguments = map[string]any{"code": "1+1"}
	began := time.Now()
	result, err := c.CallTool(ctx, request)
	took := time.Since(began).Seconds()
	if err == nil && (result.IsError || len(result.Content) == 0) {
		err = fmt.Errorf("1+1 was not answered: %+v", result)
	}
	return took, err
}
