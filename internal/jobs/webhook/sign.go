package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a delivery.
const (
	SignatureHeader         = "x-service-signature"
	VersionHeader           = "x-service-webhook-version"
	StandardIDHeader        = "webhook-id"
	StandardTimestampHeader = "webhook-timestamp"
	StandardSignatureHeader = "webhook-signature"
)

const (
	secretPrefix   = "whsec_"
	servicePrefix  = "sha256="
	standardPrefix = "v1,"
)

// Secret is a webhook secret of a consumer, exactly as it was shown to the
// consumer. Formatting a Secret does not print it.
type Secret struct {
	Value     string
	ExpiresAt time.Time // of a rotated secret: when it stops signing; zero for the current one
}

// NewSecret returns a new secret in the form of Standard Webhooks: whsec_ and
// 32 random bytes in base64.
func NewSecret() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never returns an error
	return secretPrefix + base64.StdEncoding.EncodeToString(key[:])
}

// Standard reports whether a secret has the form by which libraries of Standard Webhooks verify.
func Standard(secret string) bool {
	encoded, prefixed := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	return prefixed && err == nil && len(key) > 0
}

func (Secret) String() string   { return "[secret]" }
func (Secret) GoString() string { return "[secret]" }

// Sign sets the signature headers for a body sent at the given time.
//
// x-service-signature is sha256=<hex HMAC-SHA256(secret as shown, body)>. The
// Standard Webhooks headers sign "<id>.<timestamp>.<body>" with the decoded
// part of whsec_<base64>, or with the secret's own bytes if it has another
// form.
//
// Each secret that has not expired signs. webhook-signature lists the
// signatures, separated by spaces, as Standard Webhooks specifies.
// x-service-signature is sent once per secret, the current one first: a
// receiver that compares the first header keeps working with the current
// secret, and a receiver that reads all headers, or whose framework joins them
// with commas, finds either. One header with both signatures would break the
// first kind of receiver. Sending only the current one would break receivers
// that still have the old secret.
//
// It returns an error if every secret has expired.
func Sign(header http.Header, secrets []Secret, deliveryID string, at time.Time, body []byte) error {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	header.Del(SignatureHeader)
	var standard []string
	for _, secret := range secrets {
		if !secret.ExpiresAt.IsZero() && !at.Before(secret.ExpiresAt) {
			continue
		}
		service := hmac.New(sha256.New, []byte(secret.Value))
		service.Write(body)
		header.Add(SignatureHeader, servicePrefix+hex.EncodeToString(service.Sum(nil)))
		key := []byte(secret.Value) // of Standard Webhooks
		if encoded, ok := strings.CutPrefix(secret.Value, secretPrefix); ok {
			if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(decoded) > 0 {
				key = decoded
			}
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(deliveryID + "." + timestamp + "."))
		mac.Write(body)
		standard = append(standard, standardPrefix+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if len(standard) == 0 {
		return errors.New("the team has no webhook secret to sign with")
	}
	header.Set(StandardIDHeader, deliveryID)
	header.Set(StandardTimestampHeader, timestamp)
	header.Set(StandardSignatureHeader, strings.Join(standard, " "))
	return nil
}
