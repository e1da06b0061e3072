package config

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

type lookup = func(name string) (string, bool)

// defaultFile returns where the configuration file is looked for.
func defaultFile(env lookup) (string, error) {
	directory, err := userDir(env, "XDG_CONFIG_HOME", ".config", "APPDATA")
	return filepath.Join(directory, "understudy", "config.yaml"), err
}

// defaultDataDir returns where the Python environment and the sessions live.
func defaultDataDir(env lookup) (string, error) {
	directory, err := userDir(env, "XDG_DATA_HOME", filepath.Join(".local", "share"), "LOCALAPPDATA")
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

// userDir finds a directory of the user's by the custom of the system. A
// relative XDG path is ignored, as the specification asks.
func userDir(env lookup, xdg, underHome, windows string) (string, error) {
	if directory, ok := env(xdg); ok && filepath.IsAbs(directory) {
		return directory, nil
	}
	if runtime.GOOS == "windows" {
		if directory, ok := env(windows); ok && directory != "" {
			return directory, nil
		}
	}
	home, err := homeDir(env)
	if err != nil {
		return "", err
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support"), nil
	case "windows":
		return filepath.Join(home, "AppData", "Local"), nil
	}
	return filepath.Join(home, underHome), nil
}

func homeDir(env lookup) (string, error) {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if home, ok := env(name); ok && home != "" {
		return home, nil
	}
	return os.UserHomeDir()
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
