package spool

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// TestTextsSurviveReopening checks that batches are returned in order until they
// are acknowledged, also by another process.
func TestTextsSurviveReopening(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *Spool {
		s, err := Open(dir, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	for _, id := range []string{"1", "2", "3"} {
		if err := s.AppendTexts([]ingest.Text{{ID: id, Kind: job.ChatText, Text: "<b>\x00"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Texts.End(Texts{Number: 1}, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Texts.End(Texts{Number: 3}, ""); err == nil {
		t.Error("a batch was acknowledged before the one that precedes it")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	if batch, ok := s.Texts.Next(); !ok || batch.Number != 2 || batch.Texts[0].ID != "2" || batch.Texts[0].Text != "<b>\x00" ||
		s.Texts.Waiting() != 2 {
		t.Errorf("after reopening: %+v, %d waiting", batch, s.Texts.Waiting())
	}
	if err := s.AppendTexts(make([]ingest.Text, ingest.MaxTextsPerRequest+1)); err == nil {
		t.Error("a batch above the limit was accepted")
	}
}

// largeBatch is a batch of about as many bytes as an entry may have.
func largeBatch() []ingest.Text {
	return slices.Repeat([]ingest.Text{{Kind: job.CaptionText, Text: strings.Repeat("x", ingest.MaxTextCharacters)}}, 25)
}

// TestCompactedJournal reports as many captions as a talkative meeting has in a day. The
// service acknowledges each, so that the journal stays short, and nothing else is lost.
func TestCompactedJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(dir, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.Bind("job/0"))
	for range 2 {
		_, err := s.AppendEvent(job.BotJoined, nil)
		must(err)
	}
	must(s.Events.End(Event{Number: 1}, ""))
	must(s.MarkCommandSeen("c1"))
	must(s.AppendSegment(0, 0, []byte("one")))
	name, _ := s.NextFile(func(string) bool { return true })
	file, version, err := s.OpenFile(name)
	must(err)
	must(errors.Join(file.Close(), s.MarkUploaded(version)))
	batch, day := largeBatch(), int64(300) // 75 MB
	for n := range day {
		must(s.AppendTexts(batch))
		must(s.Texts.End(Texts{Number: n + 1}, ""))
		if size := s.journal.length(); size > minCompacted+1<<20 {
			t.Fatalf("the journal has %d bytes after %d batches", size, n+1)
		}
	}
	for range 2 { // also after a restart
		if next, _ := s.Events.Next(); next.Number != 2 || s.Events.Waiting() != 1 || s.Texts.last.Number != day || s.Texts.Waiting() != 0 ||
			!s.CommandSeen("c1") || s.PendingFiles() != 0 || s.Bind("job/0") != nil || s.Bind("job/1") == nil {
			t.Errorf("the next event is %+v of %d; batch %d, %d wait; %d files", next, s.Events.Waiting(), s.Texts.last.Number,
				s.Texts.Waiting(), s.PendingFiles())
		}
		must(s.Close())
		if s, err = Open(dir, Settings{}); err != nil {
			t.Fatal(err)
		}
	}
	must(s.Close())
}

// TestTextsLeaveRoom checks that events are accepted when the service is away and texts
// have filled their part of the journal.
func TestTextsLeaveRoom(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for err = s.AppendTexts(largeBatch()); err == nil; {
		err = s.AppendTexts(largeBatch())
	}
	if full := new(FullError); !errors.As(err, &full) || full.Limit != maxTexts {
		t.Fatalf("texts that do not fit: %v", err)
	}
	for range 50 {
		if _, err := s.AppendEvent(job.ManifestFinalized, map[string]string{"detail": strings.Repeat("x", 200<<10)}); err != nil {
			t.Fatal(err)
		}
	}
}
