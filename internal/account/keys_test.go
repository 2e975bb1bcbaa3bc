package account_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// newKeys returns Keys on a real database, with a clock that the test sets.
func newKeys(t *testing.T) (keys *account.Keys, now *time.Time) {
	t.Helper()
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	return &account.Keys{Store: storetest.Open(t, storetest.FreshSQLite(t)), Now: func() time.Time { return at }}, &at
}

// TestIssue checks that a key authenticates its consumer in its mode, and that the
// secret is not stored.
func TestIssue(t *testing.T) {
	t.Parallel()
	keys, _ := newKeys(t)
	for mode, prefix := range map[job.Mode]string{job.Live: "standin_live_", job.Test: "standin_test_"} {
		key, secret, err := keys.Issue(t.Context(), "ada", "ada@lovelace.test", mode)
		if err != nil {
			t.Fatal(err)
		}
		if random := strings.TrimPrefix(secret, prefix); len(random) != 43 || random == secret { // 32 bytes in base64
			t.Errorf("a %s key: %q", mode, secret)
		}
		if key.Consumer != "ada" || key.Mode != mode || key.Prefix != secret[:len(prefix)+4] || strings.Contains(key.Hash, secret) {
			t.Errorf("stored key %+v", key)
		}
		caller, err := keys.Authenticate(t.Context(), secret)
		if err != nil || caller != (account.Caller{
			KeyID: key.ID, KeyName: key.Prefix + "…", ConsumerID: key.ConsumerID, Mode: mode, Scope: account.AdminScope,
		}) {
			t.Errorf("authenticated %+v (%v)", caller, err)
		}
	}
	all, err := keys.Store.(*store.Store).Keys(t.Context())
	if err != nil || len(all) != 2 || all[0].ConsumerID != all[1].ConsumerID {
		t.Errorf("two keys of one consumer: %+v (%v)", all, err)
	}
}

// TestWebhookSecrets checks that each consumer gets its own secret, or the operator's
// shared secret if set, and that existing consumers keep theirs.
func TestWebhookSecrets(t *testing.T) {
	t.Parallel()
	keys, _ := newKeys(t)
	secretOf := func(name string) string {
		c, err := keys.Store.EnsureConsumer(t.Context(), account.Consumer{ID: uuid.New(), Name: name, WebhookVersion: 2})
		if err != nil {
			t.Fatal(err)
		}
		return c.WebhookSecret
	}
	issue := func(name string) {
		if _, _, err := keys.Issue(t.Context(), name, "", job.Live); err != nil {
			t.Fatal(err)
		}
	}
	issue("ada")
	issue("bob")
	first := secretOf("ada")
	if !strings.HasPrefix(first, "whsec_") || first == secretOf("bob") {
		t.Errorf("secrets: %q and %q", first, secretOf("bob"))
	}
	keys.WebhookSecret = "whsec_Zm9yIGFsbA=="
	issue("ada")
	issue("eve")
	if secretOf("ada") != first || secretOf("eve") != keys.WebhookSecret {
		t.Errorf("with a shared secret: %q and %q", secretOf("ada"), secretOf("eve"))
	}
}

// TestAuthenticateRejectsInvalidKeys checks that every invalid key gets the same error.
func TestAuthenticateRejectsInvalidKeys(t *testing.T) {
	t.Parallel()
	keys, now := newKeys(t)
	key, secret, err := keys.Issue(t.Context(), "ada", "", job.Live)
	if err != nil {
		t.Fatal(err)
	}
	_, revoked, err := keys.Issue(t.Context(), "ada", "", job.Live)
	if err != nil {
		t.Fatal(err)
	}
	all, err := keys.Store.(*store.Store).Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Authenticate(t.Context(), revoked); err != nil {
		t.Fatalf("before the revocation: %v", err)
	}
	for _, k := range all {
		if k.ID != key.ID {
			if known, err := keys.Store.RevokeConsumerKey(t.Context(), k.ConsumerID, k.ID, *now); err != nil || !known {
				t.Fatalf("revoke: %v, %v", known, err)
			}
		}
	}
	for name, bearer := range map[string]string{
		"nothing": "", "garbage": "garbage", "another prefix": "sk_live_" + secret[13:], "the other mode": "standin_test_" + secret[13:],
		"truncated": secret[:len(secret)-1], "upper case": strings.ToUpper(secret), "hash": key.Hash,
		"endless": "standin_live_" + strings.Repeat("A", 1<<20), "revoked": revoked,
	} {
		_, err := keys.Authenticate(t.Context(), bearer)
		if !job.ErrorIs(err, job.Unauthorized) || err.Error() != "unauthorized: missing or invalid API key" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := keys.Authenticate(t.Context(), secret); err != nil {
		t.Errorf("the other key: %v", err)
	}
}

// TestExpiredKey checks that a key is refused from its expiry on.
func TestExpiredKey(t *testing.T) {
	t.Parallel()
	keys, now := newKeys(t)
	expiry := now.Add(time.Hour)
	_, secret, err := keys.IssueWith(t.Context(), "ada", "", job.Live, account.KeyOptions{ExpiresAt: expiry})
	if err != nil {
		t.Fatal(err)
	}
	for at, valid := range map[time.Time]bool{expiry.Add(-time.Millisecond): true, expiry: false} {
		*now = at
		if _, err := keys.Authenticate(t.Context(), secret); (err == nil) != valid || err != nil && !job.ErrorIs(err, job.Unauthorized) {
			t.Errorf("at %s: %v", at, err)
		}
	}
}

// TestTestKeys checks that a test key sees, creates and revokes test keys only.
func TestTestKeys(t *testing.T) {
	t.Parallel()
	keys, _ := newKeys(t)
	live, _, err := keys.Issue(t.Context(), "ada", "", job.Live)
	if err != nil {
		t.Fatal(err)
	}
	caller := account.Caller{ConsumerID: live.ConsumerID, Mode: job.Test, Scope: account.AdminScope}
	if _, _, err := keys.Create(t.Context(), caller, job.Live, account.KeyOptions{}); !job.ErrorIs(err, job.InvalidState) {
		t.Errorf("a test key creates a live key: %v", err)
	}
	made, _, err := keys.Create(t.Context(), caller, job.Test, account.KeyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if seen, err := keys.Of(t.Context(), caller); err != nil || len(seen) != 1 || seen[0].ID != made.ID {
		t.Errorf("a test key sees %+v (%v)", seen, err)
	}
	if err := keys.Revoke(t.Context(), caller, live.ID); !job.ErrorIs(err, job.NotFound) {
		t.Errorf("a test key revokes a live key: %v", err)
	}
}

// TestUnverifiedEmail checks that an e-mail address signs in only if the OpenID Connect
// provider has verified it.
func TestUnverifiedEmail(t *testing.T) {
	t.Parallel()
	keys, now := newKeys(t)
	s := keys.Store.(*store.Store)
	users := account.NewUsers(account.UserSettings{Store: s, Now: func() time.Time { return *now }})
	owner, _, err := keys.Issue(t.Context(), "ada", "", job.Live)
	if err != nil {
		t.Fatal(err)
	}
	admin := account.User{ConsumerID: owner.ConsumerID, Role: account.Admin}
	if _, err := users.InviteAs(t.Context(), admin, "eve@lovelace.test", account.Admin, false); err != nil {
		t.Fatal(err)
	}
	identity := account.Identity{Issuer: "https://id.test", Subject: "1"}
	if user, err := users.SignInOIDC(t.Context(), identity, "eve@lovelace.test", false, "Eve"); !errors.Is(err, account.ErrNotInvited) {
		t.Errorf("an unverified address signs in as %+v (%v)", user, err)
	}
	if _, err := users.SignInOIDC(t.Context(), identity, "eve@lovelace.test", true, "Eve"); err != nil {
		t.Errorf("a verified address: %v", err)
	}
}

// TestLastUsed checks that the last use is stored at most once a minute.
func TestLastUsed(t *testing.T) {
	t.Parallel()
	keys, now := newKeys(t)
	key, secret, err := keys.Issue(t.Context(), "ada", "", job.Live)
	if err != nil {
		t.Fatal(err)
	}
	issued := *now
	for _, step := range []struct{ after, want time.Duration }{
		{0, 0}, {59 * time.Second, 0}, {time.Minute, time.Minute}, {90 * time.Second, time.Minute},
	} {
		*now = issued.Add(step.after)
		if _, err := keys.Authenticate(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		kept, err := keys.Store.KeyByHash(t.Context(), key.Hash)
		if err != nil || !kept.LastUsedAt.Equal(issued.Add(step.want)) {
			t.Errorf("after %s: last used %s (%v)", step.after, kept.LastUsedAt.Sub(issued), err)
		}
	}
}

// TestConcurrentIssue checks that concurrent calls with a new name create one consumer.
func TestConcurrentIssue(t *testing.T) {
	t.Parallel()
	keys, _ := newKeys(t)
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			if _, _, err := keys.Issue(t.Context(), "ada", "", job.Live); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	all, err := keys.Store.(*store.Store).Keys(t.Context())
	if err != nil || len(all) != 10 {
		t.Fatalf("%d keys (%v)", len(all), err)
	}
	for _, key := range all {
		if key.ConsumerID != all[0].ConsumerID {
			t.Errorf("key %s belongs to another consumer", key.ID)
		}
	}
}
