package config

import (
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// withheld stands for a secret in the settings that YAML writes.
const withheld = "[session variable]"

// YAML writes the settings of the server in the form of the file, without secrets:
// session variables have names only, also where other settings repeat a value of
// four characters or more, and addresses no passwords.
func (c *Config) YAML() (string, error) {
	settled := *c
	nowhere := func(string) (string, bool) { return "", false }
	parser, err := newParser(&settled, Source{Lookup: nowhere, Stdout: io.Discard}.withDefaults())
	if err != nil {
		return "", err
	}
	document := &yaml.Node{Kind: yaml.MappingNode}
	for _, flag := range settings(parser.Model) {
		if flag.Name == "config" || flag.Hidden || isEmpty(flag.Target) {
			continue // its settings are here, or it sets nothing
		}
		var key, value yaml.Node
		key.SetString(flag.Name)
		if err := value.Encode(c.plain(flag.Target, flag.Tag.Type)); err != nil {
			return "", err
		}
		document.Content = append(document.Content, &key, &value)
	}
	text, err := yaml.Marshal(document)
	return string(text), err
}

func isEmpty(value reflect.Value) bool {
	switch value.Kind() {
	case reflect.String, reflect.Slice, reflect.Map:
		return value.Len() == 0
	}
	return false
}

// plain returns a setting's value as YAML writes it; kind is the type in its tag.
func (c *Config) plain(value reflect.Value, kind string) any {
	switch v := value.Interface().(type) {
	case int64:
		if v == LimitAuto && (kind == typeLimit || kind == typeCount) {
			return "auto"
		}
		return v
	case time.Duration:
		if v == LimitNone && kind == typeTimeLimit {
			return "none"
		}
		return v.String()
	case map[string]string:
		names := map[string]string{}
		for name := range v {
			names[name] = withheld
		}
		return names
	case string:
		return c.WithoutSecrets(v)
	case []string:
		clean := make([]string, len(v))
		for i := range v {
			clean[i] = c.WithoutSecrets(v[i])
		}
		return clean
	default:
		return v
	}
}

// password is that of an address, with what stands before it.
var password = regexp.MustCompile(`(://[^/\s:@]*:)[^/\s@]+@`)

// WithoutSecrets leaves the values of session variables and the passwords in addresses out
// of a text.
func (c *Config) WithoutSecrets(text string) string {
	text = password.ReplaceAllString(text, "${1}xxxxx@")
	var values []string
	for _, value := range c.Serve.SessionVariables {
		if len([]rune(value)) >= 4 {
			values = append(values, value)
		}
	}
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	for _, value := range values {
		text = strings.ReplaceAll(text, value, withheld)
	}
	return text
}
