package webhook_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"standin/client"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"standin/internal/webhook"
)

const whsec = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

var body = []byte(`{"deliveryId":"dlv_1","event":"job.finalized"}`)

func sign(t *testing.T, at time.Time, secrets ...webhook.Secret) http.Header {
	t.Helper()
	header := make(http.Header)
	if err := webhook.Sign(header, secrets, "dlv_1", at, body); err != nil {
		t.Fatal(err)
	}
	return header
}

// library verifies with the Standard Webhooks library.
func library(t *testing.T, secret string, raw bool) *standardwebhooks.Webhook {
	t.Helper()
	open := standardwebhooks.NewWebhook
	if raw {
		open = func(secret string) (*standardwebhooks.Webhook, error) {
			return standardwebhooks.NewWebhookRaw([]byte(secret))
		}
	}
	verifier, err := open(secret)
	if err != nil {
		t.Fatal(err)
	}
	return verifier
}

func TestStandardWebhooksLibraryVerifies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		secret string
		raw    bool // the library is given the secret's bytes
	}{
		{"whsec", whsec, false},
		{"fresh", webhook.NewSecret(), false},
		{"plain words", "correct horse battery staple", true},
		{"whsec that is no base64", "whsec_not base64!", true},
		{"empty whsec", "whsec_", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			verifier := library(t, test.secret, test.raw)
			header := sign(t, time.Now(), webhook.Secret{Value: test.secret})
			if err := verifier.Verify(body, header); err != nil {
				t.Errorf("the library refuses: %v", err)
			}
			if err := client.VerifyWebhook(header, body, test.secret, time.Now()); err != nil {
				t.Errorf("Verify refuses: %v", err)
			}
			altered := bytes.Replace(body, []byte("dlv_1"), []byte("dlv_2"), 1)
			if verifier.Verify(altered, header) == nil {
				t.Error("the library accepts an altered body")
			}
		})
	}
}

func TestLibrarySignaturesAreOurs(t *testing.T) {
	t.Parallel()
	at := time.Now()
	theirs, err := library(t, whsec, false).Sign("dlv_1", at, body)
	if err != nil {
		t.Fatal(err)
	}
	if ours := sign(t, at, webhook.Secret{Value: whsec}).Get(webhook.StandardSignatureHeader); ours != theirs {
		t.Errorf("signed %q, the library %q", ours, theirs)
	}
}

// The key of x-service-signature is the secret as shown, including whsec_.
func TestServiceSignature(t *testing.T) {
	t.Parallel()
	mac := hmac.New(sha256.New, []byte(whsec))
	mac.Write(body)
	want := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	got := sign(t, created, webhook.Secret{Value: whsec}).Values(webhook.SignatureHeader)
	if len(got) != 1 || got[0] != want {
		t.Errorf("x-service-signature %q, want %q", got, want)
	}
}

func TestRotatedSecretSignsUntilItExpires(t *testing.T) {
	t.Parallel()
	const fresh, old = "whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3", whsec
	rotated := time.Now()
	secrets := []webhook.Secret{{Value: fresh}, {Value: old, ExpiresAt: rotated.Add(24 * time.Hour)}}
	tests := []struct {
		name  string
		at    time.Time
		works bool
	}{
		{"at once", rotated, true},
		{"to the last second", rotated.Add(24*time.Hour - time.Second), true},
		{"no longer", rotated.Add(24 * time.Hour), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			header := sign(t, test.at, secrets...)
			if err := client.VerifyWebhook(header, body, fresh, test.at); err != nil {
				t.Errorf("the current secret: %v", err)
			}
			if got := client.VerifyWebhook(header, body, old, test.at) == nil; got != test.works {
				t.Errorf("the old secret verifies: %v, want %v", got, test.works)
			}
			if err := library(t, old, false).VerifyIgnoringTimestamp(body, header); (err == nil) != test.works {
				t.Errorf("the library with the old secret: %v", err)
			}
			// A receiver that compares the first value whole.
			alone := sign(t, test.at, webhook.Secret{Value: fresh}).Get(webhook.SignatureHeader)
			if got := header.Get(webhook.SignatureHeader); got != alone {
				t.Errorf("first x-service-signature %q, want %q", got, alone)
			}
			// One whose framework joins the values of a name.
			joined := header.Clone()
			joined.Set(webhook.SignatureHeader, strings.Join(header.Values(webhook.SignatureHeader), ", "))
			if got := client.VerifyWebhook(joined, body, old, test.at) == nil; got != test.works {
				t.Errorf("joined, the old secret verifies: %v, want %v", got, test.works)
			}
		})
	}
}

func TestSignWithoutASecret(t *testing.T) {
	t.Parallel()
	for _, secrets := range [][]webhook.Secret{nil, {{Value: whsec, ExpiresAt: created}}} {
		if err := webhook.Sign(make(http.Header), secrets, "dlv_1", created, body); err == nil {
			t.Errorf("signed with %d secrets, none of which counts", len(secrets))
		}
	}
}

// TestVerifyRefuses checks what TestVerifications does not: a header without one of its fields.
func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	now := time.Now()
	without := func(name string) func(http.Header) { return func(header http.Header) { header.Del(name) } }
	with := func(name, value string) func(http.Header) {
		return func(header http.Header) { header.Set(name, value) }
	}
	for name, change := range map[string]func(http.Header){
		"another time":          with(webhook.StandardTimestampHeader, fmt.Sprint(now.Unix()+1)),
		"no time":               without(webhook.StandardTimestampHeader),
		"no service signature":  without(webhook.SignatureHeader),
		"no standard signature": without(webhook.StandardSignatureHeader),
		"an empty signature":    with(webhook.SignatureHeader, "sha256="),
	} {
		header := sign(t, now, webhook.Secret{Value: whsec})
		change(header)
		if err := client.VerifyWebhook(header, body, whsec, now); !errors.Is(err, client.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecretsHideThemselves(t *testing.T) {
	t.Parallel()
	secret := webhook.Secret{Value: whsec}
	shown := fmt.Sprintf("%v %+v %#v %s", secret, []webhook.Secret{secret}, secret, webhook.Delivery{Secrets: []webhook.Secret{secret}}.Secrets)
	if strings.Contains(shown, "MfKQ9r8") {
		t.Errorf("printed: %s", shown)
	}
}
