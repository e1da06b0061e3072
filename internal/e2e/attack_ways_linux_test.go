package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// otherWays has code run in all the ways in which it can, and sees that the same wall
// is around it: testdata/attacks/core.py tries each layer once.
func (a *attacked) otherWays(t *testing.T) {
	core := readFile(t, attacks, "core.py")
	quoted, err := json.Marshal(core + "\n\nimport attempting\nattempting.run()\n") // a text of Python, too
	must(t, err)
	here := core + "\n\nimport attempting, os, sys, subprocess, threading\n"
	plain := here + "attempting.run()"
	ran := func(code string) func(*testing.T) string {
		return func(t *testing.T) string {
			a.ok(t, code, "")
			return a.workdir
		}
	}
	for _, way := range []struct {
		name string
		run  func(*testing.T) (workdir string)
	}{
		{"in a thread", ran(here + "t = threading.Thread(target=attempting.run)\nt.start()\nt.join()\ndel t")},
		{"in a program", ran("import subprocess, sys\nopen('core.py', 'w').write(" + string(quoted) + ")\nsubprocess.run([sys.executable, 'core.py'], check=True)")},
		{"in a shell's program", ran("import subprocess, sys\nsubprocess.run(['sh', '-c', 'exec \"$0\" core.py &\\nwait', sys.executable], check=True)")},
		{"in an orphan of another session and group", ran(here + orphan)},
		{"in a process of multiprocessing", ran("import subprocess, sys\nopen('spawned.py', 'w').write('import multiprocessing, runpy\\nif __name__ == \"__main__\":\\n  c = multiprocessing.get_context(\"spawn\")\\n  p = c.Process(target=runpy.run_path, args=(\"core.py\",))\\n  p.start()\\n  p.join()\\n')\nsubprocess.run([sys.executable, 'spawned.py'], check=True)")},
		{"in an understudy that stepped in", func(t *testing.T) string {
			record, text := run(t, a.attacker, "import os\nos.abort()")
			insist(t, record["status"] == "crashed" && record["state_restored"] == true, "no understudy stepped in: %s", text)
			return ran(plain)(t)
		}},
		{"after an undo", func(t *testing.T) string {
			a.ok(t, "undone = 1", "")
			manage(t, a.attacker, "undo")
			return ran(plain)(t)
		}},
		{"in a branch", func(t *testing.T) string {
			id := a.branch(t, "")
			workdir := a.ok(t, "import os\nprint(os.getcwd())", id)
			a.ok(t, plain, id)
			return workdir
		}},
		{"after a restart", func(t *testing.T) string {
			manage(t, a.attacker, "restart")
			return ran(plain)(t)
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			made := a.verdicts(t, way.run(t))
			insist(t, len(made) >= 8, "only %v were made", made)
			for _, v := range made {
				t.Run(v.Name, func(t *testing.T) { v.judge(t, a.wall) })
			}
		})
	}
}

// orphan is code that lets attempts be made by a process that belongs to nobody.
const orphan = `
reader, writer = os.pipe()
if os.fork() == 0:
    os.close(reader)
    os.setsid()
    if os.fork() == 0:
        attempting.run()
    os._exit(0)
os.close(writer)
_ = os.wait()
_ = os.read(reader, 1)  # ends when the orphan does
os.close(reader)
`

// ok runs the attacker's code, which must end well, and returns its output without the
// last line's end.
func (a *attacked) ok(t *testing.T, code, id string) string {
	t.Helper()
	record, text := run(t, a.attacker, code, named(id)...)
	insist(t, record["status"] == "ok", "%s", text)
	stdout, _ := record["stdout"].(string)
	return strings.TrimSuffix(stdout, "\n")
}

// named are the arguments that name an interpreter, if it is not the default one.
func named(id string) []any {
	if id == "" {
		return nil
	}
	return []any{"interpreter_id", id}
}

// another makes another interpreter of the attacker's.
func (a *attacked) another(t *testing.T) (id, workdir string) {
	t.Helper()
	id = create(t, a.attacker)
	return id, a.ok(t, "import os\nprint(os.getcwd())", id)
}

func (a *attacked) end(t *testing.T, id string) {
	t.Helper()
	manage(t, a.attacker, "delete", "interpreter_id", id)
}

// daemon has an interpreter, and a branch of a branch, leave processes that do all to
// outlive it.
func (a *attacked) daemon(t *testing.T) {
	id, _ := a.another(t)
	branch := a.branch(t, id)
	a.outlive(t, a.branch(t, branch))
	a.end(t, branch)
	a.outlive(t, id)
}

func (a *attacked) branch(t *testing.T, id string) (branch string) {
	t.Helper()
	record, _ := manage(t, a.attacker, "branch", named(id)...)
	return record["interpreter_id"].(string)
}

// outlive has an interpreter leave processes, and ends it.
func (a *attacked) outlive(t *testing.T, id string) {
	t.Helper()
	said := a.ok(t, `
import os, signal, subprocess, sys
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/")
        for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(n, signal.SIG_IGN)
        os.write(writer, b"%d " % os.getpid())
        os.closerange(0, 200)
        while True:
            signal.pause()
    os._exit(0)
_ = os.wait()
bare = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], env={}, start_new_session=True)
unmarked = """
import os, resource
try:
    resource.setrlimit(10, (1, 1))  # RLIMIT_LOCKS
except ValueError:
    pass
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.execve("/bin/sleep", ["sleep", "1000"], {})
"""
lost = subprocess.Popen([sys.executable, "-c", unmarked], env={}, stdout=subprocess.PIPE)
print(os.read(reader, 100).decode(), bare.pid, lost.stdout.readline().decode())
_ = lost.wait()
`, id)
	left := strings.Fields(said)
	insist(t, len(left) == 3, "it says %q", said)
	a.end(t, id)
	for _, pid := range left {
		eventually(t, func() error {
			if _, err := os.Stat("/proc/" + pid); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("process %s outlives its interpreter: %v", pid, err)
			}
			return nil
		})
	}
}

// whileItStarts has a session leave modules where Python looks for some as it starts:
// they must never run in another session, nor in its own before the wall stands.
func (a *attacked) whileItStarts(t *testing.T) {
	id, _ := a.another(t)
	a.ok(t, `
import os, site, sys
code = "import builtins\nbuiltins.planted = open('/proc/self/status').read()\n"
places = [".", os.path.expanduser("~"), site.getusersitepackages(), "/tmp", os.path.join(os.environ.get("TMPDIR", "/tmp"), "..", "packages")]
for place in places:
    for name in ("sitecustomize.py", "usercustomize.py", "numpy.py", "json.py", "ast.py", "attack.pth"):
        try:
            os.makedirs(place, exist_ok=True)
            open(os.path.join(place, name), "w").write("import usercustomize\n" if name.endswith(".pth") else code)
        except OSError:
            pass
for name in ("PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "LD_PRELOAD"):
    os.environ[name] = os.path.abspath("usercustomize.py")
`, id)
	const ask = "import builtins, json, ast\nprint(getattr(builtins, 'planted', 'clean'))"
	manage(t, a.attacker, "restart", "interpreter_id", id)
	said := a.ok(t, ask, id)
	expect(t, said == "clean" || strings.Contains(said, "NoNewPrivs:\t1"), "OPEN: a module of the session's ran before its wall stood:\n%s", said)
	record, text := run(t, a.victim, ask, "interpreter_id", create(t, a.victim))
	expect(t, record["stdout"] == "clean\n", "OPEN: code that one session has left ran in another's: %s", text)
	other, _ := a.another(t)
	if said := a.ok(t, ask, other); said != "clean" {
		t.Errorf("OPEN: code that one session has left ran in the next: %s", said)
	}
	a.end(t, other)
	a.end(t, id)
}

// read returns what a resource holds, or why it can't be read.
func (a *attacked) read(t *testing.T, uri string) string {
	t.Helper()
	text, err := readResource(a.attacker, uri)
	expect(t, !errors.Is(err, context.DeadlineExceeded), "OPEN: reading %s never ends", uri)
	return fmt.Sprint(text, err)
}

// upload tries to have the server write, which it may refuse.
func (a *attacked) upload(id, path string) {
	_, _ = call(a.attacker, "manage_interpreters", "operation", "upload", "interpreter_id", id, "path", path, "content", "overwritten")
}

// misleadTheServer has a session put links, pipes and directories where the server,
// which may be root, reads, writes, copies and removes files for it.
func (a *attacked) misleadTheServer(t *testing.T) {
	id, workdir := a.another(t)
	outside, kept := a.path("outside"), a.path("outside", "kept")
	quoted, err := json.Marshal(map[string]string{"outside": outside, "kept": kept})
	must(t, err)
	a.ok(t, "import json, os\np = json.loads('"+string(quoted)+"')"+`
os.symlink(p["kept"], "link")
os.symlink(p["outside"], "directory")
os.symlink("../../../../../../../../.." + p["kept"], "climbing")
os.symlink("/proc/self/environ", "of-whom")
os.symlink("/proc/self/fd", "descriptors")
os.mkfifo("pipe")
os.makedirs("closed/deep")
os.symlink(p["outside"], "closed/deep/link")
os.chmod("closed/deep", 0)
os.chmod("closed", 0)
artifact("harmless", name="made.txt")
`, id)
	a.ok(t, `
for root, _, files in os.walk(".artifacts"):
    for name in files:
        os.unlink(os.path.join(root, name))
        os.symlink(p["kept"], os.path.join(root, name))
`, id)
	secrets := []string{a.targets["secret"].(string), "environment-"}
	for _, name := range []string{"link", "directory/kept", "climbing", "of-whom", "descriptors/0", "pipe", "closed/deep/link/kept", ".artifacts/" + id + "/made.txt"} {
		for _, uri := range []string{"understudy://interpreters/" + id + "/files/" + name, "understudy://interpreters/" + id + "/artifacts/" + filepath.Base(name)} {
			text := a.read(t, uri)
			for _, secret := range secrets {
				expect(t, !strings.Contains(text, secret), "OPEN: the server reads %s for a session: %.200s", uri, text)
			}
		}
		a.upload(id, name)
	}
	a.upload(id, "directory/new")
	a.upload(id, "descriptors/new")
	a.unharmed(t, "writes")

	a.ok(t, "os.chmod('closed', 0o700)\nos.chmod('closed/deep', 0o700)", id) // else there may be no branch
	branch := a.branch(t, id)
	a.holdsNothing(t, a.ok(t, "import os\nprint(os.getcwd())", branch))
	a.end(t, branch)
	a.ok(t, "os.chmod('closed/deep', 0)\nos.chmod('closed', 0)", id)
	a.unharmed(t, "removes or copies")

	// The working directory itself.
	said := a.ok(t, `
try:
    os.rename(os.getcwd(), os.getcwd() + "-moved")
    os.symlink(p["outside"], os.getcwd()[:-len("-moved")])
    print("moved")
except OSError as error:
    print("STOPPED:", error)
`, id)
	t.Logf("putting a link in the place of the working directory: %s", said)
	answer := a.read(t, "understudy://interpreters/"+id+"/files/kept")
	expect(t, !strings.Contains(answer, secrets[0]), "OPEN: the server follows a link in the place of the working directory: %s", answer)
	a.upload(id, "kept")
	a.end(t, id)
	a.unharmed(t, "follows a link in the place of the working directory")
	eventually(t, func() error {
		if _, err := os.Lstat(workdir); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is still there: %v", workdir, err)
		}
		return nil
	})
}

// unharmed sees that what lies outside is as it was.
func (a *attacked) unharmed(t *testing.T, when string) {
	t.Helper()
	text, err := os.ReadFile(a.path("outside", "kept"))
	expect(t, err == nil && string(text) == a.targets["secret"], "OPEN: the server %s outside for a session: %q, %v", when, text, err)
	entries, err := os.ReadDir(a.path("outside"))
	expect(t, err == nil && len(entries) == 1, "OPEN: the server %s outside for a session: there are %v, %v", when, entries, err)
	if info, err := os.Stat(a.path("outside")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("OPEN: the server changed the mode of a directory outside: %v, %v", info, err)
	}
}

// holdsNothing sees that a copied working directory has nothing in it of what links in
// the first one lead to.
func (a *attacked) holdsNothing(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == "targets.json" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), a.targets["secret"].(string)) {
			t.Errorf("OPEN: the server copied what a link leads to, to %s", path)
		}
		return err
	})
	expect(t, err == nil, "%v", err)
}

// restartThroughLinks has a session put a link in the place of each of its directories
// and start anew, behind a wall that is made again: none must let through what the link
// leads to.
func (a *attacked) restartThroughLinks(t *testing.T) {
	for _, name := range []string{"work", "tmp"} {
		t.Run(name, func(t *testing.T) {
			id, workdir := a.another(t)
			replaced, outside := workdir, a.path("outside")
			if name == "tmp" {
				replaced = filepath.Join(filepath.Dir(workdir), name)
			}
			quoted, err := json.Marshal(map[string]string{"replaced": replaced, "outside": outside})
			must(t, err)
			paths := "import json, os\np = json.loads('" + string(quoted) + "')\n"
			said := a.ok(t, paths+`
os.chdir("/")
try:
    os.rename(p["replaced"], p["replaced"] + "-moved")
    os.symlink(p["outside"], p["replaced"])
    print("replaced")
except OSError as error:
    print("STOPPED:", error)
`, id)
			t.Logf("putting a link in the place of %s: %s", replaced, said)
			manage(t, a.attacker, "restart", "interpreter_id", id)
			said = a.ok(t, paths+`
for place in (".", "/tmp", os.environ["TMPDIR"], p["replaced"], p["outside"]):
    for name, mode in (("kept", "r"), ("new", "w")):
        try:
            open(os.path.join(place, name), mode).close()
        except OSError:
            continue
        if os.path.exists(os.path.join(place, "kept")):
            print(place, mode)
`, id)
			expect(t, said == "", "OPEN: after a restart a session reaches what it has put a link to: %s", said)
			a.end(t, id)
			a.unharmed(t, "opens what is")
		})
	}
}
