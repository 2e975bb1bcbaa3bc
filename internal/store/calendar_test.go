package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/store"
)

// ensureConsumer returns the consumer with the e-mail, or creates one with the given
// name.
func ensureConsumer(t *testing.T, s *store.Store, name, email string) account.Consumer {
	t.Helper()
	var kept account.Consumer
	write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
		kept, err = tx.EnsureConsumerByEmail(ctx, account.Consumer{
			ID: uuid.New(), Name: name, Email: email, WebhookSecret: "whsec_c2VjcmV0", WebhookVersion: 2, CreatedAt: now,
		})
		return err
	})
	return kept
}

// TestEnsureConsumerByEmail finds the oldest consumer with an e-mail, ignoring
// case, and inserts one otherwise.
func TestEnsureConsumerByEmail(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		for i, name := range []string{"older", "newer"} {
			_, err := s.EnsureConsumer(t.Context(), account.Consumer{
				ID: uuid.New(), Name: name, Email: "Ada@Example.TEST", WebhookSecret: "s", WebhookVersion: 2,
				CreatedAt: now.Add(time.Duration(i) * time.Hour),
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := ensureConsumer(t, s, "ada@example.test", "ada@example.test"); got.Name != "older" {
			t.Errorf("got consumer %q of two with the same e-mail, want the older one", got.Name)
		}

		// A consumer whose name is an e-mail address does not own the address.
		namesake, err := s.EnsureConsumer(t.Context(), account.Consumer{
			ID: uuid.New(), Name: "bob@example.test", WebhookSecret: "s", WebhookVersion: 2, CreatedAt: now,
		})
		if err != nil {
			t.Fatal(err)
		}
		bob := ensureConsumer(t, s, "bob@example.test", "bob@example.test")
		if bob.ID == namesake.ID || bob.Name != "bob@example.test (2)" || bob.Email != "bob@example.test" {
			t.Errorf("created %+v for an e-mail that is the name of another consumer", bob)
		}

		var group sync.WaitGroup
		found := make([]account.Consumer, 20)
		for i := range found {
			group.Go(func() { found[i] = ensureConsumer(t, s, "eve@example.test", "eve@example.test") })
		}
		group.Wait()
		for _, c := range found {
			if c.ID != found[0].ID || c.Name != "eve@example.test" {
				t.Errorf("concurrent calls returned %s %q and %s %q", c.ID, c.Name, found[0].ID, found[0].Name)
			}
		}
	})
}
