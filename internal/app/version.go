package app

import "runtime/debug"

// version is set by the linker: -X understudy/internal/app.version=v1.2.3.
var version string

// Version is the version of this build: the linker's, else what Go recorded of
// the module or the commit, else "devel".
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return commit(info.Settings)
}

// commit names the commit of a build from a checkout.
func commit(settings []debug.BuildSetting) string {
	name := "devel"
	for _, setting := range settings {
		switch {
		case setting.Key == "vcs.revision" && len(setting.Value) >= 12:
			name += "-" + setting.Value[:12]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			name += "-modified"
		}
	}
	return name
}
