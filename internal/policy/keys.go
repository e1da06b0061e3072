package policy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// key is a rule that is a list, by its name in the file.
type key struct {
	name  string
	list  func(*Rules) *[]string
	check func(item string) error
	// allows says that the list names what is allowed: "all" lifts it.
	allows bool
}

var keys = []key{
	{"allowed_modules", func(r *Rules) *[]string { return &r.AllowedModules }, checkModule, true},
	{"blocked_modules", func(r *Rules) *[]string { return &r.BlockedModules }, checkModule, false},
	{"blocked_functions", func(r *Rules) *[]string { return &r.BlockedFunctions }, checkFunction, false},
	{"blocked_attributes", func(r *Rules) *[]string { return &r.BlockedAttributes }, checkAttribute, false},
	{"allowed_variables", func(r *Rules) *[]string { return &r.AllowedVariables }, checkVariable, true},
	{"pip_packages", func(r *Rules) *[]string { return &r.PipPackages }, checkPackage, true},
	{"commands", func(r *Rules) *[]string { return &r.Commands }, checkCommand, true},
}

func keyOf(name string) (key, bool) {
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
	if i < 0 {
		return key{}, false
	}
	return keys[i], true
}

// magics are the kinds of lines that the key of this name has a say in.
var magics = []string{"pip", "shell"}

// glob is a Python name in which * may stand for any characters.
const glob = `[\p{L}_*][\p{L}\p{Nd}_*]*`

var (
	moduleForm    = regexp.MustCompile(`^` + glob + `(\.` + glob + `)*$`)
	functionForm  = regexp.MustCompile(`^` + glob + `(\(\))?(\.` + glob + `(\(\))?)*$`)
	attributeForm = regexp.MustCompile(`^[\p{L}_][\p{L}\p{Nd}_]*$`)
	variableForm  = regexp.MustCompile(`^` + glob + `$`)
	packageForm   = regexp.MustCompile(`^(\*|[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)$`)
)

func checkModule(item string) error {
	return matching(moduleForm, item, "is no module; write its name, as pandas or os.path, or pandas.* for what is below it")
}

func checkFunction(item string) error {
	return matching(functionForm, item, "is no function; write the name of a builtin, as open, or of one in a module, as os.system or os.exec*")
}

func checkAttribute(item string) error {
	return matching(attributeForm, item, "is no attribute; write its bare name, as __globals__")
}

func checkVariable(item string) error {
	return matching(variableForm, item, "is no name of a variable; * stands for any letters in it, as in df_*")
}

func checkPackage(item string) error {
	return matching(packageForm, item, "is no name of a package; write it without a version, as numpy, or \"*\" for whatever pip can install")
}

func checkCommand(item string) error {
	if strings.ContainsAny(item, " \t\n;&|<>$`\"'()") {
		return fmt.Errorf("%q is no command; write its first word alone, as git", item)
	}
	return nil
}

func matching(form *regexp.Regexp, item, not string) error {
	if !form.MatchString(item) {
		return fmt.Errorf("%q %s", item, not)
	}
	return nil
}

var errNoValue = errors.New("it has no value; write one, or remove the line")
