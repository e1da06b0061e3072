package journal

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"understudy/sessions"
	"understudy/sessions/output"
)

func TestMask(t *testing.T) {
	pem := "-----BEGIN KEY-----\nMIIEvQIBADANBg/+kqhkiG9w\nshort\n-----END KEY-----\n"
	for _, test := range []struct{ what, secret, text, want string }{
		{"plain", "sk-1234", "key=sk-1234;", "key=[session variable];"},
		{"too short", "abc", "abc", "abc"},
		{"four characters", "äöüß", "äöüß", masked},
		{"several", "sk-1234", "sk-1234sk-1234", masked + masked},
		{"white space around", " sk-1234\n", "(sk-1234)", "(" + masked + ")"},
		{"in JSON", "a\"b\\c/d<é", `{"k": "a\"b\\c/d<é"}`, `{"k": "` + masked + `"}`},
		{"in JSON of Go", "a\"b\\c/d<é", `a\"b\\c/d\u003cé`, masked},
		{"in JSON of Python", "a\"b\\c/d<é", `a\"b\\c/d<\u00e9`, masked},
		{"as repr", "it's\na \x01 tab\t", `'it\'s\na \x01 tab\t'`, `'` + masked + `'`},
		{"as repr with the other quote", "it's\na \x01", `"it's\na \x01"`, `"` + masked + `"`},
		{"as bytes", "clé secrète", `b'cl\xc3\xa9 secr\xc3\xa8te'`, `b'` + masked + `'`},
		{"several lines", pem, "x = '''" + pem + "'''", "x = '''" + masked + "'''"},
		{"several lines with other ends", pem, strings.ReplaceAll(pem, "\n", "\r\n"), masked},
		{"a line of them", pem, "    MIIEvQIBADANBg/+kqhkiG9w", "    " + masked},
		{"a short line of them", pem, "short", "short"},
	} {
		got := newMasker([]string{test.secret}).text(test.text)
		expect(t, got == test.want, "%s: got %q, want %q", test.what, got, test.want)
	}
	got := newMasker([]string{"secret", "secret-longer"}).text("secret-longer")
	expect(t, got == masked, "of two values the longer is masked first: %q", got)
	overlapping := newMasker([]string{"inner", "an-inner-one", "one-more", "more*than", "session"})
	for text, want := range map[string]string{
		"an-inner-one":                 masked, // a word in it, that would stand alone
		"(an-inner-one-more*than) one": "(" + masked + ") one",
		"an-inner-on session":          "an-" + masked + "-on " + masked,
		"an-inner-onean-inner-one":     masked + masked,
	} {
		var out bytes.Buffer
		must(t, overlapping.pass(&out, strings.NewReader(text), false))
		expect(t, out.String() == want && overlapping.text(text) == want, "%q: got %q and in a file %q", text, overlapping.text(text), &out)
	}
	m := newMasker([]string{"", "abc"})
	expect(t, m == nil && m.text("abc") == "abc", "there is nothing to mask")
}

func TestMaskJSON(t *testing.T) {
	m := newMasker([]string{"12345", "pass\"word"})
	for _, test := range []struct{ text, want string }{
		{`{"n":12345,"pass\"word":["x pass\"word"],"big":9007199254740993}`, `{"[session variable]":["x [session variable]"],"big":9007199254740993,"n":"[session variable]"}`},
		{`{"b":  1, "a": 2}`, `{"b":  1, "a": 2}`},
		{`"'pass\"word'"`, `"'[session variable]'"`},
		{``, ``},
	} {
		got, err := m.json(json.RawMessage(test.text), true)
		expect(t, err == nil && string(got) == test.want, "got %s, %v; want %s", got, err, test.want)
	}
}

// Values on the border of two pieces of a file are found and masked.
func TestMaskFiles(t *testing.T) {
	const secret = "sk-0123456789"
	m := newMasker([]string{secret})
	for _, at := range []int{0, pieceSize - 1, pieceSize - 5, pieceSize, 2*pieceSize + 7, 3*pieceSize - len(secret)} {
		text := strings.Repeat(".", at) + secret + strings.Repeat(".", 3*pieceSize-at-len(secret))
		got, want := passed(t, m, text, false), strings.Replace(text, secret, masked, 1)
		expect(t, got == want, "at %d: %d bytes; want %d", at, len(got), len(want))
	}
	for _, test := range []struct {
		text string
		cut  bool
		want string
	}{{"sk-012345678", false, "sk-012345678"}, {"x sk-012345678", true, "x " + masked}, {"x sk-", true, "x sk-"}} {
		got := passed(t, m, test.text, test.cut)
		expect(t, got == test.want, "%q: %q", test.text, got)
	}
}

// passed is what becomes of a file.
func passed(t *testing.T, m *masker, text string, cut bool) string {
	t.Helper()
	var out strings.Builder
	must(t, m.pass(&out, strings.NewReader(text), cut))
	return out.String()
}

// At the edge of a piece the longer of two values is masked, a word, and a short one.
func TestMaskFilesAtEdges(t *testing.T) {
	m := newMasker([]string{"token-1234", "token-1234-restofsecret", "swordfish", "a1b2", "two\nlines-1"})
	for _, secret := range []string{"token-1234-restofsecret", "token-1234", "swordfish", "a1b2", "two\nlines-1"} {
		for _, around := range []string{" ", "\n"} {
			for at := pieceSize - len(secret) - 10; at < pieceSize+10; at++ {
				text := strings.Repeat(".", at) + around + secret + around + strings.Repeat(".", 100)
				if got := passed(t, m, text, false); got != strings.Replace(text, secret, masked, 1) {
					t.Fatalf("%q at %d: %q", secret, at, got[at-10:])
				}
			}
		}
	}
	for at := pieceSize - 34; at < pieceSize+10; at++ { // in the middle of others it is no word
		text := strings.Repeat(".", at) + "my_swordfish swordfish_2" + strings.Repeat(".", 100)
		if got := passed(t, m, text, false); got != text {
			t.Fatalf("at %d: %q", at, got[at:])
		}
	}
}

// A long text without a line's end costs no more than its length.
func TestMaskFilesOfOneLine(t *testing.T) {
	m := newMasker([]string{"alpha-1\nbeta-2"})
	const size = 32 * pieceSize
	text := io.MultiReader(strings.NewReader("alpha-1\n"), io.LimitReader(dots{}, size))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	must(t, m.pass(io.Discard, text, false))
	runtime.ReadMemStats(&after)
	took := after.TotalAlloc - before.TotalAlloc
	expect(t, took <= 8*size, "%d bytes were allocated for %d", took, size)
}

type dots struct{}

func (dots) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = '.'
	}
	return len(into), nil
}

// A word is masked where it stands alone, and stays in the middle of others.
func TestMaskWords(t *testing.T) {
	m := newMasker([]string{"json", "Berlin", "hunter2x"})
	for text, want := range map[string]string{
		"json_data = json.loads(s)": "json_data = " + masked + ".loads(s)",
		`'a\njson'`:                 `'a\n` + masked + `'`,
		"Berliner in Berlin":        "Berliner in " + masked,
		"xhunter2x":                 "x" + masked, // no word
		"json":                      masked,
	} {
		got := m.text(text)
		expect(t, got == want, "%q: got %q, want %q", text, got, want)
	}
	if text := strings.Repeat("json_x\n", pieceSize/3); passed(t, m, text, false) != text {
		t.Error("a file of words is changed")
	}
}

// What a cut leaves of a value goes with it.
func TestMaskAtCuts(t *testing.T) {
	const secret = "SEKRETabcdefghijklmnop0123456789"
	m := newMasker([]string{secret})
	for text, want := range map[string]string{
		"x " + secret[:20] + "… [3000 characters left out]":                      "x " + masked + "… [3000 characters left out]",
		"x " + secret[:20] + output.Marker(9) + secret[25:] + " y":               "x " + masked + output.Marker(9) + masked + " y",
		"1 column: " + secret[:31] + "…":                                         "1 column: " + masked + "…",
		"SEKR… SEKRET no cut":                                                    masked + "… SEKRET no cut",
		secret[:9] + "\n[7 characters left out]\n" + secret[20:] + secret + " …": masked + "\n[7 characters left out]\n" + masked + masked + " …",
	} {
		got := m.text(text)
		expect(t, got == want, "%q: got %q, want %q", text, got, want)
	}
}

// Beside what the server left out of both streams there may be a part of a value.
func TestMaskPieces(t *testing.T) {
	const secret = "SEKRETabcdefghijklmnop0123456789"
	m := newMasker([]string{secret})
	for _, test := range []struct{ pieces, want []string }{
		{[]string{"a " + secret, "err", secret + " b", "took 1 s"}, []string{"a " + masked, "err", masked + " b", "took 1 s"}},
		{[]string{"a" + secret[:9], output.Marker(3), secret[9:], "e"}, []string{"a" + masked, output.Marker(3), masked, "e"}},
		{[]string{"y " + secret[:9], "e", output.Marker(3), "e", secret[20:] + "x"}, []string{"y " + masked, "e", output.Marker(3), "e", masked + "x"}},
		{[]string{secret[:9], "plain"}, []string{secret[:9], "plain"}},
		{nil, []string{}},
	} {
		got := m.pieces(test.pieces)
		expect(t, slices.Equal(got, test.want), "%q: got %q, want %q", test.pieces, got, test.want)
	}
}

// Fields of a fixed set of values stay.
func TestMaskLeavesStatus(t *testing.T) {
	m := newMasker([]string{"error", "repr", "image/png", "ValueError", "plot", "notes", "exc_type", "figures"})
	got, err := m.result(&sessions.Result{
		Status: sessions.StatusError, ResultEncoding: "repr", ExcType: "ValueError", Traceback: "ValueError: plot", Notes: []string{"a note"},
		Figures: []sessions.Figure{{MIMEType: "image/png", Title: "plot"}},
	})
	if err != nil || got.Status != sessions.StatusError || got.ResultEncoding != "repr" || got.ExcType != "ValueError" ||
		got.Figures[0].MIMEType != "image/png" || got.Figures[0].Title != masked || got.Traceback != masked+": "+masked || len(got.Notes) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// What is stored of a trial is masked before it is cut, and so is what names it.
func TestTrialsHaveNoSecrets(t *testing.T) {
	const secret = "SEKRETabcdefghijklmnop0123456789"
	j := begin(t, newPath(t), Options{})
	a := newAgent(t, j, "a", "c")
	a.secrets = []string{secret}
	must(t, j.SaveSession(t.Context(), sessions.SessionState{InterpreterID: "a", Workdir: "/wd-" + secret, Secrets: a.secrets}))
	e := a.begin("raise", &sessions.Trial{MetricVarName: secret})
	traceback := "ValueError: " + strings.Repeat("z", 270) + secret
	_, err := j.Record(t.Context(), a.done(e, sessions.Result{Status: sessions.StatusError, ExcType: "ValueError", Traceback: traceback}))
	must(t, err)
	end(t, j)
	if text, err := os.ReadFile(j.Path()); err != nil || bytes.Contains(text, []byte("SEKRET")) {
		t.Errorf("a part of it is there, %v", err)
	}
}

// No byte below the journal's directory holds a value, whatever it came in by.
func TestSecretsAreNowhere(t *testing.T) {
	const secret = "s3cr3t \"value\" of\nthe <user>"
	j := begin(t, newPath(t), Options{})
	a := newAgent(t, j, "a", "c")
	a.secrets = []string{secret}
	scratch := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(scratch, name)
		must(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	long := strings.Repeat("line\n", 50_000) + secret
	quoted, err := json.Marshal(secret)
	must(t, err)
	e := a.next("x = "+string(quoted)+secret, &sessions.Trial{Plan: secret, MetricVarName: "x"})
	e.Arguments = json.RawMessage(`{"k": ` + string(quoted) + `}`)
	must(t, j.Begin(t.Context(), e))
	e.Printed[0] = sessions.Printed{Text: []byte{}, Path: write("stdout", long), Size: int64(len(long))}
	e = a.done(e, sessions.Result{
		Status: sessions.StatusError, ExcType: "E", Stdout: long, Stderr: secret, TermOut: []string{long, secret}, Result: quoted,
		Notes: []string{secret}, Traceback: "E: " + secret, ExcInfo: &sessions.ExceptionInfo{Args: []json.RawMessage{quoted}, Msg: secret},
		ExcStack:  []sessions.StackFrame{{Text: secret}},
		Variables: &sessions.VariableDiff{Added: []string{secret}, More: map[string]int{secret: 1}},
		Artifacts: []sessions.Artifact{{Name: secret, Kind: "txt", MIMEType: "text/plain", Path: write("a.txt", "cell "+secret), Preview: secret}},
		Figures:   []sessions.Figure{{Path: write("f.png", "png"), Title: secret}},
	})
	if _, err := j.Record(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	must(t, j.SaveHeartbeats(t.Context(), []sessions.Heartbeat{{InterpreterID: "a", Code: secret, Tail: secret, Secrets: a.secrets}}))
	expect(t, e.Result.Notes[0] == secret, "the client's answer was changed")
	files := 0
	err = filepath.WalkDir(filepath.Dir(j.Path()), func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(name)
		for _, form := range []string{"s3cr3t", "the <user>", `the \u003cuser`} {
			expect(t, !bytes.Contains(text, []byte(form)), "%s holds %q", name, form)
		}
		return err
	})
	expect(t, err == nil && files >= 6, "%d files, %v", files, err)
	all, err := open(t, j.Path()).Executions(t.Context(), Query{Detail: true})
	insist(t, err == nil && len(all) == 1 && len(all[0].Detail.Artifacts) == 1, "%+v, %v", all, err)
	if text, err := os.ReadFile(all[0].Detail.Artifacts[0].File); err != nil || string(text) != "cell "+masked {
		t.Errorf("artifact: %q, %v", text, err)
	}
}

func FuzzMask(f *testing.F) {
	for _, secret := range []string{"sk-1234", "it's \"\\", "ключ\n\t", "a\u2028b<>&", "\x7f\x00\u0085ab", "🔑🔑🔑🔑", "aaaa"} {
		f.Add(secret, "before ", " after")
	}
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		// What stands for a value must not be made of it.
		if !utf8.ValidString(secret) || strings.ContainsAny(secret, "[]") || strings.Contains(masked, strings.TrimSpace(secret)) {
			return
		}
		m := newMasker([]string{secret})
		if m == nil {
			return
		}
		inJSON, err := json.Marshal(secret)
		must(t, err)
		inner := string(inJSON[1 : len(inJSON)-1])
		for _, way := range []string{secret, inner, asciiJSON(secret), repr(secret, '\'', unicode.IsPrint), repr(secret, '"', isPlainASCII)} {
			if clean := m.text(before + way + after); slices.ContainsFunc(m.whole, func(form string) bool {
				return strings.Contains(clean, form) && !strings.Contains(masked, form) && !strings.ContainsAny(form, "[]")
			}) {
				t.Errorf("%q is left of %q in %q", secret, way, clean)
			}
		}
		document, err := json.Marshal(map[string]any{"k" + before: []any{before + secret + after, repr(secret, '\'', unicode.IsPrint)}})
		must(t, err)
		clean, err := m.json(document, true)
		insist(t, err == nil, "%s: %v", document, err)
		var value map[string][]string
		if err := json.Unmarshal(clean, &value); err != nil {
			t.Fatalf("%s: %v", clean, err)
		}
		for _, texts := range value {
			for _, text := range texts {
				expect(t, isWord(secret) || !strings.Contains(text, secret), "%q is left in %q", secret, text)
			}
		}
	})
}

// Python itself says how it writes a value.
func TestMaskAgainstPython(t *testing.T) {
	python := os.Getenv("UNDERSTUDY_TEST_PYTHON")
	if python == "" {
		t.Skip("UNDERSTUDY_TEST_PYTHON is not set")
	}
	const script = `import json, sys
for s in json.load(sys.stdin):
    forms = [s, repr(s), ascii(s), repr([s]), repr({"k": s}), repr(s.encode()), json.dumps(s), json.dumps([s], ensure_ascii=False)]
    print(json.dumps(forms))`
	secrets := []string{"sk-1234", "it's", `say "it's"`, "back\\slash", "tab\tnew\nline\r", "bell\x07\x00\x7f\u0085", "ключ🔑", "a\u2028b\u00a0c", "zero\u200bwidth", "<&>/"}
	in, err := json.Marshal(secrets)
	must(t, err)
	cmd := exec.Command(python, "-c", script)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	must(t, err)
	decoder := json.NewDecoder(bytes.NewReader(out))
	for _, secret := range secrets {
		m := newMasker([]string{secret})
		var forms []string
		must(t, decoder.Decode(&forms))
		for _, form := range forms {
			expect(t, strings.Contains(m.text(form), masked), "%q is not masked in %s", secret, form)
		}
	}
}
