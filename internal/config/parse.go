package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"slices"
	"time"

	"github.com/alecthomas/kong"
	"github.com/dustin/go-humanize"
)

const description = `understudy gives LLM agents persistent Python sessions over MCP.

Every setting has an environment variable (UNDERSTUDY_ and the flag's name in capitals) and a key in the YAML file. Flags are stronger than the environment, which is stronger than the file. Durations are written 45s, 10m or 1h; a bare number means seconds. Sizes are written 900KB or 1GB.

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.`

// Source is where a configuration is read from. The zero value of each field
// means the process's own.
type Source struct {
	Args   []string
	Lookup func(name string) (string, bool) // the environment
	Stdout io.Writer                        // for help
	Exit   func(code int)                   // called after help was printed
}

// Parse reads the command line, the environment and the file. Its errors are
// *UsageError.
func Parse(source Source) (*Config, error) {
	config, err := parse(source.withDefaults())
	if err != nil {
		return nil, &UsageError{err}
	}
	return config, nil
}

func parse(source Source) (*Config, error) {
	config := &Config{}
	parser, err := newParser(config, source)
	if err != nil {
		return nil, err
	}
	context, err := parser.Parse(source.Args)
	var inFile *fileError
	if errors.As(err, &inFile) {
		return nil, inFile
	}
	if err != nil {
		return nil, err
	}
	config.Command = context.Selected().Path()
	if config.DataDir == "" && config.needsDataDir() {
		if config.DataDir, err = defaultDataDir(); err != nil {
			return nil, err
		}
	}
	if config.DataDir != "" {
		config.DataDir = withoutLinks(config.DataDir)
	}
	for _, flag := range context.Flags() {
		if flag.Tag.Has("retired") && flag.Target.String() != "" {
			config.Ignored = append(config.Ignored, fmt.Sprintf("%s (it is always %s; take out --%s, %s or its key in the file)",
				flag.Name, flag.Tag.Get("retired"), flag.Name, envName(flag)))
		}
	}
	switch config.Command {
	case "connect":
		config.Serve = config.Connect.Serve
		config.Serve.Transport = []string{TransportStdio} // which is how clients see it
		fallthrough
	case "serve":
		err := errors.Join(checkBounds(context.Flags()), config.Serve.Check(), config.CheckShares())
		config.Serve.reachSecretHosts()
		return config, err
	case "gateway":
		return config, errors.Join(checkBounds(context.Flags()), config.Gateway.Check())
	case "doctor":
		return config, config.askServe(source)
	}
	return config, nil
}

// askServe takes over the settings that the server would have without flags of its
// own: kong resolves those of the chosen command alone.
func (c *Config) askServe(source Source) error {
	source.Args = []string{"serve"}
	if c.Config != "" {
		source.Args = append(source.Args, "--config", c.Config)
	}
	serving, err := parse(source)
	if err == nil {
		c.Serve, c.Ignored = serving.Serve, serving.Ignored
	}
	return err
}

func (c *Config) needsDataDir() bool {
	return !slices.Contains([]string{"gateway", "install", "token", "completion", "schema", "version"}, c.Command)
}

func newParser(config *Config, source Source) (*kong.Kong, error) {
	return kong.New(config,
		kong.Name("understudy"),
		kong.Description(description),
		kong.Vars{
			"config_file": shown(defaultFile()),
			"data_dir":    shown(defaultDataDir()),
			// A kong variable because it depends on the system.
			"default_start": defaultStart(runtime.GOOS),
		},
		kong.TypeMapper(reflect.TypeFor[time.Duration](), decoded(parseDuration)),
		kong.NamedMapper("size", decoded(parseSize)),
		kong.NamedMapper("transports", listOf(parseTransport)),
		kong.NamedMapper("origins", listOf(parseOrigin)),
		kong.NamedMapper("hosts", listOf(parseHost)),
		kong.NamedMapper("policy", decoded(parsePolicy)),
		kong.NamedMapper("rules", listOf(parseRule)),
		kong.NamedMapper("servertools", listOf(parseServerTool)),
		kong.NamedMapper("modules", listOf(parseModule)),
		kong.NamedMapper("pythons", listOf(parsePython)),
		kong.NamedMapper("layers", listOf(parseLayer)),
		kong.NamedMapper("nethosts", listOf(parseNetHost)),
		kong.NamedMapper("secrets", kong.MapperFunc(decodeSecrets)),
		kong.NamedMapper("gpus", listOf(parseGPU)),
		kong.NamedMapper("existingpath", kong.MapperFunc(decodeExistingPaths)),
		kong.NamedMapper(typeLimit, limitOf(humanize.ParseBytes, "4096, 900KB, 1MiB or 2GB")),
		kong.NamedMapper(typeCount, limitOf(parseCount, "a number as 512")),
		kong.NamedMapper(typeTimeLimit, decoded(parseTimeLimit)),
		kong.NamedMapper("text", decoded(textOrFile)),
		kong.Resolvers(&resolver{lookup: source.Lookup, ignored: &config.Ignored}),
		kong.ConfigureHelp(kong.HelpOptions{
			NoExpandSubcommands: true,
			FlagsLast:           true,
			WrapUpperBound:      100,
		}),
		kong.PostBuild(addToHelp),
		kong.Writers(source.Stdout, os.Stderr),
		kong.Exit(source.Exit),
	)
}

func (s Source) withDefaults() Source {
	if s.Lookup == nil {
		s.Lookup = os.LookupEnv
	}
	if s.Stdout == nil {
		s.Stdout = os.Stdout
	}
	if s.Exit == nil {
		s.Exit = os.Exit
	}
	return s
}
