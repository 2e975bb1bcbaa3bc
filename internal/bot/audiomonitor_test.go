package bot

import (
	"testing"

	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
)

// TestSilenceEndsSpeech checks that nobody speaks while the meeting's sound is
// silent, whatever the page marks.
func TestSilenceEndsSpeech(t *testing.T) {
	t.Parallel()
	marked := []meeting.Participant{{ID: "ada", Speaking: true}, {ID: "ben"}}
	for name, c := range map[string]struct {
		stats     recorder.Stats
		monitored bool
		want      bool
	}{
		"not monitored":          {recorder.Stats{}, false, true},
		"nothing reported":       {recorder.Stats{}, true, true},
		"sound":                  {recorder.Stats{LastReportAt: after(10), LastSoundAt: after(9.5)}, true, true},
		"silence":                {recorder.Stats{LastReportAt: after(10), LastSoundAt: after(8)}, true, false},
		"silence from the start": {recorder.Stats{LastReportAt: after(10)}, true, false},
	} {
		got := withoutSilent(marked, c.stats, c.monitored)
		if got[0].Speaking != c.want || got[1].Speaking || !marked[0].Speaking {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
