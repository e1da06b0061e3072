package main

import (
	"os/exec"
	"strings"
	"testing"

	"understudy/tools/answer"
)

// TestFloodsFitALine: clients hang up at a longer line, so none comes whatever
// is printed, and whatever the operator asked for.
func TestFloodsFitALine(t *testing.T) {
	w := startWire(t, t.TempDir(), func(cmd *exec.Cmd) {
		cmd.Args = append(cmd.Args, "--text-budget", "1000000000", "--image-budget", "1TB",
			"--output-limit", "100MB", "--figures", "inline", "--structured-content", "always", "--wait", "9m")
	})
	w.initialize()
	// The whole line counts where a client hangs up.
	if size := len(w.py(`print("\x01" * 1_800_000)`)); size > answer.MessageLimit-1000 || size < 1_000_000 {
		t.Errorf("an answer of %d bytes", size)
	}
	if text := w.py("print('still', 'here')"); !strings.Contains(text, "still here") {
		t.Errorf("%s", text)
	}
}

// TestClientsGetWhatSuitsThem: the name that a client gives itself decides.
func TestClientsGetWhatSuitsThem(t *testing.T) {
	for client, most := range map[string]int{"Visual Studio Code": 8_000, "somebody": 8_000} {
		w := newWire(t)
		w.initializeAs(client)
		answer := w.request("tools/call", map[string]any{"name": "run_python_code", "arguments": map[string]any{"code": "print('words of a sentence ' * 5_000)"}})
		result, _ := answer["result"].(map[string]any)
		content, _ := result["content"].([]any)
		if len(content) == 0 { // links may follow the text
			t.Fatalf("%s: %d contents: %.500v", client, len(content), answer)
		}
		text, _ := content[0].(map[string]any)["text"].(string)
		if len(text) > most || len(text) < most*8/10 || !strings.Contains(text, "[whole output] ") {
			t.Errorf("%s: %d characters, ending %q", client, len(text), text[max(0, len(text)-300):])
		}
		if _, got := result["structuredContent"]; got != (client == "somebody") {
			t.Errorf("%s: structuredContent present: %v", client, got)
		}
	}
}
