package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/bot/spool"
	"standin/internal/recording"
	"standin/internal/recording/build"
)

// start is when the test meetings start.
var start = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// after returns the time so many seconds into the meeting.
func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

// newTestReport returns a report with its own spool.
func newTestReport(t *testing.T) *Report {
	t.Helper()
	store, err := spool.Open(filepath.Join(t.TempDir(), "spool"), spool.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(1, "v9", false, store, NewClock())
}

// saved saves the report and returns it.
func saved(t *testing.T, r *Report) build.FinalReport {
	t.Helper()
	if err := r.Save(); err != nil {
		t.Fatal(err)
	}
	return lastSaved(t, r)
}

// lastSaved returns the report in the spool.
func lastSaved(t *testing.T, r *Report) build.FinalReport {
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
	var report build.FinalReport
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

// TestRosterTracksParticipants: a moment without a tile is no departure.
func TestRosterTracksParticipants(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	r.UpdateRoster([]meeting.Participant{{ID: "ada"}}, nil, after(0)) // without a name at first
	r.UpdateRoster(present("ada"), nil, after(1))
	r.UpdateRoster(present("ada", "bob"), nil, after(2))
	r.UpdateRoster(nil, nil, after(4)) // the page redraws
	r.UpdateRoster(present("ada", "bob"), nil, after(5))
	r.UpdateRoster(present("bob"), nil, after(8))
	r.UpdateRoster(present("bob"), nil, after(8.5))
	want := []ingest.Person{
		{ID: "ada", Name: "Name of ada", JoinedAt: after(0), LeftAt: after(5)},
		{ID: "bob", Name: "Name of bob", JoinedAt: after(2)},
	}
	if got := lastSaved(t, r).People; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	r.UpdateRoster(present("ada", "bob"), nil, after(20)) // rejoins under the same id
	want[0].LeftAt = time.Time{}
	if got := lastSaved(t, r).People; !reflect.DeepEqual(got, want) {
		t.Errorf("after ada rejoined: %+v", got)
	}
}

// TestSpeech: short pauses belong to a speech, and leaving ends it.
func TestSpeech(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	speak := func(at float64, ada, bob bool) {
		r.UpdateRoster([]meeting.Participant{{ID: "ada", Speaking: ada}, {ID: "bob", Speaking: bob}}, nil, after(at))
	}
	speak(0, false, false)
	speak(1, true, false)
	speak(2, true, true)
	speak(2.5, false, true) // a short pause
	speak(3, true, true)
	speak(4.1, false, true)
	speak(4.3, false, true) // longer than maxSpeechPause since 3
	speak(6, true, true)
	speak(6.2, true, true)
	r.UpdateRoster(nil, nil, after(10)) // both left
	want := []ingest.Speech{
		{PersonID: "ada", From: after(0.5), To: after(3)}, // in the middle of two looks at the page
		{PersonID: "ada", From: after(6), To: after(6.2)},
		{PersonID: "bob", From: after(1.5), To: after(6.2)},
	}
	if got := saved(t, r).Speech; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestSpeechIsSaved: who spoke is in the report within seconds, for the case that the bot is killed, but a report is not
// saved more often because of that.
func TestSpeechIsSaved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTestReport(t)
		began, saves, last := time.Now(), 0, time.Time{}
		for now := range time.Tick(250 * time.Millisecond) { // Ada speaks for a second in four, and Bob for a minute
			at := now.Sub(began)
			if at > 5*time.Minute {
				break
			}
			r.UpdateRoster([]meeting.Participant{
				{ID: "ada", Speaking: at%(4*time.Second) < time.Second},
				{ID: "bob", Speaking: at > time.Minute && at < 2*time.Minute},
			}, nil, now)
			report := lastSaved(t, r)
			if report.SavedAt != last {
				saves, last = saves+1, report.SavedAt
			}
			var ada int
			var bob time.Duration
			for _, speech := range report.Speech {
				if speech.PersonID == "ada" {
					ada++
				} else {
					bob = speech.To.Sub(speech.From)
				}
			}
			late := at - speechDelay - maxSpeechPause
			if ended := int(late / (4 * time.Second)); ada < ended {
				t.Fatalf("after %s, %d of %d speeches of Ada are in the report", at, ada, ended)
			}
			if spoken := min(late, 2*time.Minute) - time.Minute; bob < spoken-time.Second {
				t.Fatalf("after %s, the report has %s of Bob's speech, want %s", at, bob, spoken)
			}
		}
		if most := int(5*time.Minute/speechDelay) + 1; saves > most {
			t.Errorf("%d saves, want at most %d", saves, most)
		}
	})
}

// TestSpeechFollowsSound: a speech begins and ends with the sound if that is near its
// marks, otherwise with its marks.
func TestSpeechFollowsSound(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	sound := func(at float64, begins bool) {
		r.AddSound([]recorder.SoundChange{{At: after(0.5), Sound: true}, {At: after(at), Sound: begins}}) // the first again
	}
	for at := 0.0; at < 30; at += 0.25 {
		within := func(from, to float64) bool { return at >= from && at < to }
		switch at {
		case 2:
			sound(1.9, false) // noise that nobody is marked for
		case 5:
			sound(4.31, true) // Ada, before her mark
		case 9:
			sound(8.27, false) // before the end of her mark
		case 12:
			sound(11.43, true) // Bob, after his mark
		case 20:
			sound(19.1, false)
		}
		r.UpdateRoster([]meeting.Participant{
			{ID: "ada", Speaking: within(4.5, 8.6) || within(14, 16)}, // first alone, then while Bob speaks
			{ID: "bob", Speaking: within(11.2, 19)},
		}, nil, after(at))
	}
	want := []ingest.Speech{
		{PersonID: "ada", From: after(4.31), To: after(8.27)},
		{PersonID: "ada", From: after(13.875), To: after(15.875)},
		{PersonID: "bob", From: after(11.43), To: after(19.1)},
	}
	got := saved(t, r).Speech
	slices.SortFunc(got, func(a, b ingest.Speech) int {
		return cmp.Or(cmp.Compare(a.PersonID, b.PersonID), a.From.Compare(b.From))
	})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestRecordingParts: the first segment may precede the recorder's start, and a
// recorder without segments leaves no part.
func TestRecordingParts(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	r.EndPart(after(0), nil, "") // no part
	if r.HasRecording() || r.NextPart() != 0 {
		t.Errorf("before the start: recorded %v, next %d", r.HasRecording(), r.NextPart())
	}
	r.AddSegment(0, 0)
	r.StartPart(0, after(1))
	r.AddSegment(0, 1)
	r.EndPart(after(2), errors.New("the encoder failed"), recording.GapMediaLost)
	number := r.NextPart()
	r.StartPart(number, after(3))
	r.AddSegment(number, 0)
	r.EndPart(after(5), nil, "")
	want := []ingest.RecordingPart{
		{Number: 0, StartedAt: after(1), EndedAt: after(2), Segments: 2, EndedBy: "the encoder failed"},
		{Number: 1, StartedAt: after(3), EndedAt: after(5), Segments: 1, Complete: true},
	}
	if got := lastSaved(t, r).Parts; !r.HasRecording() || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	copied := r.current().Parts
	copied[0].Segments = 99
	if r.current().Parts[0].Segments != 2 {
		t.Error("parts() returned the report's own slice")
	}
}

// TestRejoinClearsEnd: the end of the first session is not the end of the attempt.
func TestRejoinClearsEnd(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	r.SetJoined(after(0))
	r.SetAdmitted(after(5))
	r.SetLeft(after(60), End{Reason: ReasonBrowserLost, Detail: "signal: killed"})
	if got := lastSaved(t, r); got.EndReason != ReasonBrowserLost || !got.LeftAt.Equal(after(60)) {
		t.Errorf("after the crash: %+v", got)
	}
	r.SetJoined(after(65))
	r.SetAdmitted(after(70))
	got := lastSaved(t, r)
	if !got.JoinedAt.Equal(after(0)) || !got.AdmittedAt.Equal(after(5)) {
		t.Errorf("the first admission counts: %+v", got)
	}
	if got.EndReason != "" || got.EndDetail != "" || !got.LeftAt.IsZero() {
		t.Errorf("the attempt has not ended: %+v", got)
	}
	r.SetLeft(after(90), End{Reason: ReasonHostEnded, Detail: "The meeting ended."})
	if got := lastSaved(t, r); got.EndReason != ReasonHostEnded || got.EndDetail != "The meeting ended." || got.Attempt != 1 ||
		got.BotVersion != "v9" {
		t.Errorf("at the end: %+v", got)
	}
}

func TestSetPacked(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	file := recording.File{Name: "recording.mp4", Kind: recording.Video, ContentType: "video/mp4", Bytes: 7}
	if err := r.setPacked(build.Packed{Files: []recording.File{file}}); err != nil {
		t.Fatal(err)
	}
	if got := lastSaved(t, r); len(got.Media) != 1 || got.Media[0].Name != file.Name || got.Media[0].Bytes != 7 {
		t.Errorf("saved: %+v", got)
	}
}

// TestManyPeople: a page that shows too many people does not make the report too large for
// the spool.
func TestManyPeople(t *testing.T) {
	t.Parallel()
	r := newTestReport(t)
	name := strings.Repeat("<", 190) // six bytes each in JSON
	var people []meeting.Participant
	for n := range 4000 {
		people = append(people, meeting.Participant{ID: fmt.Sprintf("%s %d", name, n), Name: name})
	}
	r.UpdateRoster(people, nil, start)
	if err := r.Save(); err != nil || r.NameOf(people[1000].ID) != name {
		t.Errorf("Save: %v", err)
	}
}
