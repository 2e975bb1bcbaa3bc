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

// The headers of a delivery. Header names are not case-sensitive.
const (
	SignatureHeader         = "x-service-signature"
	VersionHeader           = "x-service-webhook-version"
	StandardIDHeader        = "webhook-id"
	StandardTimestampHeader = "webhook-timestamp"
	StandardSignatureHeader = "webhook-signature"
)

const (
	secretPrefix      = "whsec_"
	servicePrefix     = "sha256="
	standardPrefix    = "v1,"
	timestampLeniency = 5 * time.Minute // what the Standard Webhooks libraries allow
)

// ErrSignature says that a request was not signed with the secret it should
// have been signed with, or too long ago.
var ErrSignature = errors.New("webhook signature does not verify")

// Secret is a consumer's webhook secret, exactly as it was shown to the
// consumer. It hides itself from logs.
type Secret struct {
	Value     string
	ExpiresAt time.Time // zero for the current one; of a rotated one, when it stops signing
}

// NewSecret returns a fresh secret in the form of Standard Webhooks: whsec_
// and 32 random bytes in base64.
func NewSecret() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails: the program ends instead
	return secretPrefix + base64.StdEncoding.EncodeToString(key[:])
}

func (Secret) String() string   { return "[secret]" }
func (Secret) GoString() string { return "[secret]" }

// Sign sets the signature headers of a body that is sent at the given time.
//
// x-service-signature is sha256=<hex HMAC-SHA256(secret as shown, body)>. The
// Standard Webhooks headers sign "<id>.<timestamp>.<body>"; their key is the
// decoded part of whsec_<base64>, and the secret's own bytes where the secret
// has another form.
//
// While a rotated secret still counts, each secret signs. webhook-signature
// then lists the signatures with a space between, as Standard Webhooks says.
// x-service-signature is sent once for each, the current secret's first: a
// receiver that takes the first header of a name and compares it whole goes on
// working with the current secret, and one that takes all, or whose framework
// joins them with a comma, finds either. Putting both into one header would
// break the former; sending the current one only would break every receiver
// that still holds the old secret.
//
// It is an error if no secret counts at that time.
func Sign(header http.Header, secrets []Secret, deliveryID string, at time.Time, body []byte) error {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	header.Del(SignatureHeader)
	var standard []string
	for _, secret := range secrets {
		if !secret.ExpiresAt.IsZero() && !at.Before(secret.ExpiresAt) {
			continue
		}
		header.Add(SignatureHeader, serviceSignature(secret.Value, body))
		standard = append(standard, standardSignature(secret.Value, deliveryID, timestamp, body))
	}
	if len(standard) == 0 {
		return errors.New("the consumer has no webhook secret to sign with")
	}
	header.Set(StandardIDHeader, deliveryID)
	header.Set(StandardTimestampHeader, timestamp)
	header.Set(StandardSignatureHeader, strings.Join(standard, " "))
	return nil
}

// Verify checks both signatures of a delivery against the receiver's secret,
// in constant time, and that it was sent within five minutes of now. Its error
// is ErrSignature.
func Verify(header http.Header, body []byte, secret string, now time.Time) error {
	seconds, err := strconv.ParseInt(header.Get(StandardTimestampHeader), 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > timestampLeniency {
		return ErrSignature
	}
	var service []string
	for _, value := range header.Values(SignatureHeader) {
		for part := range strings.SplitSeq(value, ",") {
			service = append(service, strings.TrimSpace(part))
		}
	}
	standard := strings.Fields(header.Get(StandardSignatureHeader))
	wanted := standardSignature(secret, header.Get(StandardIDHeader), header.Get(StandardTimestampHeader), body)
	if !contains(service, serviceSignature(secret, body)) || !contains(standard, wanted) {
		return ErrSignature
	}
	return nil
}

// contains compares in constant time.
func contains(signatures []string, wanted string) bool {
	found := false
	for _, signature := range signatures {
		if hmac.Equal([]byte(signature), []byte(wanted)) {
			found = true
		}
	}
	return found
}

func serviceSignature(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return servicePrefix + hex.EncodeToString(mac.Sum(nil))
}

func standardSignature(secret, deliveryID, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, standardKey(secret))
	mac.Write([]byte(deliveryID + "." + timestamp + "."))
	mac.Write(body)
	return standardPrefix + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// standardKey returns the key a secret stands for in Standard Webhooks.
func standardKey(secret string) []byte {
	if encoded, ok := strings.CutPrefix(secret, secretPrefix); ok {
		if key, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(key) > 0 {
			return key
		}
	}
	return []byte(secret)
}
