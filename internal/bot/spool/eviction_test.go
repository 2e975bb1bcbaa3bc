package spool_test

import (
	"bytes"
	"errors"
	"testing"

	"standin/internal/bot/ingest"
	"standin/internal/bot/spool"
)

func TestUploadedSegmentsAreEvicted(t *testing.T) {
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
		t.Fatalf("with nothing uploaded: %v, %d evicted, space %v", err, s.Evicted(), s.HasSpace(1))
	}
	upload(t, s, ingest.SegmentName(0, 1))
	if !s.HasSpace(10) || s.HasSpace(11) {
		t.Errorf("space for 10 bytes %v, for 11 %v", s.HasSpace(10), s.HasSpace(11))
	}
	if err := s.AppendSegment(0, 3, ten); err != nil {
		t.Fatalf("with one uploaded: %v", err)
	}
	check := func(when string) {
		t.Helper()
		recorded, uploaded := s.SegmentBytes()
		if s.Evicted() != 1 || len(s.Segments(0)) != 3 || recorded != 40 || uploaded != 10 || s.PendingFiles() != 3 {
			t.Errorf("%s: %d evicted, %d present, %d pending, %d of %d bytes uploaded; want 1, 3, 3, 10 of 40",
				when, s.Evicted(), len(s.Segments(0)), s.PendingFiles(), uploaded, recorded)
		}
	}
	check("at first")
	s = open(t, dir, limited)
	check("after reopening")
	if err := s.AppendSegment(0, 4, ten); !errors.As(err, &full) {
		t.Errorf("a segment that was not uploaded was evicted: %v", err)
	}
}
