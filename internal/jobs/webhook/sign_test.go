package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"standin/client"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"standin/internal/jobs/webhook"
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
func library(t *testing.T, secret string) *standardwebhooks.Webhook {
	t.Helper()
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return verifier
}

// TestOtherSecrets checks that the library verifies with the bytes of a secret that is not
// whsec_ and base64.
func TestOtherSecrets(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"correct horse battery staple", "whsec_not base64!", "whsec_"} {
		verifier, err := standardwebhooks.NewWebhookRaw([]byte(secret))
		if err != nil {
			t.Fatal(err)
		}
		header := sign(t, time.Now(), webhook.Secret{Value: secret})
		if err := verifier.Verify(body, header); err != nil {
			t.Errorf("%q: the library refuses: %v", secret, err)
		}
		if err := client.VerifyWebhook(header, body, secret, time.Now()); err != nil {
			t.Errorf("%q: %v", secret, err)
		}
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

// TestRotatedSecretSignsUntilItExpires checks it with our verification and the library's.
func TestRotatedSecretSignsUntilItExpires(t *testing.T) {
	t.Parallel()
	const fresh, old = "whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3", whsec
	rotated := time.Now()
	secrets := []webhook.Secret{{Value: fresh}, {Value: old, ExpiresAt: rotated.Add(24 * time.Hour)}}
	for after, works := range map[time.Duration]bool{0: true, 24*time.Hour - time.Second: true, 24 * time.Hour: false} {
		at := rotated.Add(after)
		header := sign(t, at, secrets...)
		if err := client.VerifyWebhook(header, body, fresh, at); err != nil {
			t.Errorf("after %s, the current secret: %v", after, err)
		}
		// A receiver that compares the first value whole.
		alone := sign(t, at, webhook.Secret{Value: fresh}).Get(webhook.SignatureHeader)
		if got := header.Get(webhook.SignatureHeader); got != alone {
			t.Errorf("after %s, first x-service-signature %q, want %q", after, got, alone)
		}
		// One whose framework joins the values of a name.
		joined := header.Clone()
		joined.Set(webhook.SignatureHeader, strings.Join(header.Values(webhook.SignatureHeader), ", "))
		for _, header := range []http.Header{header, joined} {
			if err := client.VerifyWebhook(header, body, old, at); (err == nil) != works {
				t.Errorf("after %s, the old secret: %v, want that it verifies: %v", after, err, works)
			}
			if err := library(t, old).VerifyIgnoringTimestamp(body, header); (err == nil) != works {
				t.Errorf("after %s, the library, with the old secret: %v", after, err)
			}
		}
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

func TestSecretsHideThemselves(t *testing.T) {
	t.Parallel()
	secret := webhook.Secret{Value: whsec}
	shown := fmt.Sprintf("%v %+v %#v %s", secret, []webhook.Secret{secret}, secret,
		webhook.Delivery{Secrets: []webhook.Secret{secret}}.Secrets)
	if strings.Contains(shown, "MfKQ9r8") {
		t.Errorf("printed: %s", shown)
	}
}
