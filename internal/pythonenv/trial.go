package pythonenv

import (
	"context"
	"os"
	"os/exec"
	"slices"
)

// importCode imports one module, as its first use in a session would.
const importCode = "import importlib, sys; importlib.import_module(sys.argv[1])"

// tryPackages imports every library that was asked for once: to tell the user now
// of one that can't be loaded here, and to have matplotlib build its font cache,
// which would take seconds of somebody's first plot. Each has a process of its own,
// since one that needs a newer processor ends its process.
func (m *maker) tryPackages(ctx context.Context) {
	m.report.phase("Checking that they can be imported")
	for _, p := range Packages {
		if m.Only != nil && !slices.Contains(m.Only, p.Name) {
			continue
		}
		m.report.passing("%s", p.Name)
		module := p.Module
		if module == "matplotlib" {
			module = "matplotlib.pyplot"
		}
		command := exec.CommandContext(ctx, interpreter(m.directory), "-c", importCode, module)
		command.Env = append(cleanEnv(os.Environ()), "MPLBACKEND=agg")
		command.Dir = m.directory
		if output, err := command.CombinedOutput(); err != nil && ctx.Err() == nil {
			m.report.phase("Warning: %s is installed but can't be imported%s (%s)", p.Name, because(string(output)), p.Without)
		}
	}
}
