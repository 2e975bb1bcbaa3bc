package billing

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

// The headers that may contain the signature: our name and the provider's.
const (
	Header         = "Payment-Signature"
	ProviderHeader = "Stripe-Signature"
)

// tolerance is the maximum difference between the signature's time and now, in
// either direction and in whole seconds.
const tolerance = 300 * time.Second

// maxHeader bounds the length of the header and thereby the number of signatures.
// The provider sends two or three, one for each active secret.
const maxHeader = 4096

// Errors of Verify.
var (
	// ErrNoSecret is the error when no secret is configured.
	ErrNoSecret = errors.New("the payment webhook secret is not configured")
	// ErrSignature is wrapped by all errors about signatures.
	ErrSignature = errors.New("missing or invalid payment signature")
)

// Verify returns nil when the header contains a signature of the body and its
// time is within tolerance. The key is the whole secret as the provider shows
// it. The error wraps ErrSignature, or is ErrNoSecret.
func Verify(secret, header string, body []byte, now time.Time) error {
	if secret == "" {
		return ErrNoSecret // anybody could sign with an empty key
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
			matches = true // continue, to take constant time
		}
	}
	if !matches {
		return fmt.Errorf("%w: no signature matches", ErrSignature)
	}
	age := now.Unix() - signed.seconds
	if limit := int64(tolerance / time.Second); age > limit || age < -limit {
		return fmt.Errorf("%w: its time differs from now by %d s", ErrSignature, age)
	}
	return nil
}

// signed is a parsed signature header.
type signed struct {
	text       string   // of t, as signed
	seconds    int64    // t as a number
	signatures [][]byte // the well-formed v1 signatures
}

// parseHeader parses a header such as t=1700000000,v1=5257…,v1=9f01…,v0=…. It
// ignores other keys and malformed v1 signatures: the provider may add schemes.
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
				return signed{}, errors.New("the header's time is not a number of seconds")
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
