package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/signin"
	"standin/internal/testing/storetest"
	"standin/internal/testing/world"
)

// cookiesUntil returns the cookies of a user who is signed in to Google until a time, and its secret value.
func cookiesUntil(until time.Time, value string) []byte {
	return fmt.Appendf(nil, `[{"name":"SID","value":%q,"domain":".google.com","expirationDate":%d}]`, value, until.Unix())
}

// TestAccountLoans runs 200 jobs of two teams in 40 meetings with 10 accounts of the operator, on two nodes, with bots
// that are killed, replaced, and never return what they borrowed: no account is ever in more meetings than it may, or
// twice in one, and none is lost.
func TestAccountLoans(t *testing.T) {
	t.Parallel()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) {
		w := world.New(t, address, time.Now)
		nodes := []*lifecycle.Service{w.Service, w.NewService(t, time.Now)}
		teams := []account.Caller{w.Caller, w.NewCaller(t)}
		limits := make(map[uuid.UUID]int)
		for n := range 10 {
			a, err := w.AddAccount(t.Context(), signin.Account{Platform: job.Meet, Label: fmt.Sprint("Recorder ", n), MaxMeetings: 1 + n%3},
				signin.State{Cookies: cookiesUntil(time.Now().Add(time.Hour), "secret")})
			if err != nil {
				t.Fatal(err)
			}
			limits[a.ID] = a.MaxMeetings
		}
		check := func() (lent int) {
			accounts, err := w.Accounts(t.Context(), uuid.Nil)
			if err != nil {
				t.Error(err)
			}
			for _, a := range accounts {
				meetings := make(map[string]bool)
				for _, use := range a.Uses {
					if use.Active && meetings[use.Meeting] {
						t.Errorf("%s is twice in a meeting", a.Label)
					}
					meetings[use.Meeting] = meetings[use.Meeting] || use.Active
				}
				if lent += a.Meetings(); a.Meetings() > limits[a.ID] {
					t.Errorf("%s is in %d of %d meetings", a.Label, a.Meetings(), limits[a.ID])
				}
			}
			return lent
		}
		var running sync.WaitGroup
		var mu sync.Mutex
		granted, refused := 0, 0
		slots := make(chan struct{}, 24) // bots at once
		for n := range 200 {
			running.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				random := rand.New(rand.NewPCG(uint64(n), 1))
				request := world.Request(fmt.Sprint("call ", n))
				request.MeetingURL = fmt.Sprintf("https://meet.google.com/abc-defg-h%c%c", 'a'+rune(n%40/26), 'a'+rune(n%40%26))
				request.Options.SignIn = job.SignInAlways
				created, _, err := w.Create(t.Context(), teams[n%2], request)
				if err != nil {
					t.Error(err)
					return
				}
				for attempt := range 1 + random.IntN(3) { // each but the last is killed
					_, err := nodes[0].Change(t.Context(), created.ID, func(ctx context.Context, c *lifecycle.Change) error {
						_, err := c.StartAttempt(ctx, "a", "a", "")
						return err
					})
					if err != nil {
						t.Error(err)
					}
					bot := botOf(t, created.ID, attempt)
					for range 1 + random.IntN(2) { // the answer to the first request may be lost
						lent, err := nodes[random.IntN(2)].LendAccount(t.Context(), bot, ingest.AccountRequest{})
						if err != nil {
							t.Error(err)
						}
						mu.Lock()
						if lent.Account == "" {
							refused++
						} else {
							granted++
						}
						mu.Unlock()
						check()
					}
				}
				if random.IntN(3) > 0 { // the others never return it
					if err := nodes[random.IntN(2)].ReturnAccount(t.Context(), botOf(t, created.ID, 2), signin.State{}); err != nil {
						t.Error(err)
					}
				}
				_, err = nodes[1].Change(t.Context(), created.ID, func(ctx context.Context, c *lifecycle.Change) error {
					_, err := c.ApplyFromService(ctx, job.Event{Trigger: job.GivenUp, FailureCode: job.InternalError}, nil)
					c.WakeAt = time.Time{} // as the dispatcher leaves it
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		if lent := check(); lent != 0 || granted == 0 || refused == 0 {
			t.Errorf("%d accounts are still lent; %d requests were granted, %d refused", lent, granted, refused)
		}
	})
}

func botOf(t *testing.T, jobID uuid.UUID, attempt int) ingest.Bot {
	t.Helper()
	key := []byte("key")
	bot, ok := ingest.Authenticate(key, jobID, attempt, ingest.Token(key, jobID.String(), attempt))
	if !ok {
		t.Error("no bot")
	}
	return bot
}

// TestAccountReturned checks that a meeting changes the cookies of an account, but not those of an owner who
// has signed in again meanwhile, and that a signed-out browser leaves the account as it was.
func TestAccountReturned(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	until := time.Now().Add(time.Hour)
	a, err := h.AddAccount(t.Context(), signin.Account{ConsumerID: h.Caller.ConsumerID, Platform: job.Meet, Label: "Recorder"},
		signin.State{Cookies: cookiesUntil(until, "first")})
	if err != nil {
		t.Fatal(err)
	}
	meet := func(name string, during func(), state signin.State) (seen string) {
		request := world.Request(name)
		request.Options.SignIn = job.SignInAlways
		created, _, err := h.Create(t.Context(), h.Caller, request)
		if err != nil {
			t.Fatal(err)
		}
		bot := botOf(t, created.ID, 0)
		lent, err := h.LendAccount(t.Context(), bot, ingest.AccountRequest{})
		if err != nil || lent.Account != "Recorder" {
			t.Fatalf("lent %+v, %v", lent, err)
		}
		during()
		if err := h.ReturnAccount(t.Context(), bot, state); err != nil {
			t.Fatal(err)
		}
		return string(lent.State.Cookies)
	}
	nothing := func() {}
	meet("1", nothing, signin.State{Cookies: cookiesUntil(until, "second")})
	if seen := meet("2", nothing, signin.State{Cookies: []byte(`[{"name":"NID","value":"x","domain":".google.com"}]`)}); !strings.Contains(seen, "second") {
		t.Errorf("the second meeting got %s", seen)
	}
	if seen := meet("3", func() {
		state := signin.State{Cookies: cookiesUntil(until, "renewed")}
		if _, err := h.ChangeAccount(t.Context(), h.Caller.ConsumerID, a.ID, &state, func(*signin.Account) {}); err != nil {
			t.Error(err)
		}
	}, signin.State{Cookies: cookiesUntil(until, "stale")}); !strings.Contains(seen, "second") {
		t.Errorf("the third meeting got %s", seen)
	}
	if seen := meet("4", nothing, signin.State{}); !strings.Contains(seen, "renewed") {
		t.Errorf("the fourth meeting got %s", seen)
	}
	request := world.Request("5")
	request.Options.SignIn = job.SignInAlways
	created, _, err := h.Create(t.Context(), h.Caller, request)
	if err != nil {
		t.Fatal(err)
	}
	for attempt := range 2 { // the first bot is replaced, and returns what the second has
		if _, err := h.Change(t.Context(), created.ID, func(ctx context.Context, c *lifecycle.Change) error {
			_, err := c.StartAttempt(ctx, "a", "a", "")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if lent, err := h.LendAccount(t.Context(), botOf(t, created.ID, attempt), ingest.AccountRequest{}); err != nil || lent.Account == "" {
			t.Fatalf("attempt %d got %+v, %v", attempt, lent, err)
		}
	}
	for attempt, meetings := range []int{1, 0} {
		if err := h.ReturnAccount(t.Context(), botOf(t, created.ID, attempt), signin.State{Cookies: cookiesUntil(until, "late")}); err != nil {
			t.Error(err)
		}
		if now, err := h.Account(t.Context(), h.Caller.ConsumerID, a.ID); err != nil || now.Meetings() != meetings {
			t.Errorf("after attempt %d has returned it, the account is in %d meetings, %v", attempt, now.Meetings(), err)
		}
	}
	if _, err := h.Account(t.Context(), h.NewCaller(t).ConsumerID, a.ID); !job.ErrorIs(err, job.NotFound) {
		t.Errorf("another team reads the account: %v", err)
	}
}

// TestAccountFiles checks that files in the operator's folder are accounts, follow them, and end with them.
func TestAccountFiles(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	h.SignInFolder = t.TempDir()
	write := func(name, value string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(h.SignInFolder, name), cookiesUntil(time.Now().Add(time.Hour), value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(want ...string) {
		t.Helper()
		if err := h.ReadAccountFiles(t.Context()); err != nil {
			t.Error(err)
		}
		accounts, err := h.Accounts(t.Context(), h.Caller.ConsumerID)
		var labels []string
		for _, a := range accounts {
			labels = append(labels, fmt.Sprint(a.Platform, " ", a.Label, " ", a.RenewedAt.UnixMilli()))
		}
		if err != nil || len(labels) != len(want) || !slices.EqualFunc(labels, want, strings.HasPrefix) {
			t.Fatalf("accounts %q, %v, want %q", labels, err, want)
		}
	}
	write("meet.cookies.json", "a")
	write("meet.ada.cookies.json", "b")
	read("meet ada", "meet meet")
	read("meet ada", "meet meet")
	before, err := h.Accounts(t.Context(), uuid.Nil)
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Second)
	if err := errors.Join(os.Remove(filepath.Join(h.SignInFolder, "meet.cookies.json")),
		os.Chtimes(filepath.Join(h.SignInFolder, "meet.ada.cookies.json"), later, later)); err != nil {
		t.Fatal(err)
	}
	read("meet ada")
	if after, err := h.Accounts(t.Context(), uuid.Nil); err != nil || after[0].Sealed == before[0].Sealed || after[0].ID != before[0].ID {
		t.Errorf("the changed file was not read: %v, %v", after, err)
	}
}
