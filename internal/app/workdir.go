package app

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/internal/config"
)

// project is the directory in which a server on stdio works: that of its user's files.
type project struct {
	dir string // absolute; it may have to be made unless the server was started there
	why string // a clause: what chose it
	// unfit says in a clause why the directory that the server was started in is no
	// place to work, so that dir is another, and a client may know a better one; else "".
	unfit string
}

// HomeProjectName is the directory's in the home directory that a server works in which
// was started nowhere in particular.
const HomeProjectName = "understudy"

// dataProjectName is the directory's in the data directory that takes its place.
const dataProjectName = "project"

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
	p := projectDir(c)
	return p.dir, p.why
}

// projectDir finds the directory that the server was started in, or else ~/understudy.
func projectDir(c *config.Config) project {
	started, err := os.Getwd()
	if err != nil {
		return homeProject(c, "the directory that the server was started in is gone")
	}
	switch unfit := unfitFor(started); unfit {
	case "":
		return project{dir: started, why: "where the server was started"}
	default:
		return homeProject(c, "the server was started in "+unfit)
	}
}

// homeProject is ~/understudy, for want of a better one. Where others have made or may
// change that, as in a home directory that all share, it is one in the data directory: what
// lies where code works is imported.
func homeProject(c *config.Config, unfit string) project {
	home, err := os.UserHomeDir()
	if err != nil {
		return dataProject(c, unfit+", and the home directory is unknown (HOME is not set)")
	}
	dir := filepath.Join(home, HomeProjectName)
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return project{dir: dir, why: unfit, unfit: unfit}
	}
	var problem string
	switch {
	case err != nil:
		problem = "can't be read"
	case !info.IsDir():
		problem = "is no directory"
	default:
		problem = othersMayChange(info, c.Serve.SandboxMode() != config.SandboxOff)
	}
	if problem != "" {
		return dataProject(c, unfit+", and "+dir+" "+problem)
	}
	return project{dir: dir, why: unfit, unfit: unfit}
}

// dataProject is the directory in the data directory that takes the place of ~/understudy.
func dataProject(c *config.Config, unfit string) project {
	return project{dir: filepath.Join(c.DataDir, dataProjectName), why: unfit, unfit: unfit}
}

// unfitFor returns what a directory is that is no place to work on files, as "the home
// directory"; "" for one that is.
func unfitFor(dir string) string {
	home, err := os.UserHomeDir()
	switch {
	case filepath.Dir(dir) == dir:
		return dir
	case err == nil && SameFile(dir, home):
		return "the home directory"
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return dir + ", which is no directory"
	}
	if !mayWrite(dir) {
		return dir + ", which can't be written to"
	}
	return ""
}

// located returns the settings with the directory in them that a server on stdio works
// in, which nobody has named. What holds for --workdir holds for it from then on.
func located(c *config.Config) (*config.Config, project, error) {
	if c.Serve.OverNetwork() || c.Serve.Workdir != "" || len(c.Serve.Data) > 0 {
		return c, project{}, nil
	}
	p, its := projectDir(c), *c
	its.Serve.Workdir = p.dir
	if c.Serve.SandboxMode() == config.SandboxOff {
		return &its, p, nil
	}
	// A client does not choose what code behind a wall may write to.
	p.unfit = ""
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, project{}, err
	}
	return &its, p, its.CheckShares()
}

// locate finds where a client works whose server was started in no place to work, and
// says so.
func (a *App) locate(ctx context.Context) (dir, note string) {
	because := ", as " + a.project.unfit
	var roots []string
	if !a.config.Connect.IsServer() { // else one client's would be every client's
		roots = a.clientRoots(ctx)
	}
	for _, root := range roots {
		if unfitFor(root) == "" {
			a.python.workIn(root)
			return root, "the working directory is " + root + ", the first that the client has named (roots)" + because
		}
	}
	return a.project.dir, "the working directory is " + a.project.dir + because
}

// SameFile reports whether two paths lead to one file that is there.
func SameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// rootsPatience is how long a client may take to say where its user works.
const rootsPatience = 5 * time.Second

// clientRoots asks the client of a call for the directories that its user works in.
// There are none of a client that can't be asked, which newer ones can't.
func (a *App) clientRoots(ctx context.Context) (dirs []string) {
	session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo)
	if !ok || session.GetClientCapabilities().Roots == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsPatience)
	defer cancel()
	result, err := a.server.RequestRoots(ctx, mcp.ListRootsRequest{})
	if err != nil {
		a.log.Debug("asking the client for its roots", "error", err)
		return nil
	}
	for _, root := range result.Roots {
		if dir := pathOfURI(root.URI, runtime.GOOS); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// drivePath is how the path of a file: URI begins that is on a drive of Windows.
var drivePath = regexp.MustCompile(`^/[A-Za-z]:(/|$)`)

// pathOfURI returns the absolute path of a file: URI on this machine, "" for others.
func pathOfURI(uri, system string) string {
	u, err := url.Parse(uri)
	if err != nil || !strings.EqualFold(u.Scheme, "file") || u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
		return ""
	}
	path := u.Path // decoded
	if system == "windows" {
		if !drivePath.MatchString(path) {
			return ""
		}
		path = path[1:]
		if len(path) == len("C:") {
			path += "/"
		}
	} else if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
		return ""
	}
	return filepath.Clean(filepath.FromSlash(path))
}
