package billing_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"standin/internal/account/billing"
)

const secret = "whsec_test_secret"

// signedAt is the time of the signatures in these tests.
var signedAt = time.Unix(1700000000, 0)

const signedBody = `{"id":"evt_1"}`

// known is the signature of signedBody at signedAt, computed with
// openssl dgst -sha256 -hmac.
const known = "248a374f50f943a28b0f6ab50faf9a7e7e29b710fa26df9fb1618b9bf8ea9c9a"

// sign returns a signature in the provider's format.
func sign(key, t, body string) string {
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "%s.%s", t, body)
	return hex.EncodeToString(mac.Sum(nil))
}

func TestVerify(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("5a", 32)
	for name, test := range map[string]struct {
		header string
		body   string        // signedBody when empty
		later  time.Duration // than signedAt
		valid  bool
	}{
		"right":                                {header: "t=1700000000,v1=" + known, valid: true},
		"upper case":                           {header: "t=1700000000,v1=" + strings.ToUpper(known), valid: true},
		"spaces after commas":                  {header: "t=1700000000, v1=" + known + ", v0=x", valid: true},
		"signature before time":                {header: "v1=" + known + ",t=1700000000", valid: true},
		"old secret's signature first":         {header: "t=1700000000,v1=" + other + ",v1=" + known, valid: true},
		"old secret's signature last":          {header: "t=1700000000,v1=" + known + ",v1=" + other, valid: true},
		"invalid v1 values before a valid one": {header: "t=1700000000,v1=zz,v1=,v1=abcd,v1=" + known, valid: true},
		"unknown keys":                         {header: "t=1700000000,v2=" + other + ",x,=,v1=" + known, valid: true},
		"latest time":                          {header: "t=1700000000,v1=" + known, later: 300 * time.Second, valid: true},
		"earliest time":                        {header: "t=1700000000,v1=" + known, later: -300 * time.Second, valid: true},
		"too late":                             {header: "t=1700000000,v1=" + known, later: 301 * time.Second},
		"too early":                            {header: "t=1700000000,v1=" + known, later: -301 * time.Second},
		"another body":                         {header: "t=1700000000,v1=" + known, body: signedBody + " "},
		"another time":                         {header: "t=1700000001,v1=" + known},
		"the same time with a leading zero":    {header: "t=01700000000,v1=" + known},
		"none":                                 {header: ""},
		"no time":                              {header: "v1=" + known},
		"no signature":                         {header: "t=1700000000"},
		"signature of another scheme":          {header: "t=1700000000,v0=" + known},
		"wrong signatures":                     {header: "t=1700000000,v1=" + other + ",v1=" + other},
		"shorter signature":                    {header: "t=1700000000,v1=" + known[:62]},
		"two times":                            {header: "t=1700000000,t=1700000000,v1=" + known},
		"negative time":                        {header: "t=-1700000000,v1=" + known},
		"signed time with a plus":              {header: "t=+1700000000,v1=" + sign(secret, "+1700000000", signedBody)},
		"time beyond 64 bits":                  {header: "t=99999999999999999999,v1=" + known},
		"maximum 64-bit time":                  {header: "t=9223372036854775807,v1=" + sign(secret, "9223372036854775807", signedBody)},
		"signed with an empty secret":          {header: "t=1700000000,v1=" + sign("", "1700000000", signedBody)},
		"header too long":                      {header: "t=1700000000,v1=" + known + ",x=" + strings.Repeat("x", 4096)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := signedBody
			if test.body != "" {
				body = test.body
			}
			err := billing.Verify(secret, test.header, []byte(body), signedAt.Add(test.later))
			if test.valid && err != nil {
				t.Errorf("refused: %v", err)
			}
			if !test.valid && !errors.Is(err, billing.ErrSignature) {
				t.Errorf("got %v, want ErrSignature", err)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error contains the secret: %v", err)
			}
		})
	}
}

func TestVerifyWithoutSecret(t *testing.T) {
	t.Parallel()
	header := "t=1700000000,v1=" + sign("", "1700000000", signedBody)
	if err := billing.Verify("", header, []byte(signedBody), signedAt); !errors.Is(err, billing.ErrNoSecret) {
		t.Errorf("got %v, want ErrNoSecret", err)
	}
}

// FuzzVerify checks that a header is accepted only if it contains the signature of the
// body at its time, in the provider's format.
func FuzzVerify(f *testing.F) {
	for _, header := range []string{
		"t=1700000000,v1=" + known,
		"t=1700000000,v1=" + known + ",v1=" + known + ",v0=" + known,
		"v1=" + known + ", t=1700000000",
		"t=1700000000,t=1700000001,v1=" + known,
		"t=,v1=", "t", "=", ",,,,", "t=1e9,v1=00", "t=9223372036854775808", "t=1700000000;v1=" + known,
		"t=1700000000,v1=" + strings.Repeat("0", 64), "\x00t=1700000000,V1=" + known, "t=1700000000\r\nv1=" + known, "",
	} {
		f.Add(header, signedBody)
	}
	f.Fuzz(func(t *testing.T, header, body string) {
		err := billing.Verify(secret, header, []byte(body), signedAt)
		if err != nil {
			if !errors.Is(err, billing.ErrSignature) {
				t.Errorf("%q: %v", header, err)
			}
			return
		}
		for part := range strings.SplitSeq(header, ",") {
			if at, ok := strings.CutPrefix(strings.TrimSpace(part), "t="); ok {
				if !strings.Contains(strings.ToLower(header), "v1="+sign(secret, at, body)) {
					t.Errorf("%q accepted without the signature", header)
				}
			}
		}
	})
}
