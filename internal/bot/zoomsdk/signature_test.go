package zoomsdk_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/zoomsdk"
)

// readSignature verifies a signature and returns its claims.
func readSignature(t *testing.T, signature, secret string) map[string]any {
	t.Helper()
	parts := strings.Split(signature, ".")
	if len(parts) != 3 {
		t.Fatalf("a JWT has three parts, not %d", len(parts))
	}
	decode := func(part string) []byte {
		decoded, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			t.Fatalf("decoding %q: %v", part, err)
		}
		return decoded
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(parts[0] + "." + parts[1]))
	if !hmac.Equal(mac.Sum(nil), decode(parts[2])) {
		t.Fatal("the signature is not by the secret")
	}
	var claims map[string]any
	if err := json.Unmarshal(decode(parts[1]), &claims); err != nil {
		t.Fatalf("reading the claims: %v", err)
	}
	return claims
}

// TestSignatureByHand checks one token that was made with printf, base64 and openssl. It
// is valid from 30 seconds before its time, for an hour.
func TestSignatureByHand(t *testing.T) {
	t.Parallel()
	signature, err := zoomsdk.Signature(zoomsdk.Settings{Key: "KEY", Secret: "SECRET"}, "123456789", time.Unix(1800000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	const want = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhcHBLZXkiOiJLRVkiLCJzZGtLZXkiOiJLRVkiLCJtbiI6IjEyMzQ1Njc4OSIsInJvbGUiOjAsImlhdCI6MTc5OTk5OTk3MCwiZXhwIjoxODAwMDAzNjAwLCJ0b2tlbkV4cCI6MTgwMDAwMzYwMH0.2Ik_FuQEwiadLStsqyqJYn0oigKRlD5ucdJDjAzItPE"
	if signature != want {
		t.Errorf("got  %s\nwant %s", signature, want)
	}
}

func TestSignatureRefuses(t *testing.T) {
	t.Parallel()
	good := zoomsdk.Settings{Key: testKey, Secret: testSecret}
	for name, test := range map[string]struct {
		settings zoomsdk.Settings
		number   string
	}{
		"no key":            {zoomsdk.Settings{Secret: testSecret}, testNumber},
		"no secret":         {zoomsdk.Settings{Key: testKey}, testNumber},
		"no number":         {good, ""},
		"a name":            {good, "my.room"},
		"a number too long": {good, "1234567890123"},
		"two lines":         {good, testNumber + "\n1"},
	} {
		if signature, err := zoomsdk.Signature(test.settings, test.number, time.Now()); err == nil {
			t.Errorf("%s: signed as %s", name, signature)
		} else if strings.Contains(err.Error(), testSecret) {
			t.Errorf("%s: the error shows the secret", name)
		}
	}
}
