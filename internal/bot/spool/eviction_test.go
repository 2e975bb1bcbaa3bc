package spool_test

import (
	"bytes"
	"errors"
	"testing"

	"standin/internal/bot/spool"
	"standin/internal/ingest"
)

func TestAcknowledgedSegmentsGiveWayToNewOnes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	limited := spool.Settings{Limit: 30}
	s := open(t, dir, limited)
	ten := bytes.Repeat([]byte("x"), 10)
	for sequence := range 3 {
		if err := s.AppendSegment(0, sequence, ten); err != nil {
			t.Fatal(err)
		}
	}
	var full *spool.FullError
	if err := s.AppendSegment(0, 3, ten); !errors.As(err, &full) || s.Evicted() != 0 || s.HasSpace(1) {
		t.Fatalf("with nothing acknowledged: %v, %d gave way, room %v", err, s.Evicted(), s.HasSpace(1))
	}
	upload(t, s, ingest.SegmentName(0, 1))
	if !s.HasSpace(10) || s.HasSpace(11) {
		t.Errorf("room for 10 bytes %v, for 11 %v", s.HasSpace(10), s.HasSpace(11))
	}
	if err := s.AppendSegment(0, 3, ten); err != nil {
		t.Fatalf("with one acknowledged: %v", err)
	}
	check := func(when string) {
		t.Helper()
		recorded, uploaded := s.SegmentBytes()
		if s.Evicted() != 1 || len(s.Segments(0)) != 3 || recorded != 40 || uploaded != 10 || s.PendingFiles() != 3 {
			t.Errorf("%s %d gave way, %d are there, %d wait, %d of %d bytes uploaded; want 1, 3, 3, 10 of 40",
				when, s.Evicted(), len(s.Segments(0)), s.PendingFiles(), uploaded, recorded)
		}
	}
	check("at first")
	s = open(t, dir, limited)
	check("after a reopening")
	if err := s.AppendSegment(0, 4, ten); !errors.As(err, &full) {
		t.Errorf("nothing that the service lacks may give way: %v", err)
	}
}
