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
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrSignature, fmt.Sprintf(format, args...))
	}
	switch {
	case header == "":
		return refuse("the header is missing")
	case len(header) > maxHeader:
		return refuse("the header is longer than %d bytes", maxHeader)
	}
	// The header is such as t=1700000000,v1=5257…,v1=9f01…,v0=…. Other keys and malformed v1 signatures are ignored:
	// the provider may add schemes.
	var signedAt string     // t, as signed
	var seconds uint64      // t
	var signatures [][]byte // the well-formed v1 signatures
	for pair := range strings.SplitSeq(header, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		switch key {
		case "t":
			if signedAt != "" {
				return refuse("the header has two times")
			}
			var err error
			if seconds, err = strconv.ParseUint(value, 10, 63); err != nil {
				return refuse("the header's time is not a number of seconds")
			}
			signedAt = value
		case "v1":
			if signature, err := hex.DecodeString(value); err == nil && len(signature) == sha256.Size {
				signatures = append(signatures, signature)
			}
		}
	}
	switch {
	case signedAt == "":
		return refuse("the header has no time")
	case len(signatures) == 0:
		return refuse("the header has no v1 signature")
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(signedAt + "."))
	mac.Write(body)
	expected := mac.Sum(nil)
	matches := false
	for _, candidate := range signatures {
		if hmac.Equal(candidate, expected) {
			matches = true // continue, to take constant time
		}
	}
	if !matches {
		return refuse("no signature matches")
	}
	age := now.Unix() - int64(seconds) // #nosec G115 -- 63 bits
	if limit := int64(tolerance / time.Second); age > limit || age < -limit {
		return refuse("its time differs from now by %d s", age)
	}
	return nil
}
