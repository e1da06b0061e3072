package pythonenv

import "context"

// Package is a Python library that agents are told of.
type Package struct {
	Name   string // of the distribution, as "scikit-learn"
	Module string // what of it is imported, as "sklearn"
	// Without says what is lost without it.
	Without string
	// Battery is true for what setup --minimal leaves out.
	Battery bool
}

// Packages are the libraries that Prepare installs, in the order of the report.
var Packages = []Package{
	{"numpy", "numpy", "arrays are not available to code", false},
	{"pandas", "pandas", "data frames are not available to code", false},
	{"scipy", "scipy", "scientific functions are not available to code", false},
	{"matplotlib", "matplotlib.pyplot", "figures are not captured", false},
	{"seaborn", "seaborn", "statistical plots are not available to code", false},
	{"plotly", "plotly", "plotly is not available to code", false},
	{"scikit-learn", "sklearn", "machine learning is not available to code", false},
	{"statsmodels", "statsmodels", "statistical models are not available to code", false},
	{"ipython", "IPython", "--traceback ipython shows plain tracebacks", false},

	battery("openpyxl", "openpyxl"),
	battery("pyarrow", "pyarrow"),
	battery("polars", "polars"),
	battery("duckdb", "duckdb"),
	battery("requests", "requests"),
	battery("beautifulsoup4", "bs4"),
	battery("lxml", "lxml.etree"),
	battery("jinja2", "jinja2"),
	battery("tabulate", "tabulate"),
	battery("tqdm", "tqdm"),
	battery("sympy", "sympy"),
	battery("networkx", "networkx"),
	battery("pillow", "PIL.Image"),
}

// battery is what model-written code imports all the time, and understudy itself
// never needs.
func battery(name, module string) Package {
	return Package{name, module, "it is not available to code", true}
}

// Minimal returns the names of the Packages without the batteries.
func Minimal() []string {
	var names []string
	for _, p := range Packages {
		if !p.Battery {
			names = append(names, p.Name)
		}
	}
	return names
}

// versionsCode prints the installed versions without importing anything.
const versionsCode = fromElsewhere + `import importlib.metadata, json, os
found = {}
path = [p for p in sys.argv[1].split(os.pathsep) if p] + sys.path
for name in sys.argv[2:]:
    for distribution in importlib.metadata.distributions(name=name, path=path):
        found.setdefault(name, distribution.version)
print(json.dumps(found))`

// Versions returns the versions of those Packages that the Python at path has,
// by the names of their distributions.
func Versions(ctx context.Context, path string) (versions map[string]string, err error) {
	var names []string
	for _, p := range Packages {
		names = append(names, p.Name)
	}
	err = ask(ctx, path, "its packages", &versions, versionsCode, names...)
	return versions, err
}
