//go:build unix

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// form is a list of a profile's language: words, strings in quotes and lists.
type form []any

// parseProfile reads a profile as its interpreter does.
func parseProfile(t *testing.T, text string) (forms []form) {
	t.Helper()
	stack := []form{nil}
	for i := 0; i < len(text); {
		last := len(stack) - 1
		switch c := text[i]; {
		case c == '(':
			stack = append(stack, nil)
			i++
		case c == ')':
			if last == 0 {
				t.Fatalf("one parenthesis too many at %q", text[i:])
			}
			stack[last-1] = append(stack[last-1], stack[last])
			stack = stack[:last]
			i++
		case c == '"' || strings.HasPrefix(text[i:], `#"`):
			quoted, size := scanString(t, text[i:], c == '#')
			stack[last] = append(stack[last], quoted)
			i += size
		case strings.ContainsRune(" \n", rune(c)):
			i++
		default:
			size := strings.IndexAny(text[i:], " \n()\"")
			stack[last] = append(stack[last], text[i:i+size])
			i += size
		}
	}
	insist(t, len(stack) == 1, "a parenthesis is missing")
	for _, each := range stack[0] {
		forms = append(forms, each.(form))
	}
	return forms
}

// text is a string of a profile.
type text string

func scanString(t *testing.T, source string, raw bool) (text, int) {
	t.Helper()
	var said strings.Builder
	begin := strings.IndexByte(source, '"') + 1
	for i := begin; i < len(source); i++ {
		switch c := source[i]; {
		case c == '"':
			return text(said.String()), i + 1
		case c == '\\' && !raw && source[i+1] == 'x':
			var code byte
			_, err := fmt.Sscanf(source[i+2:i+4], "%02x", &code)
			insist(t, err == nil, "%v", err)
			said.WriteByte(code)
			i += 3
		case c == '\\' && !raw:
			i++
			said.WriteByte(source[i])
		default:
			said.WriteByte(c)
		}
	}
	t.Fatalf("a string has no end: %q", source)
	return "", 0
}

// allows reports whether a rule allows the operation where the filter holds.
func allows(forms []form, operation string, filter form) bool {
	return slices.ContainsFunc(forms, func(rule form) bool {
		return rule[0] == "allow" && slices.Contains(rule, any(operation)) &&
			slices.ContainsFunc(rule, func(part any) bool { return cmp.Equal(part, any(filter)) })
	})
}

func TestSeatbelt(t *testing.T) {
	t.Parallel()
	forms := parseProfile(t, Seatbelt(Settings{
		Mode: Standard, Read: []string{"/data"}, Write: []string{"/results"}, Python: []string{"/py"},
	}, "/s/home", "/s/work"))
	if want := []form{{"version", "1"}, {"deny", "default"}}; !cmp.Equal(forms[:2], want) {
		t.Errorf("got %v at first", forms[:2])
	}
	for _, rule := range forms[2:] {
		expect(t, rule[0] == "allow", "got %v", rule)
	}
	within := func(path string) form { return form{"subpath", text(path)} }
	for _, path := range []string{"/data", "/py", "/usr/lib", "/System/Library", "/opt", "/s/home", "/s/work", "/results"} {
		expect(t, allows(forms, "file-read*", within(path)), "%s can't be read", path)
	}
	for path, want := range map[string]bool{"/s/home": true, "/s/work": true, "/results": true, "/data": false, "/py": false, "/usr/lib": false, "/s": false} {
		got := allows(forms, "file-write*", within(path))
		expect(t, got == want, "writing in %s: got %v", path, got)
	}
	expect(t, allows(forms, "file-read-metadata", form{"literal", text("/s")}) && !allows(forms, "file-read*", form{"literal", text("/s")}), "of a directory above, a session is to know that it is there and no more")
	expect(t, allows(forms, "signal", form{"target", "same-sandbox"}), "a session can't end its children")
	for _, rule := range forms {
		expect(t, !slices.Contains(rule, any("network*")) && !cmp.Equal(rule, form{"allow", "network-outbound"}), "there is a network: %v", rule)
	}
}

func TestSeatbeltStrict(t *testing.T) {
	t.Parallel()
	forms := parseProfile(t, Seatbelt(Settings{Mode: Strict}, "/h", "/w"))
	for path, want := range map[string]bool{"/usr/lib": true, "/opt": false, "/usr/local": false, "/private/etc": false} {
		got := allows(forms, "file-read*", form{"subpath", text(path)})
		expect(t, got == want, "reading %s: got %v", path, got)
	}
}

func TestSeatbeltNetwork(t *testing.T) {
	t.Parallel()
	all := parseProfile(t, Seatbelt(Settings{Network: Network{All: true}}, "/h", "/w"))
	expect(t, slices.ContainsFunc(all, func(rule form) bool { return cmp.Equal(rule, form{"allow", "network*"}) }), "there is no network")
	some := parseProfile(t, Seatbelt(Settings{Network: Network{Hosts: []string{"pypi.org"}}}, "/h", "/w"))
	proxy := form{"remote", "ip", text(fmt.Sprintf("localhost:%d", proxyPort))}
	expect(t, allows(some, "network-outbound", proxy), "the proxy can't be reached")
}

func TestSeatbeltQuotes(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		`/x")(allow default)("`, `/back\slash`, `/back\`, "/new\nline", "/ümläut 文", `/a"b`, "/#\"x", "/; comment", "/tab\t\x7f", "/$(x)",
	} {
		forms := parseProfile(t, Seatbelt(Settings{}, path, "/w"))
		expect(t, allows(forms, "file-write*", form{"subpath", text(path)}), "%q is not the path that may be written", path)
		plain := parseProfile(t, Seatbelt(Settings{}, "/plain", "/w"))
		expect(t, len(plain) == len(forms), "%q makes %d rules of %d", path, len(forms), len(plain))
	}
}

// TestSeatbeltLinks makes sure that rules name what the operator's links lead to, as
// macOS looks at that (its /tmp and /var are links), and that links which code has put
// in the place of its directories open nothing.
func TestSeatbeltLinks(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	home, link, outside := filepath.Join(dir, "target", "home"), filepath.Join(dir, "link"), filepath.Join(dir, "outside")
	for _, made := range []error{
		os.MkdirAll(home, 0o700), os.Mkdir(outside, 0o700), os.Symlink(filepath.Join(dir, "target"), link), os.Symlink(outside, filepath.Join(home, "work")),
	} {
		if made != nil {
			t.Skip(made)
		}
	}
	w, err := New(Settings{Mode: Standard, Write: []string{link}}, Host{User: 1000})
	must(t, err)
	gotHome, workdir := w.locate(filepath.Join(link, "home"), filepath.Join(link, "home", "work"))
	forms := parseProfile(t, Seatbelt(w.settings, gotHome, workdir))
	for _, path := range []string{home, filepath.Join(home, "work"), filepath.Dir(home)} {
		expect(t, allows(forms, "file-write*", form{"subpath", text(path)}), "%s can't be written to: %v", path, forms)
	}
	for _, path := range []string{outside, ""} {
		expect(t, !allows(forms, "file-write*", form{"subpath", text(path)}), "%q is open: %v", path, forms)
	}
}

func TestWrapCommand(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("/py/bin/python", "-u", "-m", "pyworker")
	cmd.Env = []string{"HOME=/Users/me"}
	wrapCommand(cmd, Settings{}, "/h", "/w")
	want := []string{"/usr/bin/sandbox-exec", "-p", Seatbelt(Settings{}, "/h", "/w"), "--", "/py/bin/python", "-u", "-m", "pyworker"}
	if diff := cmp.Diff(want, cmd.Args); diff != "" || cmd.Path != want[0] {
		t.Errorf("got %q: %s", cmd.Path, diff)
	}
	if diff := cmp.Diff([]string{"HOME=/h/tmp", "TMPDIR=/h/tmp"}, slices.Sorted(slices.Values(cmd.Environ()[len(cmd.Environ())-2:]))); diff != "" {
		t.Error(diff)
	}
	var none *Wall
	none.WrapCommand(cmd, "/h", "/w")
	expect(t, len(cmd.Args) == len(want), "no wall confines")
}
