package app

import (
	"os"
	"path/filepath"

	"understudy/internal/config"
)

// project is the directory in which a server on stdio works: that of its user's files.
type project struct {
	dir string // absolute; ~/understudy may have to be made
	why string // a clause: what chose it
	// started is "" where dir is the directory that the server was started in, else it
	// says in a clause why that is no place to work: a client may know a better one.
	started string
}

// homeProjectName is the directory's in the home directory that a server works in which
// was started nowhere in particular.
const homeProjectName = "understudy"

// WorkingDirectory returns the directory that all interpreters of a server with these
// settings work in, and in a clause what chose it. It is what is known without a client:
// one that says which directories its user works in (MCP's roots) may send a server to
// another one that was started in no place to work. An empty dir means that each
// interpreter has a directory of its own, or that --data makes one.
func WorkingDirectory(c *config.Config) (dir, why string) {
	switch {
	case len(c.Serve.Data) > 0 && c.Serve.Workspace != "":
		return c.Serve.Workspace, "the workspace (--workspace)"
	case len(c.Serve.Data) > 0:
		return "", "the workspace that --data makes"
	case c.Serve.Workdir != "":
		return c.Serve.Workdir, "as set with --workdir"
	case c.Serve.OverNetwork():
		return "", "each interpreter has its own"
	}
	p := projectDir()
	return p.dir, p.why
}

// projectDir finds the directory that the server was started in, or else ~/understudy.
func projectDir() project {
	started, err := os.Getwd()
	if err != nil {
		return homeProject("the directory that the server was started in is gone")
	}
	home, err := os.UserHomeDir()
	switch {
	case filepath.Dir(started) == started:
		return homeProject("the server was started in " + started)
	case err == nil && sameFile(started, home):
		return homeProject("the server was started in the home directory")
	case !mayWrite(started):
		return homeProject("the server was started in " + started + ", which it can't write to")
	}
	return project{dir: started, why: "where the server was started"}
}

// homeProject is ~/understudy, for that reason.
func homeProject(why string) project {
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return project{dir: filepath.Join(home, homeProjectName), why: why, started: why}
}

// usable reports whether files can be worked with in a directory: it is there, and it can
// be written to.
func usable(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && mayWrite(dir)
}
