package browser

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// rootsVariable is the variable with which crypto/x509 finds root certificates.
const rootsVariable = "SSL_CERT_FILE"

// ErrRoots is the error of Launch if the file of SSL_CERT_FILE cannot be read or has no certificates.
var ErrRoots = errors.New("cannot use the certificates of " + rootsVariable)

// maxRootsBytes limits the file of the root certificates. Those of Debian have 220 KB.
const maxRootsBytes = 1 << 20

// writePreferences writes the preferences of a new profile. It uses those of enterprise policies:
// URLBlocklist, URLAllowlist and CACertificates.
func writePreferences(profile string) error {
	roots, err := rootCertificates(os.Getenv(rootsVariable))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRoots, err)
	}
	content, _ := json.Marshal(map[string]any{
		"policy": map[string]any{
			"url_blocklist": []string{"*"},
			"url_allowlist": []string{"http://*", "https://*", "about:*", "blob:*", "data:*", "chrome://*"},
		},
		"certificates": map[string]any{"ca_certificates": roots},
	}) // texts and their lists always encode
	dir := filepath.Join(profile, "Default")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "Preferences"), content, 0o600)
}

// rootCertificates returns the certificates of a PEM file, or none without a file. As
// crypto/x509 does, it skips what it cannot parse.
func rootCertificates(path string) ([][]byte, error) {
	roots := [][]byte{}
	if path == "" {
		return roots, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rest, err := io.ReadAll(io.LimitReader(file, maxRootsBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(rest) > maxRootsBytes:
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxRootsBytes>>20)
	}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if _, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			roots = append(roots, block.Bytes)
		}
	}
	if len(roots) == 0 {
		return nil, errors.New(path + " has none")
	}
	return roots, nil
}
