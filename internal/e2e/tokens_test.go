package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tiktoken-go/tokenizer"
)

// TestTokensOfJobs counts what a model reads in the course of whole jobs.
func TestTokensOfJobs(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(python(t), "-c", "import pandas, sklearn, tqdm, matplotlib").Run(); err != nil {
		t.Skip("a library of the jobs is not installed: ", err)
	}
	archive, err := txtar.ParseFile("testdata/tokens.txtar")
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[string][]string{}
	for _, file := range archive.Files {
		job, _, _ := strings.Cut(file.Name, "/")
		jobs[job] = append(jobs[job], string(file.Data))
	}
	for job, cells := range jobs {
		var name string
		var most int
		if _, err := fmt.Sscanf(job, "%s %d", &name, &most); err != nil {
			t.Fatal(job, err)
		}
		t.Run(name, func(t *testing.T) {
			c, _ := serve(t)
			sum := 0
			for _, cell := range cells {
				got, err := call(t.Context(), c, "run_python_code", map[string]any{"code": cell})
				if err != nil || got.refuse {
					t.Fatal(got.text, err)
				}
				n, err := codec.Count(got.text)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d tokens, %d images\n%s", n, got.images, got.text)
				sum += n
			}
			if t.Logf("%d of %d tokens in %d calls", sum, most, len(cells)); sum > most {
				t.Errorf("%d tokens to read, at most %d wanted", sum, most)
			}
		})
	}
}
