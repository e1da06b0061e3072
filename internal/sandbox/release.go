package sandbox

import "fmt"

// releaseAtLeast compares a kernel's release, as "6.8.0-31-generic", with a version.
func releaseAtLeast(release string, major, minor int) bool {
	var have, after int
	if n, _ := fmt.Sscanf(release, "%d.%d", &have, &after); n < 2 {
		return false
	}
	return have > major || have == major && after >= minor
}
