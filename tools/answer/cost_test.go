package answer

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"
)

// TestTokensAreGuessed: near enough to count what output costs.
func TestTokensAreGuessed(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	must(t, err)
	var numbers, table strings.Builder
	for i := range 200 {
		fmt.Fprintf(&numbers, "line %d %v\n", i, math.Sqrt(float64(i)))
		fmt.Fprintf(&table, "%4d  %10.6f  %10.6f  %8d\n", i, math.Sin(float64(i)), math.Cos(float64(i)), i*i*i)
	}
	for name, text := range map[string]string{
		"numbers": numbers.String(), "table": table.String(), "lines": numbered(300),
		"words":     strings.Repeat("The quick brown fox jumps over the lazy dog, and nobody understands why.\n", 20),
		"traceback": strings.Repeat(valueError, 10), "list": fmt.Sprint(make([]int, 500)),
		"Python": strings.Repeat("def area(self, width=3):\n    return self.height * width  # of a rectangle\n", 20),
	} {
		known, err := codec.Count(text)
		must(t, err)
		guess := tokensOf(text)
		t.Logf("%s: %d characters, %d tokens, guessed %d", name, len(text), known, guess)
		expect(t, guess >= known*2/3 && guess <= known*3/2, "%s: %d tokens, guessed %d", name, known, guess)
	}
}

// TestNumbersCostMore: a flood of them is cut to what words would cost.
func TestNumbersCostMore(t *testing.T) {
	for text, want := range map[string]int{
		strings.Repeat("0.12, ", 5000):     8000 / 3,
		strings.Repeat("understands ", 99): 8000,
		numbered(3000):                     4200,
		"short 1 2 3":                      8000,
	} {
		got := affordable(text, 8000)
		expect(t, got >= want*9/10 && got <= want*11/10, "%.20q: %d characters, want some %d", text, got, want)
	}
}
