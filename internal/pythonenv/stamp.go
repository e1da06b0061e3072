package pythonenv

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2/maybe"
)

// stamp says what an environment holds.
type stamp struct {
	Lock   string   `json:"lock"`           // SHA-256 of the lock file
	Python string   `json:"python"`         // version of the base, as "3.11"
	Only   []string `json:"only,omitempty"` // the libraries that were asked for; none: all of the lock
}

// has reports whether an environment with this stamp has what another one promises.
func (s *stamp) has(wanted *stamp) bool {
	return s.Lock == wanted.Lock && (s.Only == nil || slices.Equal(s.Only, wanted.Only))
}

// unfinished is a file that stands in the environment while packages are
// being changed; left behind, it says that somebody was killed at it.
const unfinished = "understudy-setup-unfinished"

func environmentDir(dataDir string) string { return filepath.Join(dataDir, "python") }

func stampFile(directory string) string { return filepath.Join(directory, "understudy-setup.json") }

// minor is a version without its last part. Environments outlive a change of
// that, as by the system's security updates.
func minor(version string) string {
	return version[:max(0, strings.LastIndexByte(version, '.'))]
}

func hashLock(lock []byte) string {
	sum := sha256.Sum256(lock)
	return hex.EncodeToString(sum[:])
}

// readStamp returns the stamp of a complete environment.
func readStamp(directory string) (*stamp, error) {
	if _, err := os.Stat(filepath.Join(directory, unfinished)); err == nil {
		return nil, fmt.Errorf("setup was interrupted in %s", directory)
	}
	content, err := os.ReadFile(stampFile(directory))
	if err != nil {
		return nil, err
	}
	var s stamp
	if err := json.Unmarshal(content, &s); err != nil {
		return nil, fmt.Errorf("reading %s: %w", stampFile(directory), err)
	}
	return &s, nil
}

func (s *stamp) write(directory string) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return maybe.WriteFile(stampFile(directory), append(content, '\n'), 0o644)
}
