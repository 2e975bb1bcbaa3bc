package spool

import (
	"testing"

	"standin/internal/ingest"
	"standin/internal/job"
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
