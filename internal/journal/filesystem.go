package journal

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// networkFilesystems are those on which SQLite's log can't be shared between
// processes: their machines have no common memory, or no locks that hold.
var networkFilesystems = regexp.MustCompile(`^(nfs4?|cifs|smb\d?|smbfs|9p|afs|coda|ceph|lustre|gpfs|gfs2)$|` +
	`^fuse.*(sshfs|rclone|s3|gcsfuse|glusterfs|davfs|blobfuse|ceph|curlftpfs|juicefs)`)

// checkFilesystem refuses a directory of a network's file system. It knows those of
// Linux only.
func checkFilesystem(directory string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	if resolved, err := filepath.EvalSymlinks(directory); err == nil {
		directory = resolved
	}
	if kind := filesystemOf(directory, string(mounts)); networkFilesystems.MatchString(kind) {
		return fmt.Errorf("%s is on a file system of the network (%s), where a journal could be damaged; "+
			"choose a file on a local disk with --journal, or record nothing with --no-journal", directory, kind)
	}
	return nil
}

var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// filesystemOf returns the kind of the file system that a directory is on; of several
// that are mounted at one point the last counts.
func filesystemOf(directory, mounts string) (kind string) {
	longest := -1
	for line := range strings.Lines(mounts) {
		mount, how, _ := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		if len(fields) < 5 {
			continue
		}
		point := strings.TrimSuffix(unescapeMount.Replace(fields[4]), "/")
		inside := directory == cmp.Or(point, "/") || strings.HasPrefix(directory, point+"/")
		if inside && len(point) >= longest {
			kind, _, _ = strings.Cut(how, " ")
			longest = len(point)
		}
	}
	return kind
}
