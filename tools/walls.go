package tools

import (
	"slices"

	"understudy/sessions"
)

// Walls are what a model is told of the sandbox, so that it need not try what can't be.
type Walls struct {
	// Network are the hosts that code may reach, sessions.NetworkAll for all; none if
	// empty.
	Network []string
	// Write are paths that it may write to beside its own.
	Write []string
}

// mostToldOfWalls is how many hosts, and paths, are named; more are only counted.
const mostToldOfWalls = 5

// walled tells that there is a sandbox.
func (o Options) walled() string {
	if o.Walls == nil {
		return ""
	}
	text := "There is no network"
	switch {
	case slices.Contains(o.Walls.Network, sessions.NetworkAll):
		text = "The network can be used"
	case len(o.Walls.Network) > 0:
		text = "The network reaches only " + few(o.Walls.Network)
	}
	text += "; files can be written only in the working and the temporary directory"
	if len(o.Walls.Write) > 0 {
		text += ", and in " + few(o.Walls.Write)
	}
	return text + "."
}

// offline reports whether code reaches no host at all.
func (o Options) offline() bool { return o.Walls != nil && len(o.Walls.Network) == 0 }

func few(names []string) string {
	shown := min(len(names), mostToldOfWalls)
	return someNames(names[:shown], len(names)-shown)
}
