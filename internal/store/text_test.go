package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/store"
)

// caption returns a caption that began some seconds after now.
func caption(id, text string, seconds int) job.MeetingText {
	at := now.Add(time.Duration(seconds) * time.Second)
	return job.MeetingText{
		Kind: job.CaptionText, ID: id, Author: "Ada", Text: text, Language: "en-US", StartedAt: at, EndedAt: at.Add(time.Second),
	}
}

// appendTexts appends texts and returns the number that is new or changed.
func appendTexts(t *testing.T, s *store.Store, jobID uuid.UUID, texts ...job.MeetingText) int {
	t.Helper()
	stored, err := tryAppend(t, s, jobID, texts...)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func tryAppend(t *testing.T, s *store.Store, jobID uuid.UUID, texts ...job.MeetingText) (count int, err error) {
	t.Helper()
	err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.LockJob(ctx, jobID); err != nil {
			return err
		}
		stored, err := tx.AppendTexts(ctx, jobID, texts)
		count = len(stored)
		return err
	})
	return count, err
}

func contents(texts []job.MeetingText) string {
	var all []string
	for _, text := range texts {
		all = append(all, text.Text)
	}
	return strings.Join(all, "|")
}

// TestTexts checks that a text with a known ID replaces the stored one under a new
// sequence, and that a repeated one changes nothing.
func TestTexts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s).ID
		r, other := newJob(consumer), newJob(consumer)
		insert(t, s, r, other)
		hostile := caption("3", "🎥<script>\\0 \" ' \u202e", 9)
		if n := appendTexts(t, s, r.ID, caption("1", "hello wor", 5), caption("2", "before", 1), hostile); n != 3 {
			t.Errorf("stored %d, want 3", n)
		}
		if n := appendTexts(t, s, r.ID, caption("1", "hello wor", 5), caption("2", "before", 1)); n != 0 {
			t.Errorf("repeated texts stored %d", n)
		}
		appendTexts(t, s, r.ID, caption("1", "Hello, world.", 5))
		chat := caption("1", "a message", 7)
		chat.Kind = job.ChatText
		appendTexts(t, s, r.ID, chat)
		appendTexts(t, s, other.ID, caption("1", "elsewhere", 0))

		all, err := s.Texts(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := contents(all), "before|Hello, world.|a message|"+hostile.Text; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		first := all[1]
		want := caption("1", "Hello, world.", 5)
		want.JobID, want.Sequence = r.ID, 4
		if first != want {
			t.Errorf("got %+v, want %+v", first, want)
		}
		page, more, err := s.TextsAfter(t.Context(), r.ID, 2, 2)
		if err != nil || !more || contents(page) != hostile.Text+"|Hello, world." {
			t.Errorf("after 2: %q, %v, %v", contents(page), more, err)
		}
		page, more, err = s.TextsAfter(t.Context(), r.ID, page[1].Sequence, 2)
		if err != nil || more || contents(page) != "a message" {
			t.Errorf("after 4: %q, %v, %v", contents(page), more, err)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteTexts(ctx, r.ID) })
		if all, err := s.Texts(t.Context(), r.ID); err != nil || len(all) > 0 {
			t.Errorf("deleted texts: %v, %v", all, err)
		}
		if err := s.DeleteJob(t.Context(), other.ID); err != nil {
			t.Error(err)
		}
	})
}

// TestTextQuota checks that nothing is stored beyond the bytes of a job.
func TestTextQuota(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	r := newJob(newConsumer(t, s).ID)
	insert(t, s, r)
	appendTexts(t, s, r.ID, caption("1", strings.Repeat("x", job.MaxTextBytes-10), 0))
	if _, err := tryAppend(t, s, r.ID, caption("2", "0123456789", 0)); !job.ErrorIs(err, job.OverQuota) {
		t.Errorf("over the quota: %v", err)
	}
	if n := appendTexts(t, s, r.ID, caption("2", "0123", 0)); n != 1 {
		t.Errorf("within the quota: stored %d", n)
	}
}
