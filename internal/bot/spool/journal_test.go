package spool_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"standin/internal/bot/ingest"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
)

// describe returns the state of a spool as text.
func describe(t tester, s *spool.Spool) string {
	t.Helper()
	var text bytes.Buffer
	next, ok := s.Events.Next()
	recorded, uploaded := s.SegmentBytes()
	fmt.Fprintln(&text, "events:", s.Events.Waiting(), ok, next.Number, next.Kind, next.EmittedAt.UnixMilli(), string(next.Data))
	fmt.Fprintln(&text, "bytes:", recorded, uploaded, "rejected:", s.RejectedFiles())
	fmt.Fprintln(&text, "commands:", s.CommandSeen("c1"), s.CommandSeen("c2"))
	fmt.Fprint(&text, "pending:")
	seen := map[string]bool{}
	for {
		name, ok := s.NextFile(func(name string) bool { return !seen[name] })
		if !ok {
			return text.String()
		}
		seen[name] = true
		fmt.Fprint(&text, " ", name)
	}
}

// TestTruncatedJournal opens a journal with every kind of record, truncated at each
// byte.
func TestTruncatedJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Settings{})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.AppendSegment(0, 0, []byte("one")))
	must(s.AppendSegment(0, 1, []byte("two!")))
	must(s.Put("notes.txt", []byte("notes")))
	segment, _ := read(t, s, ingest.SegmentName(0, 0))
	refused, _ := read(t, s, ingest.SegmentName(0, 1))
	notes, _ := read(t, s, "notes.txt")

	path := filepath.Join(dir, "journal")
	steps := []func() error{
		func() error { return s.Bind("job/0") },
		func() error { _, err := s.AppendEvent(job.BotJoined, nil); return err },
		func() error {
			_, err := s.AppendEvent(job.BotInMeeting, map[string]string{"detail": "a\nb"})
			return err
		},
		func() error { return s.MarkUploaded(segment) },
		func() error { return s.Events.End(spool.Event{Number: 1}, "") },
		func() error { return s.RejectFile(refused, "409") },
		func() error { return s.MarkCommandSeen("c1") },
		func() error { return s.MarkUploaded(notes) },
		func() error { return s.Events.End(spool.Event{Number: 2}, "400") },
		func() error { return s.MarkCommandSeen("c2") },
		func() error { _, err := s.AppendEvent(job.BotExited, nil); return err },
	}
	states := map[int]string{0: describe(t, s)} // by the journal's length
	for number, step := range steps {
		must(step())
		info, err := os.Stat(path)
		must(err)
		if _, grew := states[int(info.Size())]; grew {
			t.Fatalf("step %d did not change the journal", number)
		}
		states[int(info.Size())] = describe(t, s)
	}
	must(s.Close())

	whole, err := os.ReadFile(path)
	must(err)
	want := states[0]
	for length := 0; length <= len(whole); length++ {
		if state, ok := states[length]; ok {
			want = state
		}
		must(os.WriteFile(path, whole[:length], 0o600))
		s := open(t, dir, spool.Settings{})
		if got := describe(t, s); got != want || s.DamagedLines() != 0 {
			t.Fatalf("cut at %d of %d, %d lines damaged:\n%s\nwant\n%s", length, len(whole), s.DamagedLines(), got, want)
		}
		waiting := s.Events.Waiting()
		_, err := s.AppendEvent(job.BotMediaUploading, nil)
		must(err)
		must(s.Close())
		s = open(t, dir, spool.Settings{})
		if s.Events.Waiting() != waiting+1 {
			t.Fatalf("cut at %d: an event that was appended later is lost", length)
		}
		must(s.Close())
	}
}

func TestDamagedLineIsSkipped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Settings{})
	for range 3 {
		if _, err := s.AppendEvent(job.BotJoined, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "journal")
	journal, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	journal[bytes.Index(journal, []byte("joined"))] ^= 1
	if err := os.WriteFile(path, journal, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, spool.Settings{})
	if s.DamagedLines() != 1 || s.Events.Waiting() != 2 {
		t.Errorf("%d lines damaged and %d events left, want 1 and 2", s.DamagedLines(), s.Events.Waiting())
	}
}
