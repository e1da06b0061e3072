package policy

import (
	"fmt"
	"regexp"
	"slices"
)

// key is a rule that is a list, by its name in the file.
type key struct {
	name string
	list func(*Rules) *[]string
	form *regexp.Regexp // of an item
	not  string         // what is said of an item of another form
	// allows says that the list names what is allowed: "all" lifts it.
	allows bool
}

// glob is a Python name in which * may stand for any characters.
const glob = `[\p{L}_*][\p{L}\p{Nd}_*]*`

var (
	moduleForm    = regexp.MustCompile(`^` + glob + `(\.` + glob + `)*$`)
	functionForm  = regexp.MustCompile(`^` + glob + `(\(\))?(\.` + glob + `(\(\))?)*$`)
	attributeForm = regexp.MustCompile(`^[\p{L}_][\p{L}\p{Nd}_]*$`)
	variableForm  = regexp.MustCompile(`^` + glob + `$`)
	packageForm   = regexp.MustCompile(`^(\*|[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)$`)
	commandForm   = regexp.MustCompile("^[^ \t\n;&|<>$`\"'()]+$")
)

const (
	notModule    = "is no module; write its name, as pandas or os.path, or pandas.* for what is below it"
	notFunction  = "is no function; write the name of a builtin, as open, or of one in a module, as os.system or os.exec*"
	notAttribute = "is no attribute; write its bare name, as __globals__"
	notVariable  = "is no name of a variable; * stands for any letters in it, as in df_*"
	notPackage   = "is no name of a package; write it without a version, as numpy, or \"*\" for whatever pip can install"
	notCommand   = "is no command; write its first word alone, as git"
)

var keys = []key{
	{"allowed_modules", func(r *Rules) *[]string { return &r.AllowedModules }, moduleForm, notModule, true},
	{"blocked_modules", func(r *Rules) *[]string { return &r.BlockedModules }, moduleForm, notModule, false},
	{"blocked_functions", func(r *Rules) *[]string { return &r.BlockedFunctions }, functionForm, notFunction, false},
	{"blocked_attributes", func(r *Rules) *[]string { return &r.BlockedAttributes }, attributeForm, notAttribute, false},
	{"allowed_variables", func(r *Rules) *[]string { return &r.AllowedVariables }, variableForm, notVariable, true},
	{"pip_packages", func(r *Rules) *[]string { return &r.PipPackages }, packageForm, notPackage, true},
	{"commands", func(r *Rules) *[]string { return &r.Commands }, commandForm, notCommand, true},
}

// keyOf returns the key of a name, nil for none.
func keyOf(name string) *key {
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
	if i < 0 {
		return nil
	}
	return &keys[i]
}

// check refuses an item that can't be one.
func (k *key) check(item string) error {
	if !k.form.MatchString(item) {
		return fmt.Errorf("%q %s", item, k.not)
	}
	return nil
}

// magics are the kinds of lines that the key of this name has a say in.
var magics = []string{"pip", "shell"}
