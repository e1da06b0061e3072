package e2e

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tiktoken-go/tokenizer"
)

// TestTokens does jobs as a model does them, and counts what it reads for them. A job is
// an archive of calls; most is how many tokens they may cost together, and prepare is run
// before, at nobody's cost.
func TestTokens(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	must(t, err)
	jobs, err := filepath.Glob("testdata/tokens/*.txtar")
	insist(t, err == nil && len(jobs) != 0, "no jobs: %v", err)
	for _, path := range jobs {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			job, err := txtar.ParseFile(path)
			must(t, err)
			c := serve(t)
			most, sum := 0, 0
			for _, part := range job.Files {
				if part.Name == "most" {
					if most, err = strconv.Atoi(strings.TrimSpace(string(part.Data))); err != nil {
						t.Fatal(err)
					}
					continue
				}
				a, err := call(c, "run_python_code", "code", string(part.Data))
				must(t, err)
				n, err := codec.Count(a.text)
				must(t, err)
				t.Logf("call %s: %d tokens, %d pictures\n%s", part.Name, n, a.images, a.text)
				if part.Name != "prepare" {
					sum += n
				}
			}
			t.Logf("together: %d of %d", sum, most)
			expect(t, sum <= most, "the answers have %d tokens, at most %d wanted", sum, most)
		})
	}
}
