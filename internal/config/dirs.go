package config

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// defaultFile returns where the configuration file is looked for. An absolute XDG path
// counts on every system, a relative one on none, as in defaultDataDir: os.UserConfigDir
// fails for it, and settings that guard would be lost without a word.
func defaultFile() (string, error) {
	directory, err := os.Getenv("XDG_CONFIG_HOME"), error(nil)
	switch {
	case filepath.IsAbs(directory):
	case runtime.GOOS == "darwin", runtime.GOOS == "windows":
		directory, err = os.UserConfigDir()
	default:
		directory, err = os.UserHomeDir()
		directory = filepath.Join(directory, ".config")
	}
	return filepath.Join(directory, "understudy", "config.yaml"), err
}

// defaultDataDir returns where the Python environment and the sessions live, by the custom
// of the system. A relative XDG path is ignored, as the specification asks.
func defaultDataDir() (string, error) {
	directory, err := os.Getenv("XDG_DATA_HOME"), error(nil)
	switch {
	case filepath.IsAbs(directory):
	case runtime.GOOS == "darwin":
		directory, err = os.UserConfigDir()
	case runtime.GOOS == "windows":
		directory, err = os.UserCacheDir() // which is %LocalAppData%
	default:
		directory, err = os.UserHomeDir()
		directory = filepath.Join(directory, ".local", "share")
	}
	if err != nil {
		return "", errors.New("your home directory is unknown (HOME is not set); say with --data-dir where files are to be kept")
	}
	return filepath.Join(directory, "understudy"), nil
}

// JournalPath returns where the journal is.
func (s Shared) JournalPath() string {
	if s.Journal != "" {
		return s.Journal
	}
	return filepath.Join(s.DataDir, "journal.db")
}

// shown is a path as the help prints it.
func shown(path string, err error) string {
	if err != nil {
		return "none, as your home directory is unknown"
	}
	return path
}

// withoutLinks is an absolute path with the links in it followed, as far as it exists.
// What the sandbox shows are the directories themselves.
func withoutLinks(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if followed, err := filepath.EvalSymlinks(path); err == nil {
		return followed
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(withoutLinks(parent), filepath.Base(path))
	}
	return path
}
