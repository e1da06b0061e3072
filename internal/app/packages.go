package app

import (
	"understudy/internal/config"
	"understudy/tools"
)

// installOptions say from where agents may install packages, nil if they may not.
func installOptions(c *config.Config) *tools.InstallOptions {
	if !c.Serve.AllowInstall {
		return nil
	}
	o := &tools.InstallOptions{}
	if c.Serve.SandboxMode() != config.SandboxOff && !c.Serve.AllowsAllNet() {
		o.Restricted, o.Hosts = true, c.Serve.AllowNet
	}
	return o
}
