package tools

import (
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/tiktoken-go/tokenizer"
)

// What may be spent of a model's context before it has done anything: both
// tools as tools/list gives them, whole, with the instructions. It is counted
// with o200k, the newest vocabulary of OpenAI's that is public; other models'
// tokenizers differ from it by a quarter or so.
const (
	mostTokens       = 1500
	mostPromptTokens = 350
)

// TestTokenCost keeps the tools and the instructions within their bound.
func TestTokenCost(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	count := func(text string) int {
		t.Helper()
		n, err := codec.Count(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}

	for _, mode := range []string{ModeFull, ModeCLIOnly} {
		c := connect(t, "tester", &fakeManager{}, Options{History: 1, Mode: mode})
		listed, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		sum := count(Options{Mode: mode}.Instructions())
		t.Logf("%s: instructions: %d tokens", mode, sum)
		for _, tool := range listed.Tools {
			encoded, err := json.Marshal(tool)
			if err != nil {
				t.Fatal(err)
			}
			n := count(string(encoded))
			t.Logf("%s: %d tokens", tool.Name, n)
			sum += n
		}
		t.Logf("together: %d of %d", sum, mostTokens)
		if sum > mostTokens || sum < 300 {
			t.Errorf("%s: tools and instructions cost %d tokens, at most %d wanted", mode, sum, mostTokens)
		}
	}
	for _, p := range prompts {
		if n := count(p.text); n > mostPromptTokens {
			t.Errorf("prompt %s costs %d tokens, at most %d wanted", p.name, n, mostPromptTokens)
		} else {
			t.Logf("prompt %s: %d tokens", p.name, n)
		}
	}
}
