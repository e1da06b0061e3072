package egress

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// lasting is longer than any server runs.
const lasting = 10 * 365 * 24 * time.Hour

// certificates are those that the proxy shows in the place of hosts that get secrets. The key
// of their authority is forgotten once they are made: nobody can make more.
type certificates struct {
	authority []byte // PEM
	of        map[string]*tls.Certificate
}

// newCertificates makes an authority that is good for these hosts alone, and a certificate
// for each.
func newCertificates(hosts []string) (*certificates, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	root := template("understudy, for the hosts of secrets in one run")
	root.IsCA, root.BasicConstraintsValid, root.MaxPathLenZero = true, true, true
	root.KeyUsage = x509.KeyUsageCertSign
	root.PermittedDNSDomainsCritical, root.PermittedDNSDomains = true, hosts
	// Constraints of names say nothing of addresses.
	root.ExcludedIPRanges = []*net.IPNet{{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, {IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}}
	der, err := x509.CreateCertificate(rand.Reader, root, root, key.Public(), key)
	if err != nil {
		return nil, err
	}
	if root, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	made := &certificates{
		authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		of:        map[string]*tls.Certificate{},
	}
	for _, host := range hosts {
		if made.of[host], err = makeCertificate(host, root, key); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func makeCertificate(host string, root *x509.Certificate, by *ecdsa.PrivateKey) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf := template("understudy, in the place of a host that gets secrets")
	leaf.DNSNames = []string{host}
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	leaf.BasicConstraintsValid = true
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, key.Public(), by)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der, root.Raw}, PrivateKey: key}, nil
}

// template is what all certificates have. A clock that is behind takes them, too.
func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // never fails
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{name}},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(lasting),
	}
}
