package bot

import (
	"testing"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/job"
)

// TestTripped holds each knob by itself (specification, AutoLeaveConfig).
func TestTripped(t *testing.T) {
	t.Parallel()
	knobs := job.AutoLeave{AfterEntryDelaySeconds: 1, AfterSilenceSeconds: 100, AfterSoloSeconds: 60, AfterMaxSeconds: 1}
	now := after(1500)
	ago := func(seconds float64) time.Time { return now.Add(-time.Duration(seconds * float64(time.Second))) }
	tests := map[string]struct {
		company company
		want    string // empty: it stays
	}{
		"in company, talking":         {company{admitted: ago(500), heard: ago(1)}, ""},
		"alone for a while":           {company{admitted: ago(500), heard: ago(1), alone: ago(59.9), isAlone: true}, ""},
		"alone for too long":          {company{admitted: ago(500), heard: ago(1), alone: ago(60), isAlone: true}, reasonAlone},
		"alone before, not seen now":  {company{admitted: ago(500), heard: ago(1), alone: ago(90)}, ""},
		"silent for a while":          {company{admitted: ago(500), heard: ago(99.9)}, ""},
		"silent for too long":         {company{admitted: ago(500), heard: ago(100)}, reasonSilence},
		"never a sound":               {company{admitted: ago(100)}, reasonSilence},
		"never a sound, just come":    {company{admitted: ago(99)}, ""},
		"sound only before admission": {company{admitted: ago(50), heard: ago(400)}, ""},
		"nobody listens":              {company{admitted: ago(500), heard: ago(400), deaf: true}, ""},
		"silent, but back just now":   {company{admitted: ago(99), heard: ago(400)}, ""},
		"all at once":                 {company{admitted: ago(1000), heard: ago(100), alone: ago(60), isAlone: true}, reasonAlone},
	}
	for name, test := range tests {
		end, leaves := tripped(knobs, test.company, now)
		if end.reason != test.want || leaves != (test.want != "") || leaves && (end.detail == "" || end.code != "") {
			t.Errorf("%s: leaves %v with %+v, want %q", name, leaves, end, test.want)
		}
	}
}

// TestAloneSince: a page that does not tell is no evidence of company.
func TestAloneSince(t *testing.T) {
	t.Parallel()
	look := func(screen meeting.Screen, others int) meeting.Observation {
		return meeting.Observation{Screen: screen, Others: others}
	}
	var alone time.Time
	for i, step := range []struct {
		seen meeting.Observation
		want time.Time
	}{
		{look(meeting.Unknown, 0), time.Time{}},
		{look(meeting.InMeeting, -1), time.Time{}},
		{look(meeting.InMeeting, 0), after(2)},
		{look(meeting.InMeeting, 0), after(2)},
		{look(meeting.Unknown, 0), after(2)},
		{look(meeting.InMeeting, -1), after(2)},
		{look(meeting.InMeeting, 1), time.Time{}},
		{look(meeting.Unknown, 0), time.Time{}},
		{look(meeting.InMeeting, 0), after(8)},
	} {
		if alone = aloneSince(alone, step.seen, after(float64(i))); !alone.Equal(step.want) {
			t.Errorf("look %d: alone since %v, want %v", i, alone, step.want)
		}
	}
}

// TestOverdue: the ceiling counts from the first admission, wherever the bot is,
// and the entry delay is no part of it.
func TestOverdue(t *testing.T) {
	t.Parallel()
	b := newBot(Settings{AutoLeave: job.AutoLeave{AfterEntryDelaySeconds: 1, AfterMaxSeconds: 1000}})
	if end, over := b.overdue(after(1e6)); over {
		t.Errorf("never let in, it leaves with %+v", end)
	}
	b.firstIn = after(100)
	if end, over := b.overdue(after(1099.9)); over {
		t.Errorf("a moment before the ceiling it leaves with %+v", end)
	}
	if end, over := b.overdue(after(1100)); !over || end.reason != reasonMaximum || end.detail == "" || end.code != "" {
		t.Errorf("at the ceiling: %v, %+v", over, end)
	}
}

// TestOrdersOutliveARecorder: what was told to stop or to pause is not recorded
// again by the next browser, and what needs permission not before it is given.
func TestOrdersOutliveARecorder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*visit)
		want   bool
	}{
		"in the meeting":          {func(*visit) {}, true},
		"in the lobby":            {func(v *visit) { v.phase = waiting }, false},
		"paused":                  {func(v *visit) { v.paused = true }, false},
		"stopped":                 {func(v *visit) { v.stopped = true }, false},
		"permission is needed":    {func(v *visit) { v.RequirePermission = true }, false},
		"permission was given":    {func(v *visit) { v.RequirePermission, v.permitted = true, true }, true},
		"recorded already":        {func(v *visit) { v.take.recorder = new(recorder.Recorder) }, false},
		"permission but stopped":  {func(v *visit) { v.permitted, v.stopped = true, true }, false},
		"permission not required": {func(v *visit) { v.permitted = false }, true},
	} {
		v := &visit{bot: newBot(Settings{}), phase: inside, take: newTake()}
		test.change(v)
		if got := v.wanted(); got != test.want {
			t.Errorf("%s: it records: %v", name, got)
		}
	}
}

// TestDeaf: silence is evidence only while somebody listens.
func TestDeaf(t *testing.T) {
	t.Parallel()
	v := &visit{bot: newBot(Settings{}), take: newTake()}
	if !v.deaf(time.Now()) {
		t.Error("without a recorder somebody listens")
	}
	if v.take.ended() != nil {
		t.Error("a recorder that is not there can end")
	}
}
