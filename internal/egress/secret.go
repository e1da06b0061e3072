package egress

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of a secret's value: what is shorter would be found by chance in what hosts answer.
const (
	shortestSecret = 8
	longestSecret  = 8 << 10
)

// Secret is a text that the proxy puts into requests, in the place of a placeholder that is
// all that sessions have of it.
type Secret struct {
	Name   string // letters, digits and underscores
	Value  string
	Places []Place
}

// Place says where a secret may be put in.
type Place struct {
	Host string // as example.com or localhost:8443; the port is 443 without one
	// Header and Query are the one header, or the one parameter of the query, that may have
	// it. Without either it is any header.
	Header, Query string
}

// SecretError says which secret can't be used, and never what it is.
type SecretError struct {
	Name string
	Err  error
}

func (e *SecretError) Error() string { return fmt.Sprintf("secret %s: %v", e.Name, e.Err) }

// Unwrap returns the cause.
func (e *SecretError) Unwrap() error { return e.Err }

// secret is a Secret in use.
type secret struct {
	name, value, placeholder string
}

// placed is a secret that a target gets.
type placed struct {
	*secret
	header, query string
}

// secrets are those of a proxy. The zero value has none.
type secrets struct {
	byPlaceholder map[string]*secret
	byTarget      map[target][]placed
	mask          masker
	certificates  *certificates // nil for none
}

func newSecrets(given []Secret) (*secrets, error) {
	s := &secrets{byPlaceholder: map[string]*secret{}, byTarget: map[target][]placed{}}
	var errs []error
	for _, one := range given {
		if err := s.add(one); err != nil {
			errs = append(errs, &SecretError{one.Name, err})
		}
	}
	if err := errors.Join(errs...); err != nil || len(given) == 0 {
		return s, err
	}
	var hosts []string
	for t := range s.byTarget {
		hosts = append(hosts, t.name)
	}
	slices.Sort(hosts)
	var err error
	if s.certificates, err = newCertificates(slices.Compact(hosts)); err != nil {
		return nil, fmt.Errorf("making certificates for the hosts of secrets: %w", err)
	}
	return s, nil
}

func (s *secrets) add(given Secret) error {
	switch {
	case len(given.Value) < shortestSecret || len(given.Value) > longestSecret:
		return fmt.Errorf("its value has %d bytes; a secret has from %d to %d", len(given.Value), shortestSecret, longestSecret)
	case strings.ContainsFunc(given.Value, func(c rune) bool { return c < ' ' || c > '~' }):
		return errors.New("its value has more than one line, or characters beyond ASCII, which no header may have")
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	its := &secret{name: given.Name, value: given.Value, placeholder: placeholderHead + given.Name + "-" + hex.EncodeToString(random[:])}
	s.byPlaceholder[its.placeholder] = its
	s.mask.add(its)
	for _, place := range given.Places {
		t, err := parseTarget(place.Host, 443)
		if err == nil && t.name == "" {
			err = errors.New("a secret is for a name, not for an address")
		}
		if err != nil {
			return fmt.Errorf("host %q: %w; write api.example.com or localhost:8443", place.Host, err)
		}
		s.byTarget[t] = append(s.byTarget[t], placed{its, place.Header, place.Query})
	}
	return nil
}

// holdsFor reports whether a host gets secrets, whatever the port.
func (s *secrets) holdsFor(t target) bool {
	for its := range s.byTarget {
		if t.name != "" && its.name == t.name {
			return true
		}
	}
	return false
}

// Placeholders are the values that sessions have in the place of the secrets, by their names.
func (p *Proxy) Placeholders() map[string]string {
	all := map[string]string{}
	for placeholder, its := range p.secrets.byPlaceholder {
		all[its.name] = placeholder
	}
	return all
}

// Certificate is that of the authority, as PEM, by which sessions know the proxy where it
// stands in for a host that gets secrets; nil without secrets.
func (p *Proxy) Certificate() []byte {
	if p.secrets.certificates == nil {
		return nil
	}
	return p.secrets.certificates.authority
}
