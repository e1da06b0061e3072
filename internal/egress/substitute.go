package egress

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// placeholderHead begins the placeholders of all servers.
const placeholderHead = "understudy-secret-"

var placeholders = regexp.MustCompile(placeholderHead + `[A-Za-z0-9_]+-[0-9a-f]{32}`)

// put puts secrets into a request for a target that gets some. The error is a *refusal where
// a placeholder stands that is not for there.
func (s *secrets) put(r *http.Request, t target) error {
	for name, values := range r.Header {
		for i, value := range values {
			replaced, err := s.replace(value, t, func(p placed) bool {
				return p.query == "" && (p.header == "" || strings.EqualFold(p.header, name))
			})
			if err != nil {
				return err
			}
			values[i] = replaced
		}
	}
	if err := s.putIntoQuery(r.URL, t); err != nil {
		return err
	}
	_, err := s.replace(r.URL.Path, t, func(placed) bool { return false })
	return err
}

// putIntoQuery leaves all else of the query as it is written.
func (s *secrets) putIntoQuery(u *url.URL, t target) error {
	parts := strings.Split(u.RawQuery, "&")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		name, badName := url.QueryUnescape(name)
		plain, badValue := url.QueryUnescape(value)
		if badName != nil || badValue != nil {
			name, plain = "", part
		}
		replaced, err := s.replace(plain, t, func(p placed) bool { return p.query != "" && p.query == name })
		if err != nil {
			return err
		}
		if _, err := s.replace(name, t, func(placed) bool { return false }); err != nil {
			return err
		}
		if replaced != plain {
			parts[i] = url.QueryEscape(name) + "=" + url.QueryEscape(replaced)
		}
	}
	u.RawQuery = strings.Join(parts, "&")
	return nil
}

// replace returns a text with secrets in the place of placeholders; may says which of the
// target's may stand there. What Basic authentication encodes counts as well.
func (s *secrets) replace(text string, t target, may func(placed) bool) (string, error) {
	if scheme, plain, isBasic := basic(text); isBasic {
		replaced, err := s.replace(plain, t, may)
		if err != nil || replaced == plain {
			return text, err
		}
		return scheme + " " + base64.StdEncoding.EncodeToString([]byte(replaced)), nil
	}
	if !strings.Contains(text, placeholderHead) {
		return text, nil
	}
	var refused error
	replaced := placeholders.ReplaceAllStringFunc(text, func(found string) string {
		its := s.byPlaceholder[found]
		for _, p := range s.byTarget[t] {
			if p.secret == its && may(p) {
				return its.value
			}
		}
		refused = refuse(t, s.misplaced(its, t))
		return found
	})
	return replaced, refused
}

// misplaced says why a placeholder may not stand where it was found.
func (s *secrets) misplaced(its *secret, t target) string {
	if its == nil {
		return "the request has the placeholder of a secret that this server does not have; read the environment variable again"
	}
	for _, p := range s.byTarget[t] {
		switch {
		case p.secret != its:
		case p.query != "":
			return fmt.Sprintf("the secret %s is put into the parameter %s of the query, and the placeholder stands elsewhere", its.name, p.query)
		case p.header != "":
			return fmt.Sprintf("the secret %s is put into the header %s, and the placeholder stands elsewhere", its.name, p.header)
		default:
			return fmt.Sprintf("the secret %s is put into headers, and the placeholder stands in the URL", its.name)
		}
	}
	return fmt.Sprintf("the request has the placeholder of the secret %s, which is not for this host (the server's --secret)", its.name)
}

// basic decodes the value of a header for Basic authentication.
func basic(text string) (scheme, plain string, ok bool) {
	scheme, encoded, _ := strings.Cut(text, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(encoded), "="))
	return scheme, string(decoded), err == nil
}

// guard refuses a request that can be seen, and has a placeholder that is not for there, or
// goes without TLS to a host that gets secrets.
func (s *secrets) guard(r *http.Request, t target) error {
	if s.certificates == nil {
		return nil
	}
	if r.Method != http.MethodConnect && s.holdsFor(t) {
		return refuse(t, "this host gets a secret, which goes over TLS alone: use https://")
	}
	// Nothing is for any host here: a target that gets secrets has a tunnel.
	texts := []string{r.URL.String()}
	for _, values := range r.Header {
		texts = append(texts, values...)
	}
	for _, text := range texts {
		if _, err := s.replace(text, t, func(placed) bool { return false }); err != nil {
			return err
		}
	}
	return nil
}
