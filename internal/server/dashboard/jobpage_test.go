package dashboard

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/recording"
)

// TestJobPageIsBounded checks that a job's page shows a bounded number of entries,
// bytes of data, and participants, and links to the rest.
func TestJobPageIsBounded(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	numbers := func(_ context.Context, _ account.Caller, _ uuid.UUID, page lifecycle.Page) (list []int, next string, err error) {
		from, _ := strconv.Atoi(page.Cursor) // 0 for the first page
		for i := from; i < min(from+page.Limit, 1000); i++ {
			list = append(list, i)
		}
		if from+page.Limit < 1000 {
			next = fmt.Sprint(from + page.Limit)
		}
		return list, next, nil
	}
	for enough, want := range map[int]string{shownEntries: "/jobs/" + id.String() + "/timeline?cursor=500", 1000: "", 2000: ""} {
		list, next, err := firstOf(t.Context(), account.Caller{}, id, enough, numbers)
		if got := restURL(id, "timeline", next); err != nil || len(list) != min(enough, 1000) || got != want {
			t.Errorf("%d: %d entries, the rest is at %q, want %q (%v)", enough, len(list), got, want, err)
		}
	}
	long := newEntryView(job.TimelineEntry{Data: []byte(`{"text":"` + strings.Repeat("ä", shownData) + `"}`)}, job.Job{}, time.Time{})
	if len(long.Data) > shownData+len("…") || !strings.Contains(long.Rest, "API") {
		t.Errorf("%d bytes of data are shown, and %q", len(long.Data), long.Rest)
	}
	view := recordingView{Manifest: recording.Manifest{
		Participants: make([]recording.Participant, 5000), Speech: make([]recording.Speech, 100_000),
		Gaps: make([]recording.Gap, 5000), Media: make([]recording.Media, 2000),
	}}
	view.arrange()
	if len(view.Lanes) > shownParticipants || len(view.Gaps) > shownGaps || len(view.Files) > shownFiles || !view.More {
		t.Errorf("%d participants, %d gaps and %d files are shown; more: %v", len(view.Lanes), len(view.Gaps), len(view.Files), view.More)
	}
	for _, row := range view.Lanes {
		if len(row.Speech) > shownSpeech {
			t.Errorf("%d speeches are shown", len(row.Speech))
		}
	}
}

// TestEntryTimes checks the times of the timeline: offsets from the first entry by the clock of
// the bot, late arrivals, and attempts that count from 1 when there are several.
func TestEntryTimes(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 11, 26, 10, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]string{
		0: "", 200 * time.Millisecond: "+0.2 s", 12 * time.Second: "+12 s", 185 * time.Second: "+3:05", time.Hour +
			2*time.Second: "+1:00:02", -time.Second: "−1.0 s",
	} {
		e := job.TimelineEntry{Source: job.SourceBot, EmittedAt: first.Add(after), ReceivedAt: first.Add(after + 3*time.Second), Attempt: 1}
		if got := newEntryView(e, job.Job{State: job.State{Attempts: 2}}, first); got.Offset != want || got.Late != "3 s" || got.Number != 2 {
			t.Errorf("%s: %q, %q late, attempt %d", after, got.Offset, got.Late, got.Number)
		}
	}
	if got := newEntryView(job.TimelineEntry{
		Source: job.SourceService, ReceivedAt: first,
	}, job.Job{}, first); got.Late != "" || got.Number != 0 {
		t.Errorf("an entry of the service: %+v", got)
	}
}
