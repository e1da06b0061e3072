package journal

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// networkFilesystems are those on which SQLite's log can't be shared between
// processes: their machines have no common memory, or no locks that hold.
var networkFilesystems = map[int64]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB",
	unix.V9FS_MAGIC: "9P", unix.AFS_SUPER_MAGIC: "AFS", unix.AFS_FS_MAGIC: "AFS", unix.CODA_SUPER_MAGIC: "Coda",
	0x00c36400: "Ceph", 0x0bd00bd0: "Lustre", 0x47504653: "GPFS", 0x01161970: "GFS2",
}

// checkFilesystem refuses a directory of a network's file system.
func checkFilesystem(directory string) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(directory, &stat); err != nil {
		return fmt.Errorf("looking at the journal's file system: %w", err)
	}
	kind := int64(stat.Type) & 0xffffffff //nolint:unconvert // it has 32 bits, and a sign, on some machines
	name := networkFilesystems[kind]
	if kind == unix.FUSE_SUPER_MAGIC {
		name = remoteFUSE(directory)
	}
	if name == "" {
		return nil
	}
	return fmt.Errorf("%s is on a file system of the network (%s), where a journal could be damaged; choose a file on a local disk with --journal, or record nothing with --no-journal", directory, name)
}

// remoteFUSE names the FUSE file system of a directory if it is one over a network;
// others are local disks.
func remoteFUSE(directory string) string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	best, name := -1, ""
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		fields, kinds := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(kinds) < 1 || len(fields[4]) <= best {
			continue
		}
		if point := strings.TrimSuffix(fields[4], "/"); directory == point || strings.HasPrefix(directory, point+"/") {
			best, name = len(fields[4]), kinds[0]
		}
	}
	for _, remote := range []string{"sshfs", "rclone", "s3", "gcsfuse", "glusterfs", "davfs", "blobfuse", "ceph", "curlftpfs", "juicefs"} {
		if strings.Contains(name, remote) {
			return name
		}
	}
	return ""
}
