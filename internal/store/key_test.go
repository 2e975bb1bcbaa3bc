package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// TestRevokedKeysAreRefusedByEveryNode revokes keys that two nodes, or the service
// and the command line, have just used. Both must refuse the next request.
func TestRevokedKeysAreRefusedByEveryNode(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) {
		stores := []*store.Store{storetest.Open(t, address), storetest.Open(t, address)}
		nodes := []*account.Keys{{Store: stores[0], Now: time.Now}, {Store: stores[1], Now: time.Now}}
		user := account.User{ID: uuid.New(), ConsumerID: newConsumer(t, stores[0]).ID, Email: "bob@example.test", CreatedAt: now}
		invitation := account.Invitation{
			Hash: "hash", ConsumerID: user.ConsumerID, Email: user.Email, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		}
		if err := stores[0].InsertInvitation(t.Context(), invitation); err != nil {
			t.Fatal(err)
		}
		if err := stores[0].AcceptInvitation(t.Context(), invitation.Hash, user, now); err != nil {
			t.Fatal(err)
		}
		for name, revoke := range map[string]func(ctx context.Context, s *store.Store, key account.Key) error{
			"key": func(ctx context.Context, s *store.Store, key account.Key) error {
				_, err := s.RevokeConsumerKey(ctx, key.ConsumerID, key.ID, time.Now())
				return err
			},
			"key of a consumer": func(ctx context.Context, s *store.Store, key account.Key) error {
				_, err := s.RevokeConsumerKey(ctx, key.ConsumerID, key.ID, time.Now())
				return err
			},
			"keys of a consumer": func(ctx context.Context, s *store.Store, key account.Key) error {
				return s.RetireConsumer(ctx, key.ConsumerID, time.Now())
			},
			"keys of a user": func(ctx context.Context, s *store.Store, key account.Key) error {
				return s.RemoveUser(ctx, key.ConsumerID, user.ID, false)
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				key, secret, err := nodes[0].Issue(t.Context(), name+uuid.NewString(), "", job.Live)
				if name == "keys of a user" {
					key, secret = account.NewKey(user.ConsumerID, job.Live, user.Email, time.Now())
					key.UserID = user.ID
					err = stores[0].InsertKey(t.Context(), key)
				}
				if err != nil {
					t.Fatal(err)
				}
				for i, node := range nodes {
					if _, err := node.Authenticate(t.Context(), secret); err != nil {
						t.Errorf("node %d, before the revocation: %v", i, err)
					}
				}
				if err := revoke(t.Context(), stores[0], key); err != nil {
					t.Fatal(err)
				}
				for i, node := range nodes {
					if _, err := node.Authenticate(t.Context(), secret); !job.ErrorIs(err, job.Unauthorized) {
						t.Errorf("node %d, after the revocation: %v", i, err)
					}
				}
			})
		}
	})
}
