package device

import (
	"encoding/base64"
	"errors"
	"testing"

	"standin/internal/account"

	"pgregory.net/rapid"
)

func TestSeal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nonce, given := account.NewToken(), credentials{
			apiKey: string(rapid.SliceOf(rapid.Byte()).Draw(t, "key")),
			email:  string(rapid.SliceOf(rapid.ByteRange(1, 255)).Draw(t, "email")), // none has a NUL
		}
		sealed, err := seal(nonce, given)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := open(nonce, sealed); err != nil || got != given {
			t.Fatalf("got %+v, %v; want %+v", got, err, given)
		}
		if _, err := open(account.NewToken(), sealed); !errors.Is(err, errSealed) {
			t.Fatalf("opened with another nonce: %v", err)
		}
		raw, err := base64.RawStdEncoding.DecodeString(sealed)
		if err != nil {
			t.Fatal(err)
		}
		raw[rapid.IntRange(0, len(raw)-1).Draw(t, "place")] ^= byte(1 << rapid.IntRange(0, 7).Draw(t, "bit"))
		if _, err := open(nonce, base64.RawStdEncoding.EncodeToString(raw)); !errors.Is(err, errSealed) {
			t.Fatalf("opened after a change: %v", err)
		}
		for _, garbage := range []string{"", "not base64!", sealed[:len(sealed)/2]} {
			if _, err := open(nonce, garbage); !errors.Is(err, errSealed) {
				t.Fatalf("opened %q: %v", garbage, err)
			}
		}
		if again, err := seal(nonce, given); err != nil || again == sealed {
			t.Fatalf("two seals are equal: %v", err)
		}
	})
}

// TestHashDoesNotOpenSealedKey checks that values stored in the database cannot open a
// sealed key.
func TestHashDoesNotOpenSealedKey(t *testing.T) {
	t.Parallel()
	nonce := account.NewToken()
	sealed, err := seal(nonce, credentials{apiKey: "key"})
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range []string{account.Hash(nonce), Code(nonce), ""} {
		if _, err := open(known, sealed); !errors.Is(err, errSealed) {
			t.Errorf("opened with %q: %v", known, err)
		}
	}
}
