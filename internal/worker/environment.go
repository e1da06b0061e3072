package worker

import (
	"os"
	"slices"
	"strings"

	"understudy/internal/proc"
	"understudy/internal/sandbox"
	"understudy/sessions"
)

// confinement returns the wall that a worker is to put around itself, nil for none.
func (s *Spawner) confinement(spec sessions.Spec) (*sandbox.Profile, error) {
	if s.options.Wall == nil {
		return nil, nil
	}
	if err := s.library.Lay(); err != nil { // rules are for files that are there
		return nil, err
	}
	return s.options.Wall.Profile(spec.Group, spec.Home, spec.Workdir)
}

// hosts are those that workers may tell of where an installation fails; nil: any.
func (s *Spawner) hosts() *[]string {
	network := s.options.Wall.Network()
	if network.All {
		return nil
	}
	hosts := append([]string{}, network.Hosts...) // never null
	return &hosts
}

// describeWall says of a worker what confines it.
func describeWall(wall *sandbox.Wall) *sessions.Wall {
	if wall == nil {
		return nil
	}
	told := &sessions.Wall{Mode: string(wall.Mode()), Open: wall.Open(), Network: wall.Network().Hosts}
	if wall.Network().All {
		told.Network = []string{sessions.NetworkAll}
	}
	for _, layer := range wall.Layers() {
		if layer.Active {
			told.Layers = append(told.Layers, string(layer.Layer))
		}
	}
	return told
}

// harmlessVariables are those of the server's environment that a confined worker gets:
// what programs need to run, and nothing that may be a secret.
var harmlessVariables = map[string]bool{
	"PATH": true, "LANG": true, "LANGUAGE": true, "TZ": true, "TZDIR": true, "TERM": true, "COLUMNS": true, "LINES": true,
	"LD_LIBRARY_PATH": true, "PYTHONPATH": true, "PYTHONDONTWRITEBYTECODE": true, "PYTHONHASHSEED": true, "PYTHONUTF8": true,
	"PYTHONWARNINGS": true, "PYTHONUNBUFFERED": true, "PYTHONNOUSERSITE": true, "VIRTUAL_ENV": true, "CONDA_PREFIX": true,
	"SSL_CERT_FILE": true, "SSL_CERT_DIR": true, "REQUESTS_CA_BUNDLE": true, "CURL_CA_BUNDLE": true, "PIP_CERT": true,
	"CUDA_VISIBLE_DEVICES": true, "CUDA_DEVICE_ORDER": true, "CUDA_HOME": true, "NVIDIA_VISIBLE_DEVICES": true,
	"PYTORCH_CUDA_ALLOC_CONF": true, "NUMEXPR_MAX_THREADS": true, "SOURCE_DATE_EPOCH": true,
}

// harmlessPrefixes begin the names of others.
var harmlessPrefixes = []string{"LC_", "OMP_", "OPENBLAS_", "MKL_", "BLIS_", "MPL", "NUMBA_", "FONTCONFIG_"}

// indexVariables name indexes of packages, in which tokens may be.
var indexVariables = map[string]bool{
	"PIP_INDEX_URL": true, "PIP_EXTRA_INDEX_URL": true, "UV_INDEX_URL": true, "UV_DEFAULT_INDEX": true,
}

// harmless reports whether a variable may reach code that is confined.
func harmless(name, value string) bool {
	if harmlessVariables[name] {
		return true
	}
	if indexVariables[name] {
		return !strings.ContainsAny(value, "@?") // neither user:password@ nor ?token=
	}
	for _, prefix := range harmlessPrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// strangeVariables are those of the server's environment that would make
// another interpreter of the worker: another standard library, asserts left
// out, a prompt at its end, noise on stderr, figures that nobody sees.
var strangeVariables = map[string]bool{
	"PYTHONHOME": true, "PYTHONPLATLIBDIR": true, "PYTHONEXECUTABLE": true,
	"PYTHONOPTIMIZE": true, "PYTHONINSPECT": true, "PYTHONSTARTUP": true,
	"PYTHONVERBOSE": true, "PYTHONPROFILEIMPORTTIME": true, "PYTHONDEBUG": true,
	"PYTHONDUMPREFS": true, "PYTHONIOENCODING": true, "PYTHONLEGACYWINDOWSSTDIO": true,
	"__PYVENV_LAUNCHER__": true,
	"MPLBACKEND":          true,
}

// arrowMalloc begins the settings of the allocator in pyarrow, which pandas imports.
// Its background thread, which gives memory back a little later than the others do,
// would forbid copies of a session that was not forked from the zygote.
const arrowMalloc = "JE_ARROW_MALLOC_CONF="

func isArrowMalloc(entry string) bool { return strings.HasPrefix(entry, arrowMalloc) }

// arrowReserve is how much pyarrow's other allocator maps ahead: a gigabyte, if it isn't told.
// The zygote would do so before the limit of a session's memory is set, and where that is
// lower the session could map nothing more: no array, no library.
const arrowReserve = "MIMALLOC_ARENA_RESERVE="

func isArrowReserve(entry string) bool { return strings.HasPrefix(entry, arrowReserve) }

// environment returns the worker's environment: the server's, less what would
// disturb the worker and what configures the server, plus what the worker and
// the Pythons that its code starts need.
func (s *Spawner) environment(dir string, mark proc.Mark) []string {
	var env []string
	path := dir
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case s.options.Wall != nil && !harmless(name, value):
		case strangeVariables[name] || strings.HasPrefix(name, "UNDERSTUDY_") ||
			strings.HasPrefix(name, "OTEL_"): // the server's traces, with the credentials for them
		case name == "PYTHONPATH" && value != "":
			path += string(os.PathListSeparator) + value
		default:
			env = append(env, entry)
		}
	}
	if !slices.ContainsFunc(env, isArrowMalloc) {
		env = append(env, arrowMalloc+"background_thread:false")
	}
	if !slices.ContainsFunc(env, isArrowReserve) {
		env = append(env, arrowReserve+"0")
	}
	env = append(env,
		"PYTHONPATH="+path,
		proc.Variable+"="+mark.Value,
	)
	return append(env, s.options.Env...)
}
