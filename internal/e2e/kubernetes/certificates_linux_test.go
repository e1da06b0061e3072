package kubernetes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"text/template"
	"time"
)

// authority signs for who is who in the cluster. Its own certificate is ca.crt,
// in the folder of those that it issues.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(dir string) (*authority, error) {
	a := &authority{dir: dir}
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = a.issue("ca", pkix.Name{CommonName: "test cluster"})
	}
	return a, err
}

// issue makes a key and a certificate, name.key and name.crt. The first is the
// authority's own.
func (a *authority) issue(name string, subject pkix.Name, hosts ...string) error {
	key, err := a.newKey(name)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return err
	}
	sheet := &x509.Certificate{
		SerialNumber: serial, Subject: subject,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			sheet.IPAddresses = append(sheet.IPAddresses, address)
		} else {
			sheet.DNSNames = append(sheet.DNSNames, host)
		}
	}
	if a.certificate == nil {
		sheet.IsCA, sheet.BasicConstraintsValid, sheet.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
		a.certificate, a.key = sheet, key
	}
	signed, err := x509.CreateCertificate(rand.Reader, sheet, a.certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	return a.write(name+".crt", "CERTIFICATE", signed)
}

// newKey makes a private key, name.key.
func (a *authority) newKey(name string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	return key, errors.Join(err, a.write(name+".key", "EC PRIVATE KEY", encoded))
}

func (a *authority) write(file, kind string, content []byte) error {
	return os.WriteFile(a.path(file), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600)
}

func (a *authority) path(file string) string { return filepath.Join(a.dir, file) }

var kubeconfig = template.Must(template.New("kubeconfig").Parse(`apiVersion: v1
kind: Config
current-context: here
clusters:
- name: here
  cluster: {server: "https://` + serviceAddress + `:443", certificate-authority: {{.Dir}}/ca.crt}
users:
- name: me
{{- if .Token}}
  user: {token: {{.Token}}}
{{- else}}
  user: {client-certificate: {{.Dir}}/{{.Name}}.crt, client-key: {{.Dir}}/{{.Name}}.key}
{{- end}}
contexts:
- name: here
  context: {cluster: here, user: me, namespace: {{.Namespace}}}
`))

// writeKubeconfig writes how a client reaches the API server: by the certificate of a
// name, or by a token. It returns the file's path.
func (a *authority) writeKubeconfig(name, token, namespace string) (string, error) {
	path := a.path(name + ".kubeconfig")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	values := map[string]string{"Dir": a.dir, "Name": name, "Token": token, "Namespace": namespace}
	return path, errors.Join(kubeconfig.Execute(file, values), file.Close())
}

// issueAll issues what the parts of the cluster need, and a kubeconfig for each
// that calls the API server.
func (a *authority) issueAll() error {
	server := a.issue("apiserver", pkix.Name{CommonName: "kube-apiserver"},
		"127.0.0.1", nodeAddress, serviceAddress, "localhost", "kubernetes.default.svc")
	_, tokens := a.newKey("tokens")
	err := errors.Join(server, tokens)
	for name, subject := range map[string]pkix.Name{
		"admin":              {CommonName: "admin", Organization: []string{"system:masters"}},
		"controller-manager": {CommonName: "system:kube-controller-manager"},
		"scheduler":          {CommonName: "system:kube-scheduler"},
		"node":               {CommonName: "system:node:" + nodeName, Organization: []string{"system:nodes"}},
	} {
		_, config := a.writeKubeconfig(name, "", "default")
		err = errors.Join(err, a.issue(name, subject), config)
	}
	return err
}
