package dashboard

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/recording"
)

// TestJobPageIsBounded checks that a job's page shows a bounded number of entries,
// bytes of data, and participants, and links to the rest.
func TestJobPageIsBounded(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	numbers := func(page lifecycle.Page) (list []int, next string, err error) {
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
		list, next, err := firstOf(enough, numbers)
		if got := restURL(id, "timeline", next); err != nil || len(list) != min(enough, 1000) || got != want {
			t.Errorf("%d: %d entries, the rest is at %q, want %q (%v)", enough, len(list), got, want, err)
		}
	}
	long := newEntryView(job.TimelineEntry{Data: []byte(`{"text":"` + strings.Repeat("ä", shownData) + `"}`)}, shownData)
	if len(long.Data) > shownData+len("…") || !strings.Contains(long.Rest, "API") {
		t.Errorf("%d bytes of data are shown, and %q", len(long.Data), long.Rest)
	}
	view := recordingView{Manifest: recording.Manifest{
		Participants: make([]recording.Participant, 5000), Speech: make([]recording.Speech, 100_000),
		Gaps: make([]recording.Gap, 5000), Media: make([]recording.Media, 2000),
	}}
	view.arrange(id)
	if len(view.Lanes) > shownParticipants || len(view.Gaps) > shownGaps || len(view.Files) > shownFiles || !view.More {
		t.Errorf("%d participants, %d gaps and %d files are shown; more: %v", len(view.Lanes), len(view.Gaps), len(view.Files), view.More)
	}
	for _, row := range view.Lanes {
		if len(row.Speech) > shownSpeech {
			t.Errorf("%d speeches are shown", len(row.Speech))
		}
	}
}
