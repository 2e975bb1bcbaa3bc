package spool_test

import (
	"errors"
	"path/filepath"
	"testing"

	"standin/internal/bot/ingest"
	"standin/internal/bot/spool"
)

// TestBundlesLeaveSpace: bundles are refused while there is still space for the recording, unless older ones were uploaded.
func TestBundlesLeaveSpace(t *testing.T) {
	t.Parallel()
	s, err := spool.Open(filepath.Join(t.TempDir(), "spool"), spool.Settings{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	part := make([]byte, 300)
	for sequence := range 2 {
		if err := s.AppendBundle(sequence, part); err != nil {
			t.Fatal(err)
		}
	}
	var full *spool.FullError
	if err := s.AppendBundle(2, part); !errors.As(err, &full) {
		t.Errorf("a third bundle: %v, want a FullError", err)
	}
	if err := s.AppendSegment(0, 0, part); err != nil {
		t.Errorf("the recording's segment: %v", err)
	}
	if name, _ := s.NextFile(func(string) bool { return true }); name != ingest.SegmentName(0, 0) {
		t.Errorf("%s is uploaded first, want the recording's segment", name)
	}
	if pending := s.PendingFiles(); pending != 3 {
		t.Errorf("%d files are to be uploaded", pending)
	}
	for uploaded := range 2 { // the segment takes space of the bundles' share
		upload(t, s, ingest.BundleName(uploaded))
		err := s.AppendBundle(2+uploaded, part)
		if full := errors.As(err, &full); full != (uploaded == 0) || s.Evicted() != uploaded+1 {
			t.Errorf("after %d uploads: %v, %d evicted", uploaded+1, err, s.Evicted())
		}
	}
	if err := s.Put(ingest.BundleName(7), part); err == nil {
		t.Error("Put accepted the name of a bundle")
	}
}
