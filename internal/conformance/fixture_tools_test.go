package conformance

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// addContentTools adds the tools that answer with content of each kind.
func addContentTools(s *server.MCPServer) {
	for name, content := range map[string][]mcp.Content{
		"test_simple_text":   {mcp.NewTextContent("This is a simple text response for testing.")},
		"test_image_content": {mcp.NewImageContent(dot, "image/png")},
		"test_audio_content": {mcp.NewAudioContent(silence, "audio/wav")},
		"test_embedded_resource": {mcp.NewEmbeddedResource(mcp.TextResourceContents{
			URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content.",
		})},
		"test_multiple_content_types": {
			mcp.NewTextContent("Multiple content types test:"),
			mcp.NewImageContent(dot, "image/png"),
			mcp.NewEmbeddedResource(mcp.TextResourceContents{
				URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`,
			}),
		},
	} {
		s.AddTool(tool(name), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: content}, nil
		})
	}
	s.AddTool(tool("test_error_handling"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("This tool intentionally returns an error for testing"), nil
	})
	s.AddTool(mcp.NewToolWithRawSchema("json_schema_2020_12_tool", "Has a schema with every keyword that a list must not lose.", json.RawMessage(keywords)), done)
	s.AddTool(mcp.NewToolWithRawSchema("test_custom_headers", "Has an argument that travels in a header too.", json.RawMessage(
		`{"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}, "required": ["region"]}`)), done)
}

const keywords = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

func tool(name string, options ...mcp.ToolOption) mcp.Tool {
	return mcp.NewTool(name, append(options, mcp.WithDescription("A tool of the conformance suite."))...)
}

func done(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText("Done."), nil
}

// step is the pause between two notifications that the suite's descriptions ask
// for.
const step = 50 * time.Millisecond

// addNotifyingTools adds the tools that say something while they run, or change
// what the server has. None of them waits before it returns: that its last
// words arrive before its answer is the transport's business.
func addNotifyingTools(s *server.MCPServer) {
	s.AddTool(tool("test_tool_with_logging"), logs(s))
	s.AddTool(tool("test_logging_tool"), logs(s))
	s.AddTool(tool("test_tool_with_progress"), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, percent := range []int{0, 50, 100} {
			if percent > 0 {
				time.Sleep(step)
			}
			if r.Params.Meta == nil || r.Params.Meta.ProgressToken == nil {
				continue
			}
			err := s.SendNotificationToClient(ctx, string(mcp.MethodNotificationProgress),
				map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": percent, "total": 100})
			if err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("All steps were taken."), nil
	})
	// The lists are as before when the call has ended: they must not differ from
	// one request to the next.
	s.AddTool(tool("test_trigger_tool_change"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(tool("test_passing_tool"), done)
		s.DeleteTools("test_passing_tool")
		return mcp.NewToolResultText("A tool came and went."), nil
	})
	s.AddTool(tool("test_trigger_prompt_change"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddPrompt(mcp.NewPrompt("test_passing_prompt"), says(func(map[string]string) []mcp.Content { return nil }))
		s.DeletePrompts("test_passing_prompt")
		return mcp.NewToolResultText("A prompt came and went."), nil
	})
}

func logs(s *server.MCPServer) server.ToolHandlerFunc {
	return func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if i > 0 {
				time.Sleep(step)
			}
			if err := s.SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "fixture", line)); err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("Three lines were logged."), nil
	}
}
