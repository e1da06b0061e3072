package sandbox

import "io/fs"

// ownerOfFile has no answer here; nobody is root.
func ownerOfFile(fs.FileInfo) account { return account{} }
