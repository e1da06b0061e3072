package plugins

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// check is what the schema has no word for: names, and values that must be of the
// type beside them. It brings values to their type where that loses nothing.
func (t tree) check(d *document) []fault {
	faults := t.checkParameters(d.Parameters)
	if strings.TrimSpace(d.Description) == "" {
		faults = append(faults, faultf(t.lines["description"], "description is empty"))
	}
	for i, r := range d.Returns {
		if !identifier.MatchString(r.Name) {
			path := under(at("returns", i), "name")
			faults = append(faults, faultf(t.lines[path], "%s is %q; it must be %s", path, clip(r.Name), identifierWords))
		}
	}
	for name, s := range d.Configuration {
		fixed, wrong := t.checkSetting("configuration."+name, s)
		d.Configuration[name] = fixed
		faults = append(faults, wrong...)
	}
	for i, name := range d.Preload {
		if path := at("preload", i); !module.MatchString(name) {
			faults = append(faults, faultf(t.lines[path], "%s is %q; it must be the name of a module, as sklearn.ensemble", path, clip(name)))
		}
	}
	return faults
}

func (t tree) checkParameters(parameters []parameter) []fault {
	var faults []fault
	seen, optional := map[string]bool{}, ""
	for i := range parameters {
		p, path := &parameters[i], at("parameters", i)
		say := func(key, format string, args ...any) {
			inner := under(path, key)
			faults = append(faults, faultf(t.lines[inner], inner+": "+format, args...))
		}
		_, p.hasDefault = t.lines[under(path, "default")]
		if err := checkParameterName(p.Name); err != nil {
			say("name", "%v", err)
		}
		if seen[p.Name] {
			say("name", "there is a parameter %s already", p.Name)
		}
		seen[p.Name] = true
		switch {
		case p.hasDefault && p.Required != nil && *p.Required:
			say("required", "it is true, and there is a default; take one of the two out")
		case p.required() && optional != "":
			say("name", "callers must give %s, but it comes after %s, which they may leave out; move it before that, or give it a default", p.Name, optional)
		case !p.required() && optional == "":
			optional = p.Name
		}
		faults = append(faults, t.checkValues(path, p)...)
	}
	return faults
}

// checkValues holds default and enum of a parameter against its type.
func (t tree) checkValues(path string, p *parameter) []fault {
	var faults []fault
	for i := range p.Enum {
		fixed, ok := convert(p.Enum[i], p.Type)
		if inner := at(under(path, "enum"), i); !ok {
			faults = append(faults, misfit(t.lines[inner], inner, p.Enum[i], p.Type))
		} else if contains(p.Enum[:i], fixed) {
			faults = append(faults, faultf(t.lines[inner], "%s: %s is there already", inner, clip(literal(fixed))))
		}
		p.Enum[i] = fixed
	}
	if p.Default == nil { // none, or null, which says that it was left out
		return faults
	}
	inner := under(path, "default")
	fixed, ok := convert(p.Default, p.Type)
	switch {
	case !ok:
		faults = append(faults, misfit(t.lines[inner], inner, p.Default, p.Type))
	case len(p.Enum) > 0 && !contains(p.Enum, fixed):
		faults = append(faults, faultf(t.lines[inner], "%s is %s, which is not in enum", inner, clip(literal(fixed))))
	}
	p.Default = fixed
	return faults
}

func (t tree) checkSetting(path string, s setting) (setting, []fault) {
	var faults []fault
	has := func(key string) bool {
		_, there := t.lines[under(path, key)]
		return there
	}
	if !has("default") && !has("value") {
		faults = append(faults, faultf(t.lines[path], "%s has no value; set it with value: …", clip(path)))
	}
	if kind := typeWords[s.Type]; has("value") && s.Value == nil && kind != "" {
		path := under(path, "value")
		faults = append(faults, faultf(t.lines[path], "%s is empty; it must be %s, as type says; leave it out for the default", clip(path), kind))
	}
	for key, value := range map[string]*any{"default": &s.Default, "value": &s.Value} {
		if *value == nil {
			continue
		}
		fixed, ok := convert(*value, s.Type)
		if !ok {
			faults = append(faults, misfit(t.lines[under(path, key)], under(path, key), *value, s.Type))
		}
		*value = fixed
	}
	if !has("value") {
		s.Value = s.Default
	}
	return s, faults
}

func misfit(line int, path string, value any, kind string) fault {
	return faultf(line, "%s is %s; it must be %s, as type says", clip(path), shown(path, value), typeWords[kind])
}

var typeWords = map[string]string{
	"str": "a text (put it in quotes)", "int": "a whole number", "float": "a number", "bool": "true or false",
	"list": "a list", "dict": "a mapping",
}

// convert returns value as one of the type.
func convert(value any, kind string) (any, bool) {
	number, isNumber := value.(json.Number)
	whole := isNumber && !strings.ContainsAny(number.String(), ".eE")
	ok := true
	switch kind {
	case "str":
		_, ok = value.(string)
	case "int":
		ok = whole
	case "float":
		ok = isNumber
		if whole {
			value = number + ".0"
		}
	case "bool":
		_, ok = value.(bool)
	case "list":
		_, ok = value.([]any)
	case "dict":
		_, ok = value.(map[string]any)
	}
	return value, ok
}

func contains(values []any, value any) bool {
	return slices.ContainsFunc(values, func(v any) bool { return reflect.DeepEqual(v, value) })
}
