package bot

import (
	"testing"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/job"
)

// TestTripped holds each knob by itself (specification, AutoLeaveConfig).
func TestTripped(t *testing.T) {
	t.Parallel()
	knobs := job.AutoLeave{AfterEntryDelaySeconds: 1, AfterSilenceSeconds: 100, AfterSoloSeconds: 60, AfterMaxSeconds: 1000}
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
		"almost the maximum":          {company{admitted: ago(999.9), heard: ago(1)}, ""},
		"the maximum":                 {company{admitted: ago(1000), heard: ago(1)}, reasonMaximum},
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

// TestOrdersOutliveARecorder: what was told to stop or to pause is not recorded
// again by the next recorder, which is what a crash brings.
func TestOrdersOutliveARecorder(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*bot{"paused": {paused: true}, "stopped": {stopped: true}} {
		again := newTake(b, nil, nil)
		if err := again.start(t.Context()); err != nil || again.recorder != nil || again.starts != 0 {
			t.Errorf("%s: it records again (%v)", name, err)
		}
		if err := again.pause(t.Context()); err == nil {
			t.Errorf("%s: it can be paused", name)
		}
	}
	b := &bot{kept: time.Minute}
	take := newTake(b, nil, nil)
	if length := take.length(); length != time.Minute {
		t.Errorf("the recording is %s long", length)
	}
	if err := take.resume(t.Context()); err == nil {
		t.Error("what was not paused was resumed")
	}
	if since := time.Since(take.lastSound()); since > time.Minute {
		t.Errorf("with nobody listening it is silent since %s", since)
	}
	select {
	case <-take.ended():
		t.Error("a recorder that is not there has ended")
	default:
	}
}
