package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// longestDocument bounds what an issuer may answer, in bytes.
const longestDocument = 1 << 20

// issuer is where keys come from.
type issuer struct {
	url     string
	jwksURL string // asked for by the operator; "" is found out
	found   string // where the keys were the last time
	client  *http.Client
}

// newClient returns a client that follows redirects only to where it might
// have been sent at first.
func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone() // with connections of its own to close
	return &http.Client{
		Timeout: fetchTime, Transport: transport,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("too many redirects")
			}
			return checkURL("redirect", r.URL.String())
		},
	}
}

// checkURL refuses what isn't https, or http on this machine.
func checkURL(what, text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("%s is not a URL: %w", what, err)
	case u.Host == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("%s must be a URL as https://login.example.org, without user and fragment", what)
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	default:
		return fmt.Errorf("%s must begin with https:// (http:// is for this machine alone)", what)
	}
}

// checkOrigin refuses what has more than scheme and host: the metadata of a
// server below a path lies outside that path, where a proxy would not look for it.
func checkOrigin(text string) error {
	if text == "" {
		return nil
	}
	if err := checkURL("public-url", text); err != nil {
		return err
	}
	if u, err := url.Parse(text); err != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		return errors.New("public-url must be scheme and host alone, as https://python.example.org: this server is found at /mcp of a host of its own")
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// keys fetches the key set, from where the issuer says now that it is, or said the last
// time where its metadata is not to be had. Only one caller at a time.
func (i *issuer) keys(ctx context.Context) ([]byte, error) {
	if i.jwksURL != "" {
		return i.get(ctx, i.jwksURL)
	}
	var failures []error
	for _, place := range i.places() {
		from, err := i.discover(ctx, place)
		if err == nil {
			i.found = from
			return i.get(ctx, from)
		}
		failures = append(failures, err)
	}
	if i.found != "" {
		return i.get(ctx, i.found)
	}
	return nil, fmt.Errorf("finding the issuer's keys (--auth-jwks-url names them): %w", errors.Join(failures...))
}

// places are where an issuer may have its metadata: RFC 8414 puts the
// well-known part before the issuer's path, OpenID Connect behind it.
func (i *issuer) places() []string {
	u, err := url.Parse(i.url)
	if err != nil {
		return nil // checked before
	}
	path := strings.TrimRight(u.Path, "/")
	root := u.Scheme + "://" + u.Host
	places := []string{root + "/.well-known/oauth-authorization-server" + path, root + path + "/.well-known/openid-configuration"}
	if path != "" {
		places = append(places, root+"/.well-known/openid-configuration"+path)
	}
	return places
}

// discover reads one document of metadata.
func (i *issuer) discover(ctx context.Context, place string) (string, error) {
	text, err := i.get(ctx, place)
	if err != nil {
		return "", err
	}
	var metadata struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(text, &metadata); err != nil {
		return "", fmt.Errorf("%s: %w", place, err)
	}
	if metadata.Issuer != i.url { // RFC 8414, section 3.3: it speaks for somebody else
		return "", fmt.Errorf("%s is of issuer %.200q, not of %q", place, metadata.Issuer, i.url)
	}
	return metadata.JWKSURI, checkURL("jwks_uri of "+place, metadata.JWKSURI)
}

func (i *issuer) get(ctx context.Context, from string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := i.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", from, response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, longestDocument+1))
	if err == nil && len(text) > longestDocument {
		err = fmt.Errorf("%s answered more than %d bytes", from, longestDocument)
	}
	return text, err
}
