package report

import "testing"

func TestOutputIsReadAsATerminalShowsIt(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\n":                     "plain\ttext\n",
		"\x1b[1;31mred\x1b[0m":              "red",
		"\x1b]0;title\x07a\x1b]8;;u\x1b\\b": "ab",
		"10%\r50%\r100%\nnext\r\n":          "100%\nnext\n",
		"50%\r":                             "50%",
		"a\x00b\x7f":                        "ab",
		"\xff":                              "\ufffd",
	} {
		got := readable(text)
		expect(t, got == want, "%q is read as %q, want %q", text, got, want)
	}
}

func TestShortenKeepsBothEndsAndWholeCharacters(t *testing.T) {
	got := shorten("abc", 3)
	expect(t, got == "abc", "got %q", got)
	if got, want := shorten("ééééé", 5), "é\n… 3 characters left out …\né"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
