package spool_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/base/fsutil"
	"standin/internal/bot/ingest"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
)

// tester is implemented by *testing.T and *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func open(t tester, dir string, settings spool.Settings) *spool.Spool {
	t.Helper()
	s, err := spool.Open(dir, settings)
	if err != nil {
		t.Fatalf("open the spool: %v", err)
	}
	return s
}

func anyFile(string) bool { return true }

// upload reads a file and marks it as uploaded.
func upload(t tester, s *spool.Spool, name string) spool.File {
	t.Helper()
	version, _ := read(t, s, name)
	if err := s.MarkUploaded(version); err != nil {
		t.Fatalf("mark %s: %v", name, err)
	}
	return version
}

func read(t tester, s *spool.Spool, name string) (spool.File, []byte) {
	t.Helper()
	file, version, err := s.OpenFile(name)
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	if sum := sha256.Sum256(data); version.Sum != hex.EncodeToString(sum[:]) || version.Size != int64(len(data)) {
		t.Errorf("%s: checksum %s and size %d, its %d bytes have checksum %x", name, version.Sum, version.Size, len(data), sum)
	}
	return version, data
}

func TestEventsKeepOrderWhenClockStepsBack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spool")
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return at }
	s := open(t, dir, spool.Settings{Now: clock})

	first, err := s.AppendEvent(job.BotJoined, nil)
	if err != nil {
		t.Fatal(err)
	}
	at = at.Add(-time.Hour)
	second, err := s.AppendEvent(job.BotExited, ingest.EventData{FailureCode: "network_loss"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Events.End(first, ""); err != nil {
		t.Fatal(err)
	}

	s = open(t, dir, spool.Settings{Now: clock}) // the bot was killed: s is not closed
	third, err := s.AppendEvent(job.BotPostProcessing, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !first.EmittedAt.Before(second.EmittedAt) || !second.EmittedAt.Before(third.EmittedAt) {
		t.Errorf("times do not increase: %v, %v, %v", first.EmittedAt, second.EmittedAt, third.EmittedAt)
	}
	next, ok := s.Events.Next()
	if !ok || next.Number != second.Number || !next.EmittedAt.Equal(second.EmittedAt) ||
		string(next.Data) != `{"failureCode":"network_loss"}` {
		t.Errorf("after reopening the next event is %+v, want %+v", next, second)
	}
	if err := s.Events.End(third, ""); err == nil {
		t.Error("an event was acknowledged out of order")
	}
	if err := s.Events.End(second, "refused"); err != nil {
		t.Fatal(err)
	}
	if next, _ := s.Events.Next(); next.Number != third.Number || s.Events.Waiting() != 1 {
		t.Errorf("after rejecting the second: next is %d, %d waiting", next.Number, s.Events.Waiting())
	}
}

func TestInvalidEventsAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), spool.Settings{})
	for name, test := range map[string]struct {
		kind job.Trigger
		data any
	}{
		"not an event of bots": {job.CancelRequested, nil},
		"data is a list":       {job.BotJoined, []int{1}},
		"data is not JSON":     {job.BotJoined, func() {}},
		"data is too large":    {job.BotJoined, map[string]string{"detail": string(bytes.Repeat([]byte("a"), 300<<10))}},
	} {
		if _, err := s.AppendEvent(test.kind, test.data); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if s.Events.Waiting() != 0 {
		t.Errorf("%d refused events wait to be sent", s.Events.Waiting())
	}
}

func TestSegmentsStayAfterUpload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Settings{})
	for sequence := range 3 {
		if err := s.AppendSegment(1, sequence, []byte{byte('a' + sequence)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AppendSegment(0, 7, []byte("earlier")); err != nil {
		t.Fatal(err)
	}
	upload(t, s, ingest.SegmentName(1, 0))

	s = open(t, dir, spool.Settings{})
	if name, _ := s.NextFile(anyFile); name != ingest.SegmentName(0, 7) || s.PendingFiles() != 3 {
		t.Errorf("after reopening %s is next of %d", name, s.PendingFiles())
	}
	var packed []byte
	for _, path := range s.Segments(1) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		packed = append(packed, data...)
	}
	if string(packed) != "abc" {
		t.Errorf("the segments of part 1 are %q, want abc", packed)
	}
	if recorded, uploaded := s.SegmentBytes(); recorded != 10 || uploaded != 1 {
		t.Errorf("recorded %d, uploaded %d bytes, want 10 and 1", recorded, uploaded)
	}
}

func TestSegmentsAreNeverOverwritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 { // the second time without the checksum in memory
		s := open(t, dir, spool.Settings{})
		if err := s.AppendSegment(0, 0, []byte("one")); err != nil {
			t.Errorf("the same segment again: %v", err)
		}
		if err := s.AppendSegment(0, 0, []byte("two")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("other data under the same numbers: %v, want fs.ErrExist", err)
		}
		if _, data := read(t, s, ingest.SegmentName(0, 0)); string(data) != "one" {
			t.Errorf("the segment is now %q", data)
		}
		if recorded, _ := s.SegmentBytes(); recorded != 3 {
			t.Errorf("%d bytes recorded, want 3", recorded)
		}
	}
}

func TestFullSpoolAcceptsReport(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), spool.Settings{Limit: 10})
	if err := s.AppendSegment(0, 0, []byte("12345678")); err != nil {
		t.Fatal(err)
	}
	var full *spool.FullError
	if err := s.AppendSegment(0, 1, []byte("123")); !errors.As(err, &full) {
		t.Fatalf("a segment beyond the limit: %v, want a FullError", err)
	}
	if full.Limit != 10 || full.Used != 8 || full.Wanted != 3 {
		t.Errorf("error %+v", full)
	}
	if err := s.AppendSegment(0, 2, []byte("12")); err != nil {
		t.Errorf("a segment that fits: %v", err)
	}
	if err := s.Put(ingest.ReportName, []byte(`{"gaps":[]}`)); err != nil {
		t.Errorf("the report: %v", err)
	}
}

func TestReplacedFileIsUploadedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Settings{})
	put := func(text string) {
		t.Helper()
		if err := s.Put(ingest.ReportName, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	put("first")
	stale, _ := read(t, s, ingest.ReportName)
	put("second")
	if err := s.MarkUploaded(stale); err != nil {
		t.Fatal(err)
	}
	if s.PendingFiles() != 1 {
		t.Fatal("the upload of an older version counts for the newer one")
	}
	upload(t, s, ingest.ReportName)
	put("second")
	if s.PendingFiles() != 0 {
		t.Error("an uploaded version is pending again")
	}
	put("third!")

	s = open(t, dir, spool.Settings{}) // "third!" has the size of "second"
	if s.PendingFiles() != 1 {
		t.Error("after a restart the mark of an older version counts for the newer one")
	}
	if _, data := read(t, s, ingest.ReportName); string(data) != "third!" {
		t.Errorf("the report is %q, want the newest", data)
	}
}

func TestAddFileMovesFile(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), spool.Settings{})
	path := filepath.Join(s.ScratchDir(), "out.mp4")
	if err := os.WriteFile(path, []byte("packed"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := fsutil.SHA256(strings.NewReader("packed"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddFile(path, "video.mp4", 6, sum); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still at its old path: %v", err)
	}
	if version := upload(t, s, "video.mp4"); version.Size != 6 {
		t.Errorf("the file has %d bytes, want 6", version.Size)
	}
	for _, name := range []string{"../video.mp4", "", ingest.SegmentName(0, 0)} {
		if err := s.AddFile(path, name, 6, sum); err == nil {
			t.Errorf("name %q was accepted", name)
		}
	}
}

func TestUploadOrderAndRejection(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Settings{})
	if err := s.AppendSegment(0, 0, []byte("segment")); err != nil {
		t.Fatal(err)
	}
	if err := s.Put("report.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if name, _ := s.NextFile(anyFile); name != "report.json" {
		t.Errorf("%s is first, want the report", name)
	}
	version, _ := read(t, s, ingest.SegmentName(0, 0))
	if err := s.RejectFile(version, "409 conflict"); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*spool.Spool{s, open(t, dir, spool.Settings{})} {
		if got := s.RejectedFiles(); !slices.Equal(got, []string{version.Name}) || s.PendingFiles() != 1 {
			t.Errorf("rejected: %v, pending: %d", got, s.PendingFiles())
		}
		if _, uploaded := s.SegmentBytes(); uploaded != 0 {
			t.Errorf("%d rejected bytes count as uploaded", uploaded)
		}
	}
}

func TestOpenRemovesIncompleteFilesAndDetectsDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Settings{})
	if err := s.AppendSegment(0, 0, []byte("segment")); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(s.ScratchDir(), "part-torn")
	if err := os.WriteFile(torn, []byte("seg"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, spool.Settings{})
	if _, err := os.Stat(torn); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the incomplete file still exists: %v", err)
	}
	if err := os.Truncate(s.Segments(0)[0], 2); err != nil {
		t.Fatal(err)
	}
	if _, version, err := s.OpenFile(ingest.SegmentName(0, 0)); !errors.Is(err, spool.ErrDamaged) {
		t.Errorf("a file that lost bytes opens as %+v: %v", version, err)
	}
}

func TestCommandsAndOwnerSurviveReopening(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, spool.Settings{})
	if err := s.Bind("job/0"); err != nil {
		t.Fatal(err)
	}
	if err := s.MarkCommandSeen("c1"); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, spool.Settings{})
	if !s.CommandSeen("c1") || s.CommandSeen("c2") {
		t.Error("after reopening the acknowledged commands differ")
	}
	if err := s.Bind("job/0"); err != nil {
		t.Errorf("the owner was refused: %v", err)
	}
	if err := s.Bind("job/1"); err == nil {
		t.Error("another owner was accepted")
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spool")
	s := open(t, dir, spool.Settings{})
	if err := s.AppendSegment(0, 0, []byte("segment")); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder still exists: %v", err)
	}
	if _, err := s.AppendEvent(job.BotJoined, nil); err == nil {
		t.Error("a removed spool accepted an event")
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), spool.Settings{})
	for _, step := range []struct {
		name   string
		change func() error
	}{
		{"an event", func() error { _, err := s.AppendEvent(job.BotJoined, nil); return err }},
		{"an acknowledgment", func() error { return s.Events.End(spool.Event{Number: 1}, "") }},
		{"a segment", func() error { return s.AppendSegment(0, 0, []byte("x")) }},
		{"an upload", func() error { upload(t, s, ingest.SegmentName(0, 0)); return nil }},
	} {
		changed := s.Changed()
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-changed:
		default:
			t.Errorf("%s did not close the channel", step.name)
		}
	}
}
