package worker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"understudy/internal/sandbox"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// walledAtHome works in the home, as sessions of a server do.
type walledAtHome struct{ walledIn }

func (w walledAtHome) Start(ctx context.Context, spec sessions.Spec) (sessions.Worker, error) {
	home, err := os.MkdirTemp(w.base, "home-")
	if err != nil {
		return nil, err
	}
	spec.Workdir = filepath.Join(home, "work")
	if err := os.Mkdir(spec.Workdir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(home, 0o711); err != nil {
		return nil, err
	}
	return w.startIn(ctx, spec, home)
}

// A spare has mounted what all sessions see before its session's home was there. One
// that has mounted a directory that was replaced since is not taken.
func TestSparesBehindTheWall(t *testing.T) {
	base, err := os.MkdirTemp("/var/tmp", "data-") // which the view covers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	library, homes, data := filepath.Join(base, "lib"), filepath.Join(base, "homes"), filepath.Join(base, "data")
	furnish := func(text string) {
		t.Helper()
		if err := os.MkdirAll(data, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, "text"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	furnish("before")
	for _, dir := range []string{base, homes} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	wall := testWall(t, sandbox.Settings{Python: []string{library}, Hidden: []string{base}, Read: []string{data}})
	wall.ExpectHomes(homes)
	z := sparingZygote(t, func(o *Options) { o.LibraryDir, o.Wall = library, wall })
	starter := walledAtHome{walledIn{walled{z, wall, t}, homes}}
	begin := func(want string) (pid int) {
		t.Helper()
		w := workertest.Start(t, starter)
		code := fmt.Sprintf("import os, tempfile\nopen('mine', 'w').write('here'); tempfile.TemporaryFile()\nprint(open(%q).read(), *os.listdir())", filepath.Join(data, "text"))
		_, sink := workertest.Run(t, w, code)
		if got := strings.TrimSpace(sink.Text(sessions.Stdout)); got != want {
			t.Errorf("got %q, want %q; %s", got, want, sink.Text(sessions.Stderr))
		}
		return w.Info().PID
	}
	for range testSpares + 1 {
		spares := z.awaitSpares(t)
		if pid := begin("before mine"); pid != spares[0] {
			t.Errorf("the worker is process %d; the spares were %v", pid, spares)
		}
	}
	spares := z.awaitSpares(t)
	if err := os.Rename(data, data+"-before"); err != nil {
		t.Fatal(err)
	}
	furnish("after")
	if pid := begin("after mine"); pid == spares[0] || pid == spares[1] {
		t.Errorf("process %d, one of the spares %v, has mounted the directory of before", pid, spares)
	}
	if spares = z.awaitSpares(t); begin("after mine") != spares[0] {
		t.Error("a spare that has mounted the directory of now is not taken")
	}
}
