// Package mailhost starts IMAP and SMTP hosts for tests that read and send mail.
package mailhost

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// certificate is that of net/http/httptest for 127.0.0.1, with its key.
var certificate = sync.OnceValue(func() tls.Certificate {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair := server.TLS.Certificates[0]
	pair.Leaf = server.Certificate()
	return pair
})

// TLS returns the configurations of a server with a certificate for 127.0.0.1, and of a client
// that trusts it.
func TLS() (server, client *tls.Config) {
	pair, pool := certificate(), x509.NewCertPool()
	pool.AddCert(pair.Leaf)
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, &tls.Config{
		RootCAs: pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12,
	}
}

// CertificateFiles writes the certificate and its key to files.
func CertificateFiles(t testing.TB) (certFile, keyFile string) {
	t.Helper()
	pair := certificate()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: pair.Leaf.Raw}, keyFile: {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}
