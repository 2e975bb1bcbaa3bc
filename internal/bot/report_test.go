package bot

import (
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/bot/spool"
	"standin/internal/ingest"
	"standin/internal/recording"
)

// began is when these meetings begin.
var began = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// after is so many seconds into the meeting.
func after(seconds float64) time.Time {
	return began.Add(time.Duration(seconds * float64(time.Second)))
}

// newTestReport returns a report in a spool of its own.
func newTestReport(t *testing.T) *report {
	t.Helper()
	keep, err := spool.Open(filepath.Join(t.TempDir(), "spool"), spool.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := keep.Close(); err != nil {
			t.Error(err)
		}
	})
	return newReport(1, "v9", keep, newClock())
}

// kept is the report as it would be uploaded now.
func kept(t *testing.T, r *report) recording.FinalReport {
	t.Helper()
	if err := r.keep(); err != nil {
		t.Fatal(err)
	}
	return inSpool(t, r)
}

// inSpool is the report as it was kept last.
func inSpool(t *testing.T, r *report) recording.FinalReport {
	t.Helper()
	file, _, err := r.spool.OpenFile(ingest.ReportName)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	var report recording.FinalReport
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	return report
}

func present(ids ...string) []meeting.Participant {
	var all []meeting.Participant
	for _, id := range ids {
		all = append(all, meeting.Participant{ID: id, Name: "Name of " + id})
	}
	return all
}

// TestPeople come and go; a moment without a tile is no leaving.
func TestPeople(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	r.saw([]meeting.Participant{{ID: "ada"}}, after(0)) // the page does not tell the name yet
	r.saw(present("ada"), after(1))
	r.saw(present("ada", "bob"), after(2))
	r.saw(nil, after(4)) // drawn anew
	r.saw(present("ada", "bob"), after(5))
	r.saw(present("bob"), after(8))
	r.saw(present("bob"), after(8.5))
	want := []ingest.Person{
		{ID: "ada", Name: "Name of ada", JoinedAt: after(0), LeftAt: after(5)},
		{ID: "bob", Name: "Name of bob", JoinedAt: after(2)},
	}
	if got := inSpool(t, r).People; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	r.saw(present("ada", "bob"), after(20)) // back again, and known at once
	want[0].LeftAt = time.Time{}
	if got := inSpool(t, r).People; !reflect.DeepEqual(got, want) {
		t.Errorf("when ada is back: %+v", got)
	}
}

// TestSpeech: words with a pause for breath between them are one speech; who
// leaves has stopped speaking.
func TestSpeech(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	speaks := func(at float64, ada, bob bool) {
		r.saw([]meeting.Participant{{ID: "ada", Speaking: ada}, {ID: "bob", Speaking: bob}}, after(at))
	}
	speaks(0, false, false)
	speaks(1, true, false)
	speaks(2, true, true)
	speaks(2.5, false, true) // a breath
	speaks(3, true, true)
	speaks(4.1, false, true)
	speaks(4.3, false, true) // longer than a breath since 3
	speaks(6, true, true)
	speaks(6.2, true, true)
	r.saw(nil, after(10)) // both are gone
	want := []ingest.Speech{
		{PersonID: "ada", From: after(1), To: after(3)},
		{PersonID: "ada", From: after(6), To: after(6.2)},
		{PersonID: "bob", From: after(2), To: after(6.2)},
	}
	if got := kept(t, r).Speech; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestPauses become gaps, also one that the end finds.
func TestPauses(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	r.began(0, after(0))
	r.paused(after(10))
	r.resumed(after(20))
	r.resumed(after(25)) // nothing was paused
	r.paused(after(30))
	r.ended(after(40), nil)
	r.left(after(50), ending{reason: reasonAlone})
	want := []ingest.Gap{{From: after(10), To: after(20), Reason: "paused"}, {From: after(30), To: after(40), Reason: "paused"}}
	if got := inSpool(t, r).Gaps; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestStretches: a first segment may come before the recorder says that it
// runs; a recorder that never gave anything leaves nothing behind.
func TestStretches(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	r.ended(after(0), nil) // of nothing
	if r.recorded() || r.nextStretch() != 0 {
		t.Errorf("before all: recorded %v, next %d", r.recorded(), r.nextStretch())
	}
	r.recordedSegment(0, 0)
	r.began(0, after(1))
	r.recordedSegment(0, 1)
	r.ended(after(2), errors.New("the encoder failed"))
	number := r.nextStretch()
	r.began(number, after(3))
	r.recordedSegment(number, 0)
	r.ended(after(5), nil)
	want := []ingest.RecordingPart{
		{Number: 0, StartedAt: after(1), EndedAt: after(2), Segments: 2, EndedBy: "the encoder failed"},
		{Number: 1, StartedAt: after(3), EndedAt: after(5), Segments: 1, Complete: true},
	}
	if got := inSpool(t, r).Parts; !r.recorded() || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	copied := r.stretches()
	copied[0].Segments = 99
	if r.stretches()[0].Segments != 2 {
		t.Error("the report's own stretches were given away")
	}
}

// TestComingBack: what ended the first of two visits was not the end.
func TestComingBack(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	r.joined(after(0))
	r.admitted(after(5))
	r.left(after(60), ending{reason: reasonBrowserLost, detail: "signal: killed"})
	if got := inSpool(t, r); got.EndReason != reasonBrowserLost || !got.LeftAt.Equal(after(60)) {
		t.Errorf("after the crash: %+v", got)
	}
	r.joined(after(65))
	r.admitted(after(70))
	got := inSpool(t, r)
	if !got.JoinedAt.Equal(after(0)) || !got.AdmittedAt.Equal(after(5)) {
		t.Errorf("the first visit counts: %+v", got)
	}
	if got.EndReason != "" || got.EndDetail != "" || !got.LeftAt.IsZero() {
		t.Errorf("it has not ended: %+v", got)
	}
	r.left(after(90), ending{reason: reasonHostEnded, detail: "The meeting ended."})
	if got := inSpool(t, r); got.EndReason != reasonHostEnded || got.EndDetail != "The meeting ended." || got.Attempt != 1 || got.BotVersion != "v9" {
		t.Errorf("in the end: %+v", got)
	}
}

// TestFinished adds the files that the bot has put together.
func TestFinished(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	file := recording.File{Name: "recording.mp4", Kind: recording.Video, ContentType: "video/mp4", Bytes: 7}
	if err := r.finished(recording.Packed{Files: []recording.File{file}}); err != nil {
		t.Fatal(err)
	}
	if got := inSpool(t, r); len(got.Media) != 1 || got.Media[0].Name != file.Name || got.Media[0].Bytes != 7 {
		t.Errorf("kept: %+v", got)
	}
}
