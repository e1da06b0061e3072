package sessions

import "path/filepath"

// packagesDir returns where the packages are that the session's family has installed
// for itself, "" where it has no home. An execution of kind RunsInstall makes one.
func (s *Session) packagesDir(kind Kind) (string, error) {
	home := s.family.made()
	if home == "" && kind == RunsInstall {
		var err error
		if home, err = s.home(); err != nil {
			return "", err
		}
	}
	if home == "" {
		return "", nil
	}
	return filepath.Join(home, homePackages), nil
}
