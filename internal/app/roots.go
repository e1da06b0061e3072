package app

import (
	"context"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

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
