package sandbox

import "io/fs"

// ownerOfFile has no answer here; nobody is root.
func ownerOfFile(fs.FileInfo) int { return 0 }
