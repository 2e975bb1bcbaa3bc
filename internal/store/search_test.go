package store_test

import (
	"context"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// TestSearchTexts searches the texts of recordings on both databases.
func TestSearchTexts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		own, other := newConsumer(t, s), newConsumer(t, s)
		mine, theirs := newJob(own.ID), newJob(other.ID)
		insert(t, s, mine, theirs)
		replace := func(r job.Record, kind job.TextKind, texts ...job.SearchText) {
			t.Helper()
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.ReplaceSearchTexts(ctx, r.Job, kind, texts) })
		}
		replace(mine, job.TranscriptText, job.SearchText{Text: "an earlier version"})
		replace(mine, job.TranscriptText,
			job.SearchText{StartMs: 10, Speaker: "Ada", Text: "The Quarterly budget 🎥, über alles"},
			job.SearchText{StartMs: 20, Speaker: "Bob", Text: `don't OR "quote" ' : * ) & | <b>`})
		replace(mine, job.ChatText, job.SearchText{StartMs: 30, Text: "budget link"})
		replace(theirs, job.TranscriptText, job.SearchText{Text: "their budget"})
		for query, want := range map[string]int{
			"budget": 2, "BUDG": 2, "quarterly budget": 1, "budget quarterly": 1, "ÜBER": 1, "earlier": 0, "their": 0, "missing": 0,
			"": 0, `"`: 0, `' OR 1=1 --`: 0, `quote" OR text:x`: 0, "don't": 1, `*`: 0, "or quote": 1, "NEAR(budget)": 0, own.ID.String(): 0,
		} {
			found, err := s.SearchTexts(ctx, live(own.ID), query, job.TextFilter{}, 10)
			if err != nil || len(found) != want {
				t.Errorf("%q: found %v (%v), want %d", query, found, err, want)
			}
		}
		for filter, want := range map[job.TextFilter]int{
			{Speaker: "ada"}: 1, {Speaker: "BO"}: 0, {Speaker: "bob"}: 0, {Speaker: "'"}: 0,
			{From: mine.CreatedAt, To: mine.CreatedAt.Add(time.Millisecond)}: 2, {
				From: mine.CreatedAt.Add(time.Millisecond),
			}: 0, {To: mine.CreatedAt}: 0,
		} {
			if found, err := s.SearchTexts(ctx, live(own.ID), "budget", filter, 10); err != nil || len(found) != want {
				t.Errorf("%+v: found %v (%v), want %d", filter, found, err, want)
			}
		}
		if found, err := s.SearchTexts(ctx, account.Caller{ConsumerID: own.ID, Mode: job.Test}, "budget", job.TextFilter{}, 10); err != nil || len(found) > 0 {
			t.Errorf("test key: found %v (%v)", found, err)
		}
		found, err := s.SearchTexts(ctx, live(own.ID), "quarterly", job.TextFilter{}, 10)
		if err != nil || found[0].Text != "The Quarterly budget 🎥, über alles" || found[0].Speaker != "Ada" || found[0].StartMs != 10 {
			t.Errorf("found %+v (%v)", found, err)
		}
		if err := s.DeleteJob(ctx, mine.ID); err != nil {
			t.Fatal(err)
		}
		if found, err := s.SearchTexts(ctx, live(own.ID), "budget", job.TextFilter{}, 10); err != nil || len(found) > 0 {
			t.Errorf("after deletion: found %v (%v)", found, err)
		}
	})
}

// TestClaimRecordingTask leases tasks on both databases.
func TestClaimRecordingTask(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		r := newJob(newConsumer(t, s).ID)
		insert(t, s, r)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.InsertRecordingTask(ctx, r.ID, job.TranscriptTask, now)
		})
		claim := func(at time.Time) (job.RecordingTask, bool) {
			t.Helper()
			claimed, ok, err := s.ClaimRecordingTask(ctx, job.TranscriptTask, r.ConsumerID.String(), at, at.Add(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			return claimed, ok
		}
		first, ok := claim(now)
		if !ok || first.JobID != r.ID || !first.CreatedAt.Equal(now) {
			t.Fatalf("claimed %+v (%v)", first, ok)
		}
		if _, ok := claim(now.Add(time.Second)); ok {
			t.Error("claimed twice")
		}
		second, ok := claim(now.Add(2 * time.Minute)) // its lease is over
		if !ok {
			t.Fatal("not claimed after the lease")
		}
		first.Failures, second.Failures, second.Sent = 7, 1, time.Second
		if valid, err := s.SaveRecordingTask(ctx, first, now); err != nil || valid {
			t.Errorf("the first lease is valid: %v (%v)", valid, err)
		}
		if valid, err := s.SaveRecordingTask(ctx, second, now.Add(time.Hour)); err != nil || !valid {
			t.Errorf("the second lease is not valid: %v (%v)", valid, err)
		}
		if _, ok := claim(now.Add(30 * time.Minute)); ok {
			t.Error("claimed during a pause")
		}
		if third, ok := claim(now.Add(time.Hour)); !ok || third.Failures != 1 || third.Sent != time.Second {
			t.Errorf("claimed %+v (%v)", third, ok)
		}
		if err := s.SaveTranscriptionPiece(ctx, r.ID, "a 0-1", `{"text":"\u0000"}`); err != nil {
			t.Fatal(err)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.EndRecordingTask(ctx, r.ID, job.TranscriptTask)
		})
		if pieces, err := s.TranscriptionPieces(ctx, r.ID); err != nil || len(pieces) > 0 {
			t.Errorf("pieces %v (%v)", pieces, err)
		}
		if _, ok := claim(now.Add(24 * time.Hour)); ok {
			t.Error("claimed after the end")
		}
	})
}
