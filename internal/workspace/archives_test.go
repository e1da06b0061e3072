package workspace

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/internal/check"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

var someTime = time.Date(2024, 5, 6, 7, 8, 10, 0, time.UTC)

// entry is one of an archive that a test makes.
type entry struct {
	name string
	text string // or the target of a link
	mode fs.FileMode
	kind byte // of tar; 0 for a file, or what mode says
}

func file(name, text string) entry      { return entry{name: name, text: text, mode: 0o644} }
func folder(name string) entry          { return entry{name: name, mode: fs.ModeDir | 0o755} }
func symlink(name, to string) entry     { return entry{name: name, text: to, mode: fs.ModeSymlink | 0o777} }
func hardlink(name, to string) entry    { return entry{name: name, text: to, kind: tar.TypeLink} }
func special(name string, k byte) entry { return entry{name: name, kind: k, mode: 0o644} }

// zipped makes a zip file.
func zipped(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: someTime}
		header.SetMode(e.mode)
		body, err := w.CreateHeader(header)
		if err == nil {
			_, err = io.WriteString(body, e.text)
		}
		insist(t, err == nil || e.text == "", "%v", err)
	}
	must(t, w.Close())
	return out.Bytes()
}

// tarred makes a tar file.
func tarred(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: int64(e.mode.Perm()), ModTime: someTime, Typeflag: e.kind}
		switch {
		case e.mode&fs.ModeSymlink != 0:
			header.Typeflag, header.Linkname = tar.TypeSymlink, e.text
		case e.mode&fs.ModeDir != 0:
			header.Typeflag = tar.TypeDir
		case e.kind == tar.TypeLink:
			header.Linkname = e.text
		case e.kind == 0:
			header.Typeflag, header.Size = tar.TypeReg, int64(len(e.text))
		}
		if e.mode&fs.ModeSetuid != 0 {
			header.Mode |= 0o4000
		}
		must(t, w.WriteHeader(header))
		if header.Size > 0 {
			_, err := io.WriteString(w, e.text)
			must(t, err)
		}
	}
	must(t, w.Close())
	return out.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(data)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// files writes files below a new directory, by their names.
func files(t testing.TB, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// smallLimits are those that tests meet with small archives.
var smallLimits = Limits{Unpacked: 4 << 20, Entries: 100, Ratio: 50, RatioFrom: 100_000, Depth: 3}

// prepare prepares a new workspace of the sources with small limits.
func prepare(t testing.TB, sources ...string) (*Plan, Summary, error) {
	t.Helper()
	p, err := NewPlan(sources, Options{Dir: filepath.Join(t.TempDir(), "w"), Limits: smallLimits})
	if err != nil {
		return nil, Summary{}, err
	}
	made, err := p.Prepare(t.Context())
	return p, made, err
}

// prepareArchive prepares a workspace of one archive.
func prepareArchive(t testing.TB, name string, data []byte) (source string, p *Plan, made Summary, err error) {
	t.Helper()
	source = filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(source, data, 0o644))
	p, made, err = prepare(t, source)
	return source, p, made, err
}

// holds expects what is in input/.
func holds(t testing.TB, p *Plan, want ...string) {
	t.Helper()
	got := tree(t, p.Input())
	expect(t, slices.Equal(got, want), "input/ holds %q, want %q", got, want)
}

// leavesNothing expects a workspace as a preparation leaves it that failed.
func leavesNothing(t testing.TB, p *Plan) {
	t.Helper()
	left := tree(t, p.Dir())
	expect(t, slices.Equal(left, emptyWorkspace), "left behind: %v", left)
}

// tree lists what is below dir: files as name=text, links as name->target,
// directories as name/.
func tree(t testing.TB, dir string) []string {
	t.Helper()
	list := []string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		local, _ := filepath.Rel(dir, path)
		local = filepath.ToSlash(local)
		switch {
		case entry.IsDir():
			list = append(list, local+"/")
		case entry.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			list = append(list, local+"->"+target)
			return err
		default:
			text, err := os.ReadFile(path)
			list = append(list, local+"="+clip(string(text)))
			return err
		}
		return nil
	})
	must(t, err)
	return list
}

// TestArchives unpacks what people have and what attackers make. Wanted is what
// is in input/, or what the error says.
func TestArchives(t *testing.T) {
	zeros := strings.Repeat("\x00", 3<<20)
	long := strings.Repeat("n", 300)
	inner := func(levels int) string { // an archive that many deep
		data := zipped(t, file("deep.txt", "x"))
		for range levels - 1 {
			data = zipped(t, file("n.zip", string(data)))
		}
		return string(data)
	}
	for _, test := range []struct {
		name    string
		archive string // its file name
		data    []byte
		want    []string
		note    string
		err     string
	}{
		{name: "plain zip", archive: "a.zip", data: zipped(t, file("x.csv", "1"), folder("d/"), file("d/y.csv", "2")), want: []string{"a/", "a/d/", "a/d/y.csv=2", "a/x.csv=1"}},
		{name: "plain tar", archive: "a.tar", data: tarred(t, folder("./"), file("./x.csv", "1")), want: []string{"a/", "a/x.csv=1"}},
		{name: "tar.gz", archive: "a.tar.gz", data: gzipped(t, tarred(t, file("x.csv", "1"))), want: []string{"a/", "a/x.csv=1"}},
		{name: "upper case", archive: "A.TGZ", data: gzipped(t, tarred(t, file("x.csv", "1"))), want: []string{"A/", "A/x.csv=1"}},
		{name: "directory of its name", archive: "a.zip", data: zipped(t, file("a/x", "1"), file("a/a/y", "2")), want: []string{"a/", "a/a/", "a/a/y=2", "a/x=1"}},
		{name: "file of its name", archive: "train.csv.zip", data: zipped(t, file("train.csv", "1")), want: []string{"train.csv=1"}},
		{name: "litter", archive: "a.zip", data: zipped(t, file("x", "1"), file("__MACOSX/._x", "?"), file("d/.DS_Store", "?")), want: []string{"a/", "a/x=1"}},
		{name: "empty directory", archive: "a.zip", data: zipped(t, folder("d/")), want: []string{"a/", "a/d/"}},
		{name: "backslashes", archive: "a.zip", data: zipped(t, file(`d\x`, "1")), want: []string{"a/", "a/d/", "a/d/x=1"}},
		{name: "twice packed", archive: "a.zip.zip", data: zipped(t, file("a.zip", string(zipped(t, file("x", "1"))))), want: []string{"a/", "a/x=1"}},
		{name: "code page 437", archive: "a.zip", data: zipped(t, file("caf\x82", "1")), want: []string{"a/", "a/café=1"}},
		{name: "nested", archive: "a.zip", data: zipped(t, file("d/b.zip", string(zipped(t, file("c.tar", string(tarred(t, file("x", "1")))))))), want: []string{"a/", "a/d/", "a/d/b/", "a/d/b/c/", "a/d/b/c/x=1"}},
		{name: "nested in one of its name", archive: "a.zip", data: zipped(t, file("a/b.zip", string(zipped(t, file("x", "1"))))), want: []string{"a/", "a/b/", "a/b/x=1"}},
		{name: "nested 4 deep", archive: "n.zip", data: []byte(inner(4)), note: "4 archives deep"},
		{name: "nested and broken", archive: "a.zip", data: zipped(t, file("b.zip", "no zip")), want: []string{"a/", "a/b.zip=no zip"}, note: "it is no zip file"},
		{name: "nested beside its contents", archive: "a.zip", data: zipped(t, file("b.zip", "zip"), file("b/x", "1")), want: []string{"a/", "a/b/", "a/b/x=1", "a/b.zip=zip"}, note: "there is a b already"},
		{name: "spreadsheets stay", archive: "a.zip", data: zipped(t, file("b.xlsx", string(zipped(t, file("x", "1"))))), note: ""},
		{name: "link inside", archive: "a.tar", data: tarred(t, symlink("l", "d/x"), file("d/x", "1"), symlink("d/up", "../d")), want: []string{"a/", "a/d/", "a/d/up->../d", "a/d/x=1", "a/l->d/x"}},
		{name: "zip link inside", archive: "a.zip", data: zipped(t, file("a/x", "1"), symlink("a/l", "x")), want: []string{"a/", "a/l->x", "a/x=1"}},
		{name: "zip link to nothing", archive: "a.zip", data: zipped(t, file("x", "1"), symlink("l", "")), want: []string{"a/", "a/x=1"}, note: "can't be made"},
		{name: "hard link", archive: "a.tar", data: tarred(t, file("x", "1"), hardlink("d/y", "x")), want: []string{"a/", "a/d/", "a/d/y=1", "a/x=1"}},

		{name: "traversal", archive: "a.zip", data: zipped(t, file("../x", "1")), err: `entry "../x": its name leads out`},
		{name: "traversal within", archive: "a.tar", data: tarred(t, file("d/../../x", "1")), err: "its name leads out"},
		{name: "traversal by backslashes", archive: "a.zip", data: zipped(t, file(`..\..\x`, "1")), err: "its name leads out"},
		{name: "absolute", archive: "a.tar", data: tarred(t, file("/etc/x", "1")), err: "begins at the root"},
		{name: "drive", archive: "a.zip", data: zipped(t, file(`C:\x`, "1")), err: "begins at the root"},
		{name: "NUL", archive: "a.zip", data: zipped(t, file("x\x00y", "1")), err: "NUL"},
		{name: "no name", archive: "a.zip", data: zipped(t, file("", "1")), err: "no name"},
		{name: "long name", archive: "a.zip", data: zipped(t, file(long, "1")), err: "file name too long"},
		{name: "very long path", archive: "a.zip", data: zipped(t, file(strings.Repeat("d/", 2100)+"x", "1")), err: "longer than 4096"},
		{name: "duplicate", archive: "a.zip", data: zipped(t, file("x", "1"), file("x", "2")), err: `"x": the archive has two entries`},
		{name: "file and directory", archive: "a.tar", data: tarred(t, file("x", "1"), file("x/y", "2")), err: "is something else in the archive"},
		{name: "directory and file", archive: "a.tar", data: tarred(t, file("x/y", "2"), file("x", "1")), err: "two entries"},
		{name: "link out", archive: "a.tar", data: tarred(t, file("x", "1"), symlink("l", "../../../etc/passwd")), want: []string{"a/", "a/x=1"}, note: "not in the archive"},
		{name: "link to the root", archive: "a.tar", data: tarred(t, file("x", "1"), symlink("l", "/etc")), want: []string{"a/", "a/x=1"}, note: "not in the archive"},
		{name: "link to input", archive: "a.zip", data: zipped(t, file("a/x", "1"), symlink("a/l", "..")), want: []string{"a/", "a/x=1"}, note: "not in the archive"},
		{name: "links that lead out together", archive: "a.tar", data: tarred(t, folder("d/e/"), symlink("d/e/up", "../.."), symlink("out", "d/e/up/..")), want: []string{"a/", "a/d/", "a/d/e/", "a/d/e/up->../.."}, note: "not in the archive"},
		{name: "link loop", archive: "a.tar", data: tarred(t, file("x", "1"), symlink("l", "m"), symlink("m", "l")), want: []string{"a/", "a/x=1"}, note: "not in the archive"},
		{name: "written through a link", archive: "a.tar", data: tarred(t, symlink("l", "/tmp"), file("l/x", "1")), err: "is something else in the archive"},
		{name: "link through a link", archive: "a.tar", data: tarred(t, folder("d/"), symlink("l", "d"), symlink("l/m", "/etc")), want: []string{"a/", "a/d/", "a/l->d"}, note: "not in the archive"},
		{name: "hard link out", archive: "a.tar", data: tarred(t, file("x", "1"), hardlink("l", "../../x")), want: []string{"a/", "a/x=1"}, note: "not in the archive"},
		{name: "hard link to nothing", archive: "a.tar", data: tarred(t, file("x", "1"), hardlink("l", "y")), want: []string{"a/", "a/x=1"}, note: "not in the archive"},
		{name: "hard link to a link", archive: "a.tar", data: tarred(t, file("x", "1"), symlink("s", "/etc/passwd"), hardlink("l", "s")), want: []string{"a/", "a/x=1"}, note: "not in the archive"},
		{name: "devices", archive: "a.tar", data: tarred(t, file("x", "1"), special("c", tar.TypeChar), special("b", tar.TypeBlock), special("p", tar.TypeFifo)), want: []string{"a/", "a/x=1"}, note: "a pipe"},
		{name: "zip pipe", archive: "a.zip", data: zipped(t, file("x", "1"), entry{name: "p", mode: fs.ModeNamedPipe | 0o644}), want: []string{"a/", "a/x=1"}, note: "a pipe"},
		{name: "too many entries", archive: "a.zip", data: zipped(t, slices.Repeat([]entry{folder("d/")}, 101)...), err: "more than 100 entries"},
		{name: "too many entries of a tar", archive: "a.tar", data: tarred(t, slices.Repeat([]entry{folder("d/")}, 101)...), err: "more than 100 entries"},
		{name: "directories that names imply", archive: "a.tar", data: tarred(t, file(strings.Repeat("a/", 60)+"x", ""), file(strings.Repeat("b/", 60)+"x", "")), err: "more than 100 entries"},
		{name: "deep names", archive: "a.zip", data: zipped(t, file(strings.Repeat("a/", 120)+"x", "")), err: "more than 100 directories deep"},
		{name: "long targets", archive: "a.tar", data: tarred(t, file("x", "1"), symlink("l", strings.Repeat("t", 5000))), want: []string{"a/", "a/x=1"}, note: `"l" is a link that can't be made (file name too long)`},
		{name: "bomb by ratio", archive: "a.zip", data: zipped(t, file("x", zeros)), err: "more than 50 times its size"},
		{name: "tar bomb by ratio", archive: "a.tar.gz", data: gzipped(t, tarred(t, file("x", zeros))), err: "more than 50 times its size"},
		{name: "bomb in what is left out", archive: "a.tar.gz", data: gzipped(t, tarred(t, file("__MACOSX/x", zeros))), err: "more than 50 times its size"},
		{name: "bomb behind the end", archive: "a.tar.gz", data: gzipped(t, append(tarred(t, file("x", "1")), zeros...)), err: "more than 50 times its size"},
		{name: "bomb in an inner archive", archive: "a.zip", data: zipped(t, file("d/b.zip", string(zipped(t, file("x", zeros))))), err: "a.zip: d/b.zip: "},
		{name: "too large", archive: "a.tar", data: tarred(t, file("x", strings.Repeat(zeros, 2))), err: "unpack to more than 4.2 MB"},
		{name: "empty file", archive: "a.zip", data: nil, err: "it is empty"},
		{name: "no zip", archive: "a.zip", data: []byte("hello"), err: "no zip file"},
		{name: "no tar", archive: "a.tar", data: bytes.Repeat([]byte("hello"), 300), err: "no tar file"},
		{name: "no gzip", archive: "a.tar.gz", data: bytes.Repeat([]byte("hello"), 300), err: "no tar.gz file"},
		{name: "no bzip2", archive: "a.tar.bz2", data: bytes.Repeat([]byte("hello"), 300), err: "no tar.bz2 file"},
		{name: "other archives stay", archive: "a.tar.xz", data: []byte("xz"), want: []string{"a.tar.xz=xz"}, note: "only zip, tar"},
	} {
		t.Run(test.name, func(t *testing.T) {
			source, p, made, err := prepareArchive(t, test.archive, test.data)
			if test.err != "" {
				if err == nil || !contains(err.Error(), test.archive, test.err) || strings.Count(err.Error(), source) != 1 {
					t.Fatalf("error %v; it should name %s and say %q", err, test.archive, test.err)
				}
				leavesNothing(t, p)
				return
			}
			must(t, err)
			if test.want != nil {
				holds(t, p, test.want...)
				all := strings.Join(test.want, " ")
				expect(t, made.Files == strings.Count(all, "=")+strings.Count(all, "->"), "%d files", made.Files)
			}
			notes := strings.Join(made.Notes, "\n")
			expect(t, (test.note == "") == (notes == "") && strings.Contains(notes, test.note), "notes %q, want %q", notes, test.note)
			if progress := p.Progress(); progress.Done != progress.Total || progress.Total != int64(len(test.data)) {
				t.Errorf("progress %+v of %d bytes", progress, len(test.data))
			}
		})
	}
}

// TestBrokenArchiveOfADirectory stays as it is. What is said of it names it once, and nothing
// of it counts.
func TestBrokenArchiveOfADirectory(t *testing.T) {
	broken := zipped(t, file("x", "1"), file("../y", "2"))
	dir := files(t, map[string]string{"b.zip": string(broken)})
	p, made, err := prepare(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, "b.zip") + `: entry "../y": its name leads out of the archive; it stays as it is`
	if !slices.Equal(made.Notes, []string{want}) || made.Files != 1 || made.Bytes != int64(len(broken)) {
		t.Errorf("%+v in %s", made, p.Input())
	}
}

// emptyWorkspace is what a preparation leaves that failed.
var emptyWorkspace = []string{".understudy/", ".understudy/lock=", "working/"}

func contains(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}
