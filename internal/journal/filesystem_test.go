package journal

import "testing"

// A share that is mounted is known by its kind, however its path is written, and what is
// mounted over it counts instead.
func TestFilesystemOf(t *testing.T) {
	const mounts = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw - autofs systemd-1 rw
31 30 0:41 / /home rw - nfs4 server:/home rw
32 22 0:42 / /mnt/My\040Drive rw - cifs //server/share rw
33 22 0:43 / /mnt/remote rw - fuse.sshfs ada@server: rw
34 22 0:44 / /mnt/disk rw - fuseblk /dev/sdb1 rw
35 31 8:2 / /home/ada/local rw - xfs /dev/sdc1 rw
broken line
`
	for directory, want := range map[string]struct {
		kind   string
		remote bool
	}{
		"/": {"ext4", false}, "/var": {"ext4", false}, "/homestead": {"ext4", false}, "/home": {"nfs4", true}, "/home/ada": {"nfs4", true},
		"/mnt/My Drive/x": {"cifs", true}, "/mnt/remote": {"fuse.sshfs", true}, "/mnt/disk/x": {"fuseblk", false},
		"/home/ada/local/share": {"xfs", false},
	} {
		kind := filesystemOf(directory, mounts)
		expect(t, kind == want.kind && networkFilesystems.MatchString(kind) == want.remote, "%s is on %q, want %+v", directory, kind, want)
	}
}
