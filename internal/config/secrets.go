package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Secret is one of --secret: what code can use and never reads.
type Secret struct {
	Name string // of the variable that holds a placeholder
	Env  string // the server's variable that has the value, or
	File string // the file
	// Places are hosts that get it: HOST, HOST?PARAMETER or HOST#HEADER.
	Places []SecretPlace
}

// SecretPlace is a host, and the one parameter of the query or the one header that gets the
// secret there; any header without either.
type SecretPlace struct{ Host, Query, Header string }

// How a secret begins, and all of it but further hosts.
var (
	secretHead = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	secretForm = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=(env|file):(.+)@([^@]+)$`)
	placeForm  = regexp.MustCompile(`^([^?#/\s]+)(?:\?([^?#&=\s]+)|#([A-Za-z0-9-]+))?$`)
)

// decodeSecrets takes NAME=env:VARIABLE@HOST,HOST and several of them. A flag that is
// repeated adds to what was said before. Each is kept as one text, as a file would have it.
func decodeSecrets(ctx *kong.DecodeContext, target reflect.Value) error {
	parts, err := popTexts(ctx)
	if err != nil {
		return err
	}
	var texts []string
	for _, part := range strings.Split(strings.Join(parts, ","), ",") {
		part = strings.TrimSpace(part)
		if len(texts) == 0 || secretHead.MatchString(part) {
			texts = append(texts, part)
		} else {
			texts[len(texts)-1] += "," + part // one more host
		}
	}
	for _, text := range texts {
		secret, err := parseSecret(text)
		if err != nil {
			return err
		}
		if secret.File != "" {
			text = strings.Replace(text, "file:"+secret.File, "file:"+kong.ExpandPath(secret.File), 1)
		}
		target.Set(reflect.Append(target, reflect.ValueOf(text)))
	}
	return nil
}

func parseSecret(text string) (s Secret, err error) {
	first, more, hasMore := strings.Cut(text, ",")
	found := secretForm.FindStringSubmatch(first)
	if found == nil {
		return s, fmt.Errorf("%q is no secret; write NAME=env:VARIABLE@HOST or NAME=file:PATH@HOST, as GITHUB_TOKEN=env:GITHUB_TOKEN@api.github.com", first)
	}
	s.Name = found[1]
	if found[2] == "env" {
		s.Env = found[3]
	} else {
		s.File = found[3]
	}
	hosts := []string{found[4]}
	if hasMore {
		hosts = append(hosts, strings.Split(more, ",")...)
	}
	for _, host := range hosts {
		place := placeForm.FindStringSubmatch(strings.TrimSpace(host))
		if place == nil {
			return s, fmt.Errorf("secret %s: %q is no place; write HOST for any header, HOST#HEADER for one, or HOST?PARAMETER for one of the query", s.Name, host)
		}
		s.Places = append(s.Places, SecretPlace{strings.ToLower(place[1]), place[2], place[3]})
	}
	return s, nil
}

// Secrets are those of --secret.
func (c Confine) Secrets() (all []Secret) {
	for _, text := range c.Secret {
		if secret, err := parseSecret(text); err == nil { // all were read before
			all = append(all, secret)
		}
	}
	return all
}

// Hosts are those that get the secret, each once.
func (s Secret) Hosts() (hosts []string) {
	for _, place := range s.Places {
		if !slices.Contains(hosts, place.Host) {
			hosts = append(hosts, place.Host)
		}
	}
	return hosts
}

// Read returns the secret's value. A line's end in a file is none of it.
func (s Secret) Read() (string, error) {
	if s.File == "" {
		value := os.Getenv(s.Env)
		if value == "" {
			return "", fmt.Errorf("secret %s: the server's environment has no %s; set it where the server is started, or leave the secret out", s.Name, s.Env)
		}
		return value, nil
	}
	text, err := os.ReadFile(s.File)
	if err != nil {
		return "", fmt.Errorf("secret %s: %w; name a file that the server can read, or leave the secret out", s.Name, err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// checkSecrets refuses secrets where nothing would keep them: the server's proxy does, and
// code must not get past it.
func (c Confine) checkSecrets(mode, system string) error {
	var problems []error
	var names []string
	for _, secret := range c.Secrets() {
		if slices.Contains(names, secret.Name) {
			problems = append(problems, fmt.Errorf("secret names %s twice; give it all of its hosts at once, as %s=env:…@HOST,HOST", secret.Name, secret.Name))
		}
		if ownVariables[secret.Name] || strings.HasPrefix(secret.Name, "UNDERSTUDY_") {
			problems = append(problems, fmt.Errorf("secret %s would take the place of a variable that interpreters need; give it another name", secret.Name))
		}
		names = append(names, secret.Name)
	}
	switch {
	case len(c.Secret) == 0:
	case system != "linux":
		problems = append(problems, fmt.Errorf("secret needs the sandbox of Linux, and this is %s; run the server in a Linux container or virtual machine, or leave --secret out", system))
	case mode == SandboxOff:
		problems = append(problems, errors.New("secret needs the sandbox, which is off: code could read the server's own environment and files; say --sandbox standard, or leave --secret out"))
	case c.AllowsAllNet():
		problems = append(problems, errors.New("secret needs the server's proxy, and allow-net is all, which goes past it; name the hosts that code may reach, or leave --secret out"))
	}
	return errors.Join(problems...)
}

// ownVariables are those without which an interpreter does not start, or does not reach the
// proxy.
var ownVariables = map[string]bool{
	"PATH": true, "HOME": true, "TMPDIR": true, "USER": true, "LD_PRELOAD": true, "LD_LIBRARY_PATH": true, "PYTHONPATH": true, "PYTHONHOME": true,
	"HTTP_PROXY": true, "HTTPS_PROXY": true, "NO_PROXY": true, "http_proxy": true, "https_proxy": true, "no_proxy": true,
}

// reachSecretHosts adds the hosts of secrets to those that code may reach.
func (c *Confine) reachSecretHosts() {
	if c.AllowsAllNet() {
		return
	}
	for _, secret := range c.Secrets() {
		for _, host := range secret.Hosts() {
			if !strings.Contains(host, ":") {
				host += ":443"
			}
			if !slices.Contains(c.AllowNet, host) && !slices.Contains(c.AllowNet, strings.TrimSuffix(host, ":443")) {
				c.AllowNet = append(c.AllowNet, host)
			}
		}
	}
}
