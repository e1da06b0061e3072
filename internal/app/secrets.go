package app

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"understudy/internal/config"
	"understudy/internal/egress"
)

// TakeSecrets reads the secrets of --secret, once: what the environment had of them is not
// passed on to any process that is started from now on.
func TakeSecrets(c *config.Config) ([]egress.Secret, error) {
	var all []egress.Secret
	var errs []error
	for _, secret := range c.Serve.Secrets() {
		value, err := secret.Read()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		one := egress.Secret{Name: secret.Name, Value: value}
		for _, place := range secret.Places {
			one.Places = append(one.Places, egress.Place{Host: place.Host, Query: place.Query, Header: place.Header})
		}
		all = append(all, one)
	}
	for _, secret := range c.Serve.Secrets() { // now, as two may have one variable
		if secret.Env != "" {
			errs = append(errs, os.Unsetenv(secret.Env))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, &config.UsageError{Err: err}
	}
	return all, nil
}

// CheckSecrets says what is wrong with the secrets, nil for nothing.
func CheckSecrets(c *config.Config) error {
	secrets, err := TakeSecrets(c)
	if err != nil {
		return err
	}
	proxy, err := newEgress(c.Serve.AllowNet, secrets, nil, slog.New(slog.DiscardHandler))
	proxy.Close()
	return err
}

// carried is what all sessions have of secrets: variables, and a file to read. The zero value
// is nothing.
type carried struct {
	environment map[string]string
	file        string
}

// trustVariables are those by which programs in sessions find whom to trust: OpenSSL and
// Python's ssl, requests, curl, git, pip, Node, and the tools of AWS.
var trustVariables = []string{
	"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "NODE_EXTRA_CA_CERTS", "AWS_CA_BUNDLE",
}

// carrySecrets writes the file by which sessions trust the proxy, and has them carry it with
// the placeholders.
func (a *App) carrySecrets(proxy *egress.Proxy) error {
	if len(a.config.Serve.Secret) == 0 {
		return nil
	}
	roots, from := systemRoots()
	if from == "" {
		a.log.Warn("no file with the system's certificates was found, so that code trusts the hosts of secrets alone; name one with SSL_CERT_FILE")
	}
	file := filepath.Join(a.run.dir, "trust.pem")
	text := bytes.Join([][]byte{bytes.TrimSpace(roots), proxy.Certificate()}, []byte("\n"))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("writing the certificates that sessions trust: %w", err)
	}
	if err := os.Chmod(file, 0o444); err != nil { // whoever the sessions run as, whatever the umask
		return err
	}
	a.python.carried = carried{proxy.Placeholders(), file}
	for _, name := range trustVariables {
		a.python.carried.environment[name] = file
	}
	for _, secret := range a.config.Serve.Secrets() {
		a.log.Info("code can use a secret that it does not read", "secret", secret.Name, "hosts", secret.Hosts())
	}
	return nil
}

// systemRoots returns the certificates that the system trusts, and where they are.
func systemRoots() (text []byte, from string) {
	for _, file := range []string{
		os.Getenv("SSL_CERT_FILE"), os.Getenv("REQUESTS_CA_BUNDLE"), os.Getenv("CURL_CA_BUNDLE"),
		"/etc/ssl/certs/ca-certificates.crt", // Debian, Alpine, Arch
		"/etc/pki/tls/certs/ca-bundle.crt",   // Fedora
		"/etc/ssl/ca-bundle.pem",             // SUSE
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"/etc/ssl/cert.pem",
	} {
		if text, err := os.ReadFile(file); err == nil && len(text) > 0 {
			return text, file
		}
	}
	return nil, ""
}
