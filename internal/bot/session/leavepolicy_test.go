package session

import (
	"testing"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/bot/notetaker"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
)

func TestLeavePolicyLimits(t *testing.T) {
	t.Parallel()
	limits := job.AutoLeave{AfterEntryDelaySeconds: 1, AfterSilenceSeconds: 100, AfterSoloSeconds: 60, AfterMaxSeconds: 1}
	now := after(1500)
	ago := func(seconds float64) time.Time { return now.Add(-time.Duration(seconds * float64(time.Second))) }
	received := func(secondsAgo float64) audioStatus { return audioStatus{last: ago(secondsAgo), monitored: true} }
	faulty := audioStatus{last: ago(400), monitored: true, faulty: true}
	notCaptured := audioStatus{last: ago(400), received: ago(1), monitored: true}
	silent := audioStatus{monitored: true}
	for name, test := range map[string]struct {
		policy leavePolicy
		audio  audioStatus
		want   string // empty: the bot stays
	}{
		"others are talking":           {leavePolicy{admitted: ago(500)}, received(1), ""},
		"alone for a while":            {leavePolicy{admitted: ago(500), aloneSince: ago(59.9), isAlone: true}, received(90), ""},
		"alone for too long":           {leavePolicy{admitted: ago(500), aloneSince: ago(60), isAlone: true}, received(90), report.ReasonAlone},
		"alone, but sound is captured": {leavePolicy{admitted: ago(500), aloneSince: ago(300), isAlone: true}, received(59), ""},
		"alone, but media arrives": {
			leavePolicy{admitted: ago(500), aloneSince: ago(300), isAlone: true, mediaAt: ago(59)}, received(90), "",
		},
		"alone since media arrived": {
			leavePolicy{admitted: ago(500), aloneSince: ago(300), isAlone: true, mediaAt: ago(60)}, received(90), report.ReasonAlone,
		},
		"the capture is faulty":        {leavePolicy{admitted: ago(500)}, faulty, ""},
		"alone with a faulty capture":  {leavePolicy{admitted: ago(500), aloneSince: ago(60), isAlone: true}, faulty, report.ReasonAlone},
		"sound that is not captured":   {leavePolicy{admitted: ago(500)}, notCaptured, ""},
		"silent since a fault ended":   {leavePolicy{admitted: ago(500), deafUntil: ago(100)}, received(400), report.ReasonSilence},
		"a fault has just ended":       {leavePolicy{admitted: ago(500), deafUntil: ago(99)}, received(400), ""},
		"alone before, unknown now":    {leavePolicy{admitted: ago(500), aloneSince: ago(90)}, received(1), ""},
		"silent for a while":           {leavePolicy{admitted: ago(500)}, received(99.9), ""},
		"silent for too long":          {leavePolicy{admitted: ago(500)}, received(100), report.ReasonSilence},
		"never any audio":              {leavePolicy{admitted: ago(100)}, silent, report.ReasonSilence},
		"never any audio, just joined": {leavePolicy{admitted: ago(99)}, silent, ""},
		"audio only before admission":  {leavePolicy{admitted: ago(50)}, received(400), ""},
		"audio is not monitored":       {leavePolicy{admitted: ago(500)}, audioStatus{last: ago(400)}, ""},
		"silent, but just rejoined":    {leavePolicy{admitted: ago(99)}, received(400), ""},
		"all limits at once":           {leavePolicy{admitted: ago(1000), aloneSince: ago(60), isAlone: true}, received(100), report.ReasonAlone},
	} {
		test.policy.limits = limits
		end := test.policy.check(now, test.audio)
		switch {
		case test.want == "":
			if end != nil {
				t.Errorf("%s: the bot leaves with %+v", name, end)
			}
		case end == nil || end.reason != test.want || end.detail == "" || end.code != "":
			t.Errorf("%s: result %+v, want reason %q", name, end, test.want)
		}
	}
}

// TestSilenceIsNoEvidence: the time in which a sound fault is known, or nothing is
// monitored, does not count as silence.
func TestSilenceIsNoEvidence(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]audioStatus{"fault": {monitored: true, faulty: true}, "not monitored": {}} {
		p := newLeavePolicy(job.AutoLeave{AfterSilenceSeconds: 100, AfterSoloSeconds: 60}, events{})
		p.admit(after(0))
		for second := range 500 {
			if end := p.check(after(float64(second)), deaf); end != nil {
				t.Fatalf("%s: the bot leaves after %d s with %+v", name, second, end)
			}
		}
		if end := p.check(after(598), audioStatus{monitored: true}); end != nil {
			t.Errorf("%s: 99 s after it ended the bot leaves with %+v", name, end)
		}
		if end := p.check(after(599), audioStatus{monitored: true}); end == nil || end.reason != report.ReasonSilence {
			t.Errorf("%s: 100 s after it ended: %+v", name, end)
		}
	}
}

// TestAloneSince: a page that does not show participants does not end solitude.
func TestAloneSince(t *testing.T) {
	t.Parallel()
	p := newLeavePolicy(job.AutoLeave{}, events{})
	p.notetakers = new(notetaker.List)
	for i, step := range []struct {
		screen meeting.Screen
		others int
		want   time.Time
	}{
		{meeting.Unknown, 0, time.Time{}},
		{meeting.InMeeting, -1, time.Time{}},
		{meeting.InMeeting, 0, after(2)},
		{meeting.InMeeting, 0, after(2)},
		{meeting.Unknown, 0, after(2)},
		{meeting.InMeeting, -1, after(2)},
		{meeting.InMeeting, 1, time.Time{}},
		{meeting.Unknown, 0, time.Time{}},
		{meeting.InMeeting, 0, after(8)},
	} {
		p.handleSnapshot(snapshot{at: after(float64(i)), seen: meeting.Observation{Screen: step.screen, Others: step.others}})
		if !p.aloneSince.Equal(step.want) {
			t.Errorf("snapshot %d: alone since %v, want %v", i, p.aloneSince, step.want)
		}
	}
}

// TestMaximumDuration: the maximum counts from the first admission, in every phase.
func TestMaximumDuration(t *testing.T) {
	t.Parallel()
	p := newLeavePolicy(job.AutoLeave{AfterEntryDelaySeconds: 1, AfterMaxSeconds: 1000}, events{})
	if end := p.checkMaximum(after(1e6)); end != nil {
		t.Errorf("never admitted, the bot leaves with %+v", end)
	}
	p.admit(after(100))
	p.admit(after(500))
	if end := p.checkMaximum(after(1099.9)); end != nil {
		t.Errorf("before the maximum the bot leaves with %+v", end)
	}
	if end := p.checkMaximum(after(1100)); end == nil || end.reason != report.ReasonMaximum || end.detail == "" || end.code != "" {
		t.Errorf("at the maximum: %+v", end)
	}
}

// TestOnlyNotetakers checks that a bot leaves when only bots have been left for a while, by the job's choice, and that a person keeps
// it there.
func TestOnlyNotetakers(t *testing.T) {
	t.Parallel()
	known, err := notetaker.Load("")
	if err != nil {
		t.Fatal(err)
	}
	person := meeting.Participant{ID: "p", Name: "Ada Quill"}
	talking := person
	talking.Speaking = true
	otter := meeting.Participant{ID: "o", Name: "Otter.ai Notetaker", Speaking: true}
	twin, standard := meeting.Participant{ID: "t", Name: "Notes for Eve"}, meeting.Participant{ID: "s", Name: job.DefaultDisplayName}
	for name, c := range map[string]struct {
		limit  int  // seconds; default 60
		silent bool // SilentAreNotetakers
		before []meeting.Participant
		now    []meeting.Participant
		others int // more than are named
		leaves bool
	}{
		"a notetaker":             {now: []meeting.Participant{otter}, leaves: true},
		"bots of this service":    {now: []meeting.Participant{otter, twin, standard}, leaves: true},
		"a person":                {now: []meeting.Participant{otter, person}},
		"somebody without a name": {now: []meeting.Participant{otter}, others: 1},
		"a longer limit":          {limit: 120, now: []meeting.Participant{otter}},
		"a silent person":         {silent: true, now: []meeting.Participant{otter, person}, leaves: true},
		"who has spoken":          {silent: true, before: []meeting.Participant{talking}, now: []meeting.Participant{otter, person}},
	} {
		p := newLeavePolicy(job.AutoLeave{
			AfterSilenceSeconds: 1000, AfterSoloSeconds: 1, OnlyNotetakersSeconds: c.limit, SilentAreNotetakers: c.silent,
		}, events{})
		p.ownName, p.notetakers = "Notes for Eve", known.Without("Notes for Eve")
		p.reported["o"] = true
		p.admit(after(0))
		shows := func(second float64, participants []meeting.Participant) *exitResult {
			p.handleSnapshot(snapshot{at: after(second), seen: meeting.Observation{
				Screen: meeting.InMeeting, Participants: participants, Others: len(participants) + c.others,
			}})
			return p.check(after(second), audioStatus{last: after(second), monitored: true})
		}
		if c.before != nil {
			shows(1, c.before)
		}
		shows(2, c.now)
		if end := shows(61.9, c.now); end != nil {
			t.Errorf("%s: the bot leaves early with %+v", name, end)
		}
		if end := shows(62, c.now); (end != nil) != c.leaves || c.leaves && end.reason != report.ReasonAlone {
			t.Errorf("%s: result %+v, want leaving %t", name, end, c.leaves)
		}
	}
}
