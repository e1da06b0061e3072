package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/schemas"
	"understudy/sessions"
	"understudy/tools/answer"
)

const (
	mostPackages   = 50   // of one call
	longestPackage = 1000 // bytes
)

// InstallOptions say from where agents may install packages.
type InstallOptions struct {
	// Restricted says that code reaches no hosts but Hosts, as pypi.org, *.example.com
	// or localhost:8080; none if there are none.
	Restricted bool
	Hosts      []string
}

// installs reports whether agents may install packages: a policy may have it that no
// line with pip passes, and commands have no use for a session's packages.
func (o Options) installs() bool {
	return o.Install != nil && cmp.Or(o.Mode, ModeFull) == ModeFull && (o.Rules == nil || !o.Rules.NoPip)
}

// noInstall says why packages can't be installed.
func (b *toolbox) noInstall() error {
	why := "this server was started without --allow-install; do with the packages that are there, or tell the user"
	switch {
	case b.Mode != ModeFull:
		why = "this server runs no code (--mode " + b.Mode + ")"
	case b.Install != nil:
		why = "the policy of this server refuses it; do with the packages that are there"
	}
	return sessions.Errorf(sessions.CodeRefused, "packages can't be installed: %s", why)
}

// install installs packages, as an execution of the interpreter's.
func (b *toolbox) install(ctx context.Context, c operationCall) (*mcp.CallToolResult, error) {
	what, err := b.Install.request(c.Packages)
	if err != nil {
		return nil, err
	}
	what.InterpreterID, what.Wait = c.InterpreterID, seconds(c.Wait)
	return b.execute(ctx, c.request, what)
}

// request is the execution that installs the packages.
func (o *InstallOptions) request(packages []string) (r sessions.RunRequest, err error) {
	wanted := struct {
		Packages []string  `json:"packages"`
		Hosts    *[]string `json:"hosts,omitempty"`
	}{Packages: make([]string, 0, len(packages))}
	switch {
	case len(packages) == 0:
		return r, packagesFault(`is required for install operation: what to install, as in ["polars>=1", "./file.whl"]`)
	case len(packages) > mostPackages:
		return r, packagesFault("has %d items, and at most %d are taken at once; install the first ones first", len(packages), mostPackages)
	}
	for _, each := range packages {
		each = strings.TrimSpace(each)
		if err := check(each); err != nil {
			return r, err
		}
		wanted.Packages = append(wanted.Packages, each)
	}
	if o.Restricted {
		hosts := append([]string{}, o.Hosts...) // never null
		wanted.Hosts = &hosts
	}
	arguments, err := json.Marshal(wanted)
	return sessions.RunRequest{Kind: sessions.RunsInstall, Code: pipLine(wanted.Packages), Arguments: arguments}, err
}

func packagesFault(format string, args ...any) error {
	return &schemas.ArgumentError{Argument: "packages", Message: `argument "packages" ` + fmt.Sprintf(format, args...)}
}

// addressed finds what a requirement has of a URL: its scheme.
var addressed = regexp.MustCompile(`^(?:[^@:/\\]*@\s*)?([A-Za-z][A-Za-z0-9+.-]+):`)

// check refuses what is no requirement. Which hosts can be reached is for the sandbox to say.
func check(requirement string) error {
	shown := answer.Clip(requirement, 100)
	switch {
	case requirement == "":
		return packagesFault("has an empty item; give names of packages, as polars>=1, or files in the working directory, as ./file.whl")
	case strings.HasPrefix(requirement, "-"):
		return packagesFault("has the option %q, and takes none; give requirements only", shown)
	case len(requirement) > longestPackage:
		return packagesFault("has an item of %d bytes, and each may have %d", len(requirement), longestPackage)
	case strings.ContainsFunc(requirement, unicode.IsControl):
		return packagesFault("has a control character in %q; write each requirement as an item of its own", shown)
	}
	if scheme := addressed.FindStringSubmatch(requirement); scheme != nil && !strings.EqualFold(scheme[1], "https") {
		return packagesFault("has %q: of addresses only those with https:// are taken; for a file give its path, as ./file.whl", shown)
	}
	return nil
}

// pipLine is the line of code that installs the same: it is what a policy judges, and
// what a journal, and a notebook that is made of it, shows.
func pipLine(packages []string) string {
	line := "%pip install"
	for _, each := range packages {
		line += " " + shellWord(each)
	}
	return line
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./,:=+@-]+$`)

// shellWord writes a word as a line with pip takes it.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
}
