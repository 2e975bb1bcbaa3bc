package service

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/client"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// TestInstance checks that services with the same signing key have the same instance
// name, and that the name is valid as a label.
func TestInstance(t *testing.T) {
	t.Parallel()
	one, other := (&Service{key: []byte("a key")}).instance(), (&Service{key: []byte("another key")}).instance()
	if one == other || one != (&Service{key: []byte("a key")}).instance() {
		t.Errorf("instance names %s and %s", one, other)
	}
	if len(one) != 12 || strings.Trim(one, "0123456789abcdef") != "" {
		t.Errorf("%s is not a valid label value", one)
	}
}

// TestWanted checks that a bot is wanted if its attempt is the job's last and the job
// has a wake time.
func TestWanted(t *testing.T) {
	t.Parallel()
	s := start(t, settings(storetest.FreshDataDir(t)))
	defer closeService(t, s)
	_, secret, err := s.Keys.Issue(t.Context(), "ada", "ada@example.com", "live")
	if err != nil {
		t.Fatal(err)
	}
	to, err := client.New(s.BaseURL(), secret)
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	made, _, err := to.CreateJob(t.Context(), client.NewJob{
		ExternalID: "1", MeetingURL: "https://meet.google.com/abc-defg-hij", JoinAt: &later,
	})
	if err != nil {
		t.Fatal(err)
	}
	id := uuid.MustParse(made.ID)
	wanted := func(attempt int) bool {
		t.Helper()
		wanted, err := s.wanted(t.Context(), id, attempt)
		if err != nil {
			t.Fatal(err)
		}
		return wanted
	}
	if !wanted(0) || wanted(1) {
		t.Errorf("new job: attempt 0 wanted %v, attempt 1 wanted %v", wanted(0), wanted(1))
	}
	err = s.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.Job(ctx, id)
		if err != nil {
			return err
		}
		r.Attempt, r.Attempts = 1, 2
		return tx.SaveJob(ctx, store.JobChange{Record: r})
	})
	if err != nil {
		t.Fatal(err)
	}
	if wanted(0) || !wanted(1) {
		t.Errorf("job at attempt 1: attempt 0 wanted %v, attempt 1 wanted %v", wanted(0), wanted(1))
	}
	if known, err := s.wanted(t.Context(), uuid.New(), 0); known || err != nil {
		t.Errorf("the bot of an unknown job is wanted: %v (%v)", known, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.wanted(ended, id, 1); err == nil {
		t.Error("no error with a cancelled context")
	}
}
