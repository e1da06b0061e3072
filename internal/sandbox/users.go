package sandbox

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
)

const (
	// firstUser is far from what systems give to people, services and containers
	// (systemd ends at 0x6fffffff, subordinate ids begin at 100000 and seldom pass
	// some ten millions).
	firstUser = 0x70000000
	mostUsers = 1 << 16
	blocks    = 1 << 11 // parts of so many ids that servers choose from, below 0x7fffffff
	// lastInContainer is below nobody (65534), which others use too.
	lastInContainer = 65000
	mostInContainer = 4096
)

// account is a user, and the one group that it is in. Those that we make up have the
// same number; of others nobody knows whose group a user's number is.
type account struct{ user, group int }

// users hands out user ids, where the server is root: each family gets one of its own.
type users struct {
	first, count int     // no count: the server's own user is everybody's
	shared       account // everybody's, if not each family has its own

	mu    sync.Mutex
	next  int
	taken map[int]bool
}

func newUsers(host Host) *users {
	u := &users{taken: map[int]bool{}}
	if host.User == 0 && host.NoUsers == "" {
		u.first, u.count = ownRange(userRange(readUserMap()))
	}
	return u
}

// ownRange is one server's part of what userRange returns, but for its first id, which
// is SharedUser. Where there are enough it is by chance another one than that of other
// servers on the machine: the kernel counts processes by user.
func ownRange(first, count int) (int, int) {
	switch count {
	case 0:
		return 0, 0
	case mostUsers:
		return first + mostUsers*(1+rand.IntN(blocks)), count
	}
	return first + 1, count - 1
}

// SharedUser is whom a directory may be given to in which all sessions of a server work
// that is root; 0 if there is nobody.
func SharedUser() int {
	if os.Geteuid() != 0 {
		return 0
	}
	first, count := userRange(readUserMap())
	if count < 2 {
		return 0
	}
	return first
}

// OwnerOf returns the user and the group of a file or directory, links not followed; 0
// for root's, and where there are no such users.
func OwnerOf(path string) (user, group int, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, 0, err
	}
	owner := ownerOfFile(info)
	return owner.user, owner.group, nil
}

// share makes all families the owner of a directory in which they all work, unless it
// is root's and for everybody to write.
func (u *users) share(dir string) error {
	if dir == "" || !u.active() {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("the shared working directory: %w", err)
	}
	const forOthers = 0o003 // to write and to search
	switch owner := ownerOfFile(info); {
	case owner.user != 0 && owner.group == 0:
		return fmt.Errorf("the shared working directory %s belongs to the group of root, in which no code may be: give it to another one (chgrp), or switch the sandbox off (--sandbox off)", dir)
	case owner.user != 0:
		u.shared = owner
	case info.Mode().Perm()&forOthers != forOthers:
		return fmt.Errorf("the sandbox lets no code run as root, so that it could not write to the shared working directory %s, which is root's: give it, with what is in it, to another user (chown -R), as whom all interpreters run then, let all users write to it (chmod 1777, so that none can remove files of others), or switch the sandbox off (--sandbox off)", dir)
	}
	return nil
}

// apart reports whether each family has a user of its own.
func (u *users) apart() bool { return u.active() && u.shared.user == 0 }

// span is a line of /proc/self/uid_map: ids as they are seen here.
type span struct{ first, count int }

func readUserMap() (spans []span) {
	data, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		first, err1 := strconv.Atoi(fields[0])
		count, err2 := strconv.Atoi(fields[2])
		if err1 == nil && err2 == nil {
			spans = append(spans, span{first, count})
		}
	}
	return spans
}

// userRange returns the ids that may be used: on a whole machine far away ones, in a
// container, which has few, the highest that it has.
func userRange(spans []span) (first, count int) {
	for _, s := range spans {
		if s.first <= firstUser && s.first+s.count >= firstUser+mostUsers*(1+blocks) {
			return firstUser, mostUsers
		}
	}
	for _, s := range spans {
		end := min(s.first+s.count, lastInContainer)
		begin := max(s.first, end-mostInContainer, 1)
		if end-begin > count {
			first, count = begin, end-begin
		}
	}
	return first, count
}

// active reports whether there are ids to hand out.
func (u *users) active() bool { return u.count > 0 }

// take returns one that no family has, none where all are the server's own user.
func (u *users) take() (account, error) {
	if !u.apart() {
		return u.shared, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for range u.count {
		id := u.first + u.next
		u.next = (u.next + 1) % u.count // the one that was free for longest
		if !u.taken[id] {
			u.taken[id] = true
			return account{id, id}, nil
		}
	}
	return account{}, fmt.Errorf("no user is left for another sandbox: %d are taken", u.count)
}

func (u *users) give(a account) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.taken, a.user)
}
