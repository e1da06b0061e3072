package conformance

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/png"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// newFixture returns a server with the tools, resources and prompts that the
// scenarios of the official suite call by name. What they must answer is in the
// suite's descriptions of its scenarios.
func newFixture() *server.MCPServer {
	s := server.NewMCPServer("fixture", "1",
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(true, true),
		server.WithPromptCapabilities(true),
		server.WithLogging(),
		server.WithElicitation(),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(cities{}),
		server.WithResourceCompletionProvider(cities{}),
	)
	s.EnableSampling()
	addContentTools(s)
	addNotifyingTools(s)
	addAskingTools(s)
	addResources(s)
	addPrompts(s)
	return s
}

// A dot and a moment of silence, as complete files in base64.
var dot, silence = encodeDot(), encodeSilence()

func encodeDot() string {
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err) // no image is smaller
	}
	return base64.StdEncoding.EncodeToString(file.Bytes())
}

// encodeSilence makes a WAV file: PCM, one channel, 8,000 samples of one byte a
// second, of which there are eight.
func encodeSilence() string {
	samples := bytes.Repeat([]byte{128}, 8)
	file := []byte("RIFF")
	file = binary.LittleEndian.AppendUint32(file, uint32(36+len(samples)))
	file = append(file, "WAVEfmt "...)
	file = binary.LittleEndian.AppendUint32(file, 16)
	for _, field := range []uint16{1, 1, 8000, 0, 8000, 0, 1, 8} {
		file = binary.LittleEndian.AppendUint16(file, field)
	}
	file = append(file, "data"...)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(samples)))
	return base64.StdEncoding.EncodeToString(append(file, samples...))
}

// cities completes any argument.
type cities struct{}

func (cities) CompletePromptArgument(_ context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return complete(argument.Value), nil
}

func (cities) CompleteResourceArgument(_ context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return complete(argument.Value), nil
}

func complete(prefix string) *mcp.Completion {
	found := []string{}
	for _, name := range []string{"palermo", "paris", "prague"} {
		if strings.HasPrefix(name, prefix) {
			found = append(found, name)
		}
	}
	return &mcp.Completion{Values: found, Total: len(found)}
}

func addResources(s *server.MCPServer) {
	const text, binary, watched = "test://static-text", "test://static-binary", "test://watched-resource"
	s.AddResource(mcp.NewResource(text, "static-text", mcp.WithResourceDescription("A text that stays."), mcp.WithMIMEType("text/plain")),
		reader(mcp.TextResourceContents{URI: text, MIMEType: "text/plain", Text: "This is the content of the static text resource."}))
	s.AddResource(mcp.NewResource(binary, "static-binary", mcp.WithResourceDescription("An image that stays."), mcp.WithMIMEType("image/png")),
		reader(mcp.BlobResourceContents{URI: binary, MIMEType: "image/png", Blob: dot}))
	s.AddResource(mcp.NewResource(watched, "watched-resource", mcp.WithResourceDescription("A text to subscribe to."), mcp.WithMIMEType("text/plain")),
		reader(mcp.TextResourceContents{URI: watched, MIMEType: "text/plain", Text: "As ever."}))
	s.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template",
		mcp.WithTemplateDescription("Data of an id."), mcp.WithTemplateMIMEType("application/json")),
		func(_ context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: r.Params.URI, MIMEType: "application/json",
				Text: `{"id":"` + id + `","templateTest":true,"data":"Data for ID: ` + id + `"}`}}, nil
		})
}

func reader(content mcp.ResourceContents) server.ResourceHandlerFunc {
	return func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{content}, nil
	}
}

func addPrompts(s *server.MCPServer) {
	s.AddPrompt(mcp.NewPrompt("test_simple_prompt", mcp.WithPromptDescription("A prompt without arguments.")),
		says(func(map[string]string) []mcp.Content {
			return []mcp.Content{mcp.NewTextContent("This is a simple prompt for testing.")}
		}))
	s.AddPrompt(mcp.NewPrompt("test_prompt_with_arguments", mcp.WithPromptDescription("A prompt with two arguments."),
		mcp.WithArgument("arg1", mcp.RequiredArgument(), mcp.ArgumentDescription("The first.")),
		mcp.WithArgument("arg2", mcp.RequiredArgument(), mcp.ArgumentDescription("The second."))),
		says(func(with map[string]string) []mcp.Content {
			return []mcp.Content{mcp.NewTextContent("Prompt with arguments: arg1='" + with["arg1"] + "', arg2='" + with["arg2"] + "'")}
		}))
	s.AddPrompt(mcp.NewPrompt("test_prompt_with_embedded_resource", mcp.WithPromptDescription("A prompt with a resource inside."),
		mcp.WithArgument("resourceUri", mcp.RequiredArgument(), mcp.ArgumentDescription("Which resource."))),
		says(func(with map[string]string) []mcp.Content {
			return []mcp.Content{
				mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: with["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}),
				mcp.NewTextContent("Please process the embedded resource above."),
			}
		}))
	s.AddPrompt(mcp.NewPrompt("test_prompt_with_image", mcp.WithPromptDescription("A prompt with an image.")),
		says(func(map[string]string) []mcp.Content {
			return []mcp.Content{mcp.NewImageContent(dot, "image/png"), mcp.NewTextContent("Please analyze the image above.")}
		}))
	s.AddPrompt(mcp.NewPrompt("test_input_required_result_prompt", mcp.WithPromptDescription("A prompt that asks first.")),
		func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if answer := answered(r.Params.InputResponses, "user_context"); answer != nil {
				return said(mcp.NewTextContent("Context: " + answer.text("context"))), nil
			}
			return asking("").Elicit("user_context", question("What context should the prompt use?", "context", "string")).PromptResult(), nil
		})
}

func says(content func(arguments map[string]string) []mcp.Content) server.PromptHandlerFunc {
	return func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return said(content(r.Params.Arguments)...), nil
	}
}

func said(content ...mcp.Content) *mcp.GetPromptResult {
	result := &mcp.GetPromptResult{}
	for _, c := range content {
		result.Messages = append(result.Messages, mcp.NewPromptMessage(mcp.RoleUser, c))
	}
	return result
}
