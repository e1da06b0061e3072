package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"understudy/sessions"
	"understudy/sessions/output"
)

// spoolOf makes an execution that printed a long text, which is in a file.
func spoolOf(t *testing.T, a *agent, text string) sessions.Entry {
	t.Helper()
	file := filepath.Join(t.TempDir(), "stdout")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	e := a.next("print(secret)", nil)
	e.Printed[sessions.Stdout] = sessions.Printed{Text: []byte{}, Path: file, Size: int64(len(text))}
	return a.done(e, sessions.Result{Stdout: text[:10] + output.Marker(int64(len(text)-20)) + text[len(text)-10:], StdoutTruncated: int64(len(text) - 20)})
}

func only(t *testing.T, file string) *Detail {
	t.Helper()
	all, err := open(t, file).Executions(t.Context(), Query{Detail: true})
	insist(t, err == nil && len(all) == 1 && all[0].Detail != nil, "%+v, %v", all, err)
	return all[0].Detail
}

// A long output is kept without secrets, or as it is.
func TestLongOutputIsKept(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	for what, text := range map[string]string{
		"a secret": strings.Repeat("line\n", pieceSize/4) + secret + "\n",
		"none":     strings.Repeat("line\n", pieceSize/4),
	} {
		file := newPath(t)
		j := begin(t, file, Options{})
		a := newAgent(t, j, "a", "c")
		a.secrets = []string{secret}
		if _, err := j.Record(t.Context(), spoolOf(t, a, text)); err != nil {
			t.Error(err)
		}
		end(t, j)
		d := only(t, file)
		got, err := os.ReadFile(d.Stdout.Path)
		want := strings.ReplaceAll(text, secret, masked)
		expect(t, err == nil && string(got) == want, "%s: %d bytes of %d, %v", what, len(got), len(want), err)
		parts, _ := filepath.Glob(filepath.Join(filesOf(file), "*", "*.part"))
		expect(t, len(parts) == 0, "%s: left %v", what, parts)
	}
}

// Earlier versions kept a long output after the answer: it is there, or lost with the server.
func TestOutputThatWasToBeKept(t *testing.T) {
	file := newPath(t)
	j := begin(t, file, Options{})
	newAgent(t, j, "a", "c").run("x", fine)
	name := filepath.Join(j.RunID(), "a-1-stdout.txt")
	_, err := j.conn.ExecContext(t.Context(), "UPDATE executions SET detail = json_set(detail, '$.Stdout', json(?))",
		`{"Text": "li…ne", "Path": "`+filepath.ToSlash(name)+`", "Size": 100, "Lost": 0, "Pending": true}`)
	must(t, err)
	o := only(t, file).Stdout
	expect(t, !o.Pending && o.Path == "" && o.Lost != 0, "without its file: %+v", o)
	must(t, os.WriteFile(filepath.Join(filesOf(file), name), []byte("line"), 0o600))
	if o := only(t, file).Stdout; o.Pending || o.Path == "" || o.Lost != 0 {
		t.Errorf("with it: %+v", o)
	}
}
