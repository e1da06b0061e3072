package tools

import (
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/tiktoken-go/tokenizer"
)

// What may be spent of a model's context before it has done anything: both
// tools as tools/list gives them, whole, with the instructions. It is counted
// with cl100k; other models' tokenizers differ from it by a quarter or so.
const (
	mostTokens       = 1200
	mostPromptTokens = 350
	// Trials are asked for, and so are the prompts about them.
	mostTrialTokens      = 250
	mostExperimentTokens = 650
)

// TestTokenCost keeps the tools and the instructions within their bound.
func TestTokenCost(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
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

	for name, test := range map[string]struct {
		options Options
		most    int
	}{
		// As serve starts over stdio.
		ModeFull:    {Options{History: 1, SharedFiles: true}, mostTokens},
		ModeCLIOnly: {Options{History: 1, Mode: ModeCLIOnly}, mostTokens},
		"sandbox":   {Options{History: 1, Walls: &Walls{Network: []string{"pypi.org", "*.pythonhosted.org"}}}, mostTokens},
		"install":   {Options{History: 1, Install: &InstallOptions{}}, mostTokens},
		"trials":    {Options{History: 1, Trials: true}, mostTokens + mostTrialTokens},
	} {
		c := connect(t, "tester", &fakeManager{}, test.options)
		listed, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		sum := count(test.options.Instructions())
		t.Logf("%s: instructions: %d tokens", name, sum)
		for _, tool := range listed.Tools {
			encoded, err := json.Marshal(tool)
			if err != nil {
				t.Fatal(err)
			}
			n := count(string(encoded))
			t.Logf("%s: %d tokens", tool.Name, n)
			sum += n
		}
		t.Logf("together: %d of %d", sum, test.most)
		if sum > test.most || sum < 300 {
			t.Errorf("%s: tools and instructions cost %d tokens, at most %d wanted", name, sum, test.most)
		}
	}
	for _, p := range prompts {
		most := mostPromptTokens
		if p.experiments {
			most = mostExperimentTokens
		}
		if n := count(p.text); n > most {
			t.Errorf("prompt %s costs %d tokens, at most %d wanted", p.name, n, most)
		} else {
			t.Logf("prompt %s: %d tokens", p.name, n)
		}
	}
}
