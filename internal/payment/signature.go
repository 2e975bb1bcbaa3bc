package payment

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The headers that may carry the signature: the specification's and the
// provider's own (contract, Payments).
const (
	Header         = "Payment-Signature"
	ProviderHeader = "Stripe-Signature"
)

// Tolerance is how far the signature's time may be from now, either way, in
// whole seconds (contract, Payments).
const Tolerance = 300 * time.Second

// maxHeader bounds the header, and with it how many signatures are compared.
// The provider sends two or three: one for each secret in use.
const maxHeader = 4096

// Errors of Verify.
var (
	// ErrNoSecret says that no secret is configured, so nothing can be
	// verified.
	ErrNoSecret = errors.New("the payment webhook secret is not configured")
	// ErrSignature is what every error about a signature wraps.
	ErrSignature = errors.New("missing or invalid payment signature")
)

// Verify returns nil when the header signs the body with the secret and is
// not older or newer than Tolerance. The whole secret is the key, as the
// provider shows it. An error wraps ErrSignature, or is ErrNoSecret.
func Verify(secret, header string, body []byte, now time.Time) error {
	if secret == "" {
		return ErrNoSecret // with an empty key anybody could sign
	}
	signed, err := parseHeader(header)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSignature, err)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(signed.text))
	mac.Write([]byte{'.'})
	mac.Write(body)
	expected := mac.Sum(nil)
	matches := false
	for _, candidate := range signed.signatures {
		if hmac.Equal(candidate, expected) {
			matches = true // and on: which one it was shows in no timing
		}
	}
	if !matches {
		return fmt.Errorf("%w: no signature matches", ErrSignature)
	}
	age := now.Unix() - signed.seconds
	if limit := int64(Tolerance / time.Second); age > limit || age < -limit {
		return fmt.Errorf("%w: its time is %d s from now", ErrSignature, age)
	}
	return nil
}

// signed is what a signature header says.
type signed struct {
	text       string   // of t, which is what was signed
	seconds    int64    // the same as a number, since 1970
	signatures [][]byte // the v1 that are hex of a SHA-256's length
}

// parseHeader reads a header such as t=1700000000,v1=5257…,v1=9f01…,v0=….
// Other keys, and a v1 that can be no signature, are passed over: the provider
// may add schemes.
func parseHeader(header string) (signed, error) {
	if header == "" {
		return signed{}, errors.New("the header is missing")
	}
	if len(header) > maxHeader {
		return signed{}, fmt.Errorf("the header is longer than %d bytes", maxHeader)
	}
	var s signed
	for pair := range strings.SplitSeq(header, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		switch key {
		case "t":
			if s.text != "" {
				return signed{}, errors.New("the header has two times")
			}
			seconds, err := strconv.ParseUint(value, 10, 63)
			if err != nil {
				return signed{}, errors.New("the header's time is no number of seconds")
			}
			s.text, s.seconds = value, int64(seconds) // #nosec G115 -- 63 bits
		case "v1":
			if signature, err := hex.DecodeString(value); err == nil && len(signature) == sha256.Size {
				s.signatures = append(s.signatures, signature)
			}
		}
	}
	if s.text == "" {
		return signed{}, errors.New("the header has no time")
	}
	if len(s.signatures) == 0 {
		return signed{}, errors.New("the header has no v1 signature")
	}
	return s, nil
}
