package browser_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
)

// privateSite serves a page with a certificate of a private CA. It returns its address and
// the CA's certificate in PEM.
func privateSite(t *testing.T) (address string, roots []byte) {
	t.Helper()
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	ca.Subject.CommonName = "Private CA"
	leaf := &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	signed := func(serial int64, certificate *x509.Certificate, public *ecdsa.PublicKey) []byte {
		certificate.SerialNumber = big.NewInt(serial)
		certificate.NotBefore, certificate.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, certificate, ca, public, caKey)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	roots = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed(1, ca, &caKey.PublicKey)})
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<!doctype html><title>Meeting</title>") // the browser may be gone
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // browsers refuse the certificate
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{signed(2, leaf, &key.PublicKey)}, PrivateKey: key}},
		MinVersion:   tls.VersionTLS12,
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, roots
}

// TestPrivateCA opens the pages of two sites with certificates of private CAs. SSL_CERT_FILE has one of
// them beside the certificates of the system.
func TestPrivateCA(t *testing.T) {
	ctx := limited(t)
	site, roots := privateSite(t)
	other, _ := privateSite(t)
	system, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	if err != nil {
		t.Log("without the certificates of the system: ", err)
	}
	bundle := filepath.Join(t.TempDir(), "bundle.pem")
	if err := os.WriteFile(bundle, slices.Concat(system, []byte("Private CA\n"), roots), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, trusted := range map[string]bool{"": false, bundle: true} {
		t.Setenv(rootsVariable, path)
		b := launchWith(t, ctx, browser.Options{})
		for address, opens := range map[string]bool{site: trusted, other: false} {
			p, err := b.NewPage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			var refused *browser.NavigationError
			switch err := p.Navigate(ctx, address); {
			case opens && err != nil:
				t.Errorf("with %q: %v", path, err)
			case !opens && (!errors.As(err, &refused) || !strings.Contains(refused.Reason, "ERR_CERT_AUTHORITY_INVALID")):
				t.Errorf("with %q, a site of an unknown CA: %v", path, err)
			}
			p.Close()
		}
	}
}

// rootsVariable names the file of root certificates.
const rootsVariable = "SSL_CERT_FILE"

func TestLaunchRejectsInvalidRoots(t *testing.T) {
	file := filepath.Join(t.TempDir(), "roots.pem")
	hostile := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("\x00\u202e")})
	for want, content := range map[string][]byte{
		"no such file": nil, "has none": hostile, "larger than 1 MiB": bytes.Repeat(hostile, 1<<20/len(hostile)+1),
	} {
		if content != nil {
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		path := file
		if content == nil {
			path += ".missing"
		}
		t.Setenv(rootsVariable, path)
		a := attemptLaunch(t, browser.Options{})
		if len(a.arguments) > 0 || !strings.Contains(a.err.Error(), rootsVariable) || !strings.Contains(a.err.Error(), want) {
			t.Errorf("Launch = %v, want %s; the browser got %q", a.err, want, a.arguments)
		}
		requireRemoved(t, a.profile)
	}
}
