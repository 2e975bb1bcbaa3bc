package store_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"standin/internal/account/device"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// Limits of the flows in these tests.
const (
	testMaxOpen          = 5
	testMaxOpenPerClient = 3
)

// flowModel is an in-memory model of device flows.
type flowModel struct {
	store *store.Store
	flows *device.Flows
	at    time.Time
	known []modelFlow
}

type modelFlow struct {
	device.Flow
	client     string
	key, email string // empty while pending
}

// restart recreates the flows, as a restart of the service does.
func (m *flowModel) restart(*rapid.T) {
	m.flows = device.New(device.Settings{
		Store: m.store, BaseURL: "https://standin.test", MaxOpen: testMaxOpen, MaxOpenPerClient: testMaxOpenPerClient,
		Now: func() time.Time { return m.at },
	})
}

func (m *flowModel) advance(t *rapid.T) {
	if len(m.known) > 0 && rapid.Bool().Draw(t, "advance to an expiry") {
		expiry := rapid.SampledFrom(m.known).Draw(t, "flow").ExpiresAt
		expiry = expiry.Add(time.Duration(rapid.IntRange(-1, 0).Draw(t, "offset")) * time.Millisecond)
		if expiry.After(m.at) {
			m.at = expiry
			return
		}
	}
	m.at = m.at.Add(time.Duration(rapid.IntRange(1, 300_000_000).Draw(t, "microseconds")) * time.Microsecond)
}

func (m *flowModel) init(t *rapid.T) {
	client := rapid.SampledFrom([]string{"192.0.2.1", "2001:db8::/64"}).Draw(t, "client")
	var all, own []modelFlow
	for _, flow := range m.known {
		if flow.ExpiresAt.After(m.created()) {
			all = append(all, flow)
			if flow.client == client {
				own = append(own, flow)
			}
		}
	}
	flow, err := m.flows.Init(t.Context(), client, "")
	switch {
	case len(own) >= testMaxOpenPerClient:
		m.wantFull(t, err, own[0].ExpiresAt)
		return
	case len(all) >= testMaxOpen:
		m.wantFull(t, err, all[0].ExpiresAt)
		return
	case err != nil:
		t.Fatalf("init: %v", err)
	}
	if want := m.created().Add(10 * time.Minute); !flow.ExpiresAt.Equal(want) {
		t.Fatalf("opened at %v, expires at %v", m.at, flow.ExpiresAt)
	}
	if raw, err := base64.RawURLEncoding.DecodeString(flow.Nonce); err != nil || len(raw) != 32 {
		t.Fatalf("nonce %q: %d bytes, %v", flow.Nonce, len(raw), err)
	}
	if want := "https://standin.test/cli?nonce=" + flow.Nonce; flow.VerifyURL != want || flow.Code != device.Code(flow.Nonce) {
		t.Fatalf("flow %+v", flow)
	}
	m.known = append(m.known, modelFlow{Flow: flow, client: client})
}

// created returns the creation time of a flow opened now.
func (m *flowModel) created() time.Time { return m.at.Truncate(time.Millisecond) }

func (m *flowModel) wantFull(t *rapid.T, err error, next time.Time) {
	var full *device.FullError
	if !errors.As(err, &full) {
		t.Fatalf("init with too many open flows: %v", err)
	}
	if want := next.Sub(m.created()); full.RetryAfter != want {
		t.Fatalf("retry after %v, want %v", full.RetryAfter, want)
	}
}

func (m *flowModel) complete(t *rapid.T) {
	if len(m.known) == 0 {
		t.Skip("no flow")
	}
	flow := &m.known[rapid.IntRange(0, len(m.known)-1).Draw(t, "flow")]
	key := rapid.SampledFrom([]string{"standin_live_a", "standin_live_b", "nul \x00 é 🎥 \xff", strings.Repeat("k", 10_000)}).Draw(t, "key")
	email := rapid.SampledFrom([]string{"", "ada@example.test"}).Draw(t, "email")
	err := m.flows.Complete(t.Context(), flow.Nonce, key, email)
	switch {
	case !flow.ExpiresAt.After(m.at), flow.key != "" && flow.key != key:
		if !errors.Is(err, device.ErrExpired) {
			t.Fatalf("complete with %.20q at %v of %+v: %v", key, m.at, *flow, err)
		}
	case err != nil:
		t.Fatalf("complete with %.20q: %v", key, err)
	case flow.key == "":
		flow.key, flow.email = key, email
	}
}

func (m *flowModel) garbage(t *rapid.T) {
	nonce := rapid.SampledFrom([]string{
		"", "x", strings.Repeat("A", 43), strings.Repeat("A", 44), strings.Repeat("\x00", 43), strings.Repeat("n", 1<<20),
	}).Draw(t, "nonce")
	if answer, err := m.flows.Poll(t.Context(), nonce); err != nil || answer != (device.PollResult{Status: device.Expired}) {
		t.Fatalf("poll %.50q: %+v, %v", nonce, answer, err)
	}
	if err := m.flows.Complete(t.Context(), nonce, "key", ""); !errors.Is(err, device.ErrExpired) {
		t.Fatalf("complete %.50q: %v", nonce, err)
	}
}

// deleteExpired deletes expired flows; check sees that no others were deleted.
func (m *flowModel) deleteExpired(t *rapid.T) {
	if err := m.store.DeleteExpired(t.Context(), m.at); err != nil {
		t.Fatal(err)
	}
}

// check polls every flow that was opened.
func (m *flowModel) check(t *rapid.T) {
	for _, flow := range m.known {
		want := device.PollResult{Status: device.Pending}
		switch {
		case !flow.ExpiresAt.After(m.at):
			want = device.PollResult{Status: device.Expired}
		case flow.key != "":
			want = device.PollResult{Status: device.Complete, APIKey: flow.key, Email: flow.email}
		}
		if got, err := m.flows.Poll(t.Context(), flow.Nonce); err != nil || got != want {
			t.Fatalf("at %v, flow %+v: got %+v, %v; want %+v", m.at, flow, got, err, want)
		}
	}
}

func TestDeviceFlowsMatchModel(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		rapid.Check(t, func(t *rapid.T) {
			if err := s.DeleteExpired(t.Context(), now.AddDate(100, 0, 0)); err != nil {
				t.Fatal(err)
			}
			m := &flowModel{store: s, at: now}
			m.restart(t)
			t.Repeat(map[string]func(*rapid.T){
				"advance the clock": m.advance,
				"init":              m.init,
				"complete":          m.complete,
				"garbage":           m.garbage,
				"delete expired":    m.deleteExpired,
				"restart":           m.restart,
				"":                  m.check,
			})
		})
	})
}

// flowsAt returns flows of a store with a fixed clock.
func flowsAt(s *store.Store, at time.Time, maxOpen, maxOpenPerClient int) *device.Flows {
	return device.New(device.Settings{
		Store: s, BaseURL: "https://standin.test", MaxOpen: maxOpen, MaxOpenPerClient: maxOpenPerClient,
		Now: func() time.Time { return at },
	})
}

// TestConcurrentDeviceFlows checks that concurrent calls do not exceed the limits.
func TestConcurrentDeviceFlows(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		flows := flowsAt(s, now, 12, 7)
		var opened [2]atomic.Int64
		var group sync.WaitGroup
		for i := range 60 {
			group.Go(func() {
				_, err := flows.Init(t.Context(), fmt.Sprint("client-", i%2), "")
				var full *device.FullError
				switch {
				case err == nil:
					opened[i%2].Add(1)
				case !errors.As(err, &full):
					t.Error(err)
				case full.RetryAfter != device.Lifetime:
					t.Errorf("retry after %v", full.RetryAfter)
				}
			})
		}
		group.Wait()
		one, other := opened[0].Load(), opened[1].Load()
		if one+other != 12 || one > 7 || other > 7 {
			t.Errorf("%d and %d flows were opened; want 12 in total and at most 7 per client", one, other)
		}
	})
}

// TestConcurrentCompletion checks that one of several concurrent keys completes the
// flow.
func TestConcurrentCompletion(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		flows := flowsAt(s, now, 0, 0)
		flow, err := flows.Init(t.Context(), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		var accepted sync.Map
		var group sync.WaitGroup
		for i := range 30 {
			group.Go(func() {
				key := fmt.Sprint("key-", i%3)
				switch err := flows.Complete(t.Context(), flow.Nonce, key, ""); {
				case err == nil:
					accepted.Store(key, true)
				case !errors.Is(err, device.ErrExpired):
					t.Error(err)
				}
			})
		}
		group.Wait()
		answer, err := flows.Poll(t.Context(), flow.Nonce)
		if err != nil || answer.Status != device.Complete {
			t.Fatalf("poll: %+v, %v", answer, err)
		}
		for key := range accepted.Range {
			if key != answer.APIKey {
				t.Errorf("key %v was accepted, but the poll returned %v", key, answer.APIKey)
			}
		}
		for range 10 { // repeating the stored key succeeds
			if err := flows.Complete(t.Context(), flow.Nonce, answer.APIKey, "other@example.test"); err != nil {
				t.Errorf("repeat the stored key: %v", err)
			}
		}
	})
}

// TestLongDeviceKeysAreBounded checks that long keys share a limit until they
// expire.
func TestLongDeviceKeysAreBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		limits := device.Limits{Open: 100, OpenPerClient: 100, LongTotal: 3 * (device.LongSealed + 1)}
		seal := func(name string, length int, at time.Time) error {
			flow := device.Record{NonceHash: name, ClientAddress: "a", CreatedAt: at, ExpiresAt: at.Add(time.Minute)}
			if err := s.InsertDeviceFlow(t.Context(), flow, limits); err != nil {
				t.Fatal(err)
			}
			done, err := s.CompleteDeviceFlow(t.Context(), name, strings.Repeat("s", length), at, limits)
			if done != (err == nil) {
				t.Fatalf("done %v, %v", done, err)
			}
			return err
		}
		for i := range 3 {
			if err := seal(fmt.Sprint("long-", i), device.LongSealed+1, now.Add(time.Duration(i)*time.Second)); err != nil {
				t.Fatalf("long key %d: %v", i, err)
			}
		}
		var full *device.FullError
		err := seal("one too many", device.LongSealed+1, now.Add(10*time.Second))
		if !errors.As(err, &full) || full.RetryAfter != 50*time.Second {
			t.Errorf("a long key beyond the limit: %v", err)
		}
		if err := seal("ordinary", device.LongSealed, now.Add(10*time.Second)); err != nil {
			t.Errorf("a short key when the limit of long keys is reached: %v", err)
		}
		if err := seal("later", device.LongSealed+1, now.Add(time.Minute)); err != nil {
			t.Errorf("a long key after another expired: %v", err)
		}
	})
}

// TestDatabaseDoesNotRevealDeviceKeys checks that the database does not contain the
// nonce, the key or the e-mail, also encoded.
func TestDatabaseDoesNotRevealDeviceKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flows := flowsAt(storetest.Open(t, filepath.Join(dir, "standin.db")), now, 0, 0)
	const key, email, client = "standin_live_of-the-user", "ada@example.test", "opened-by-me"
	secrets := []string{key, email}
	for _, completed := range []bool{true, false} {
		flow, err := flows.Init(t.Context(), client, "")
		if err == nil && completed {
			err = flows.Complete(t.Context(), flow.Nonce, key, email)
		}
		raw, decodeErr := base64.RawURLEncoding.DecodeString(flow.Nonce)
		if err != nil || decodeErr != nil {
			t.Fatal(err, decodeErr)
		}
		secrets = append(secrets, flow.Nonce, flow.Code, string(raw))
	}
	var content strings.Builder
	for _, name := range []string{"standin.db", "standin.db-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		content.Write(data)
	}
	if !strings.Contains(content.String(), client) {
		t.Fatal("the files do not have the flows")
	}
	for _, secret := range secrets {
		for _, text := range []string{
			secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret)),
			base64.RawURLEncoding.EncodeToString([]byte(secret)),
		} {
			if strings.Contains(content.String(), text) {
				t.Errorf("the files contain %q", text)
			}
		}
	}
}
