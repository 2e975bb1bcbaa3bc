package bot

import (
	"testing"
	"time"

	"standin/internal/bot/meeting"
)

// TestStateOf tells what a look means for a bot in the meeting.
func TestStateOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		screen meeting.Screen
		host   string
		want   state
	}{
		"in the meeting":        {meeting.InMeeting, "meet.test", fine},
		"loaded again":          {meeting.PreJoin, "meet.test", outside},
		"put into the lobby":    {meeting.Lobby, "meet.test", lobbied},
		"the host has left":     {meeting.HostAbsent, "meet.test", lobbied},
		"reconnecting":          {meeting.Reconnecting, "meet.test", offline},
		"cannot connect":        {meeting.CannotConnect, "", offline},
		"nothing known":         {meeting.Unknown, "meet.test", nameless},
		"nothing known, nor it": {meeting.Unknown, "", nameless},
		"elsewhere":             {meeting.Unknown, "ads.test", astray},
		"before a wall":         {meeting.SignInWall, "meet.test", astray},
	} {
		s := sighting{seen: meeting.Observation{Screen: test.screen}, host: test.host}
		if got := stateOf(s, "meet.test"); got != test.want {
			t.Errorf("%s: state %d, want %d", name, got, test.want)
		}
	}
	if got := stateOf(sighting{seen: meeting.Observation{Screen: meeting.Unknown}, host: "ads.test"}, ""); got != nameless {
		t.Errorf("with no home to be away from: %d", got)
	}
}

// TestCure is the whole of what is done about a page that shows no meeting, and
// when.
func TestCure(t *testing.T) {
	t.Parallel()
	patience := Timeouts{Settle: 3 * time.Second, Connection: 30 * time.Second, Unknown: time.Minute}
	type look struct {
		at   float64
		seen state
	}
	for name, test := range map[string]struct {
		looks []look
		now   float64
		alive bool
		want  cure
	}{
		"in the meeting":                  {[]look{{0, fine}}, 1000, false, bear},
		"outside for a moment":            {[]look{{0, fine}, {5, outside}}, 7.9, true, bear},
		"outside":                         {[]look{{0, fine}, {5, outside}, {6, outside}}, 8, true, joinAgain},
		"outside after a look at nothing": {[]look{{5, outside}, {6, nameless}, {7, outside}}, 8, true, bear},
		"put into the lobby":              {[]look{{5, lobbied}}, 8, true, waitAgain},
		"offline within the grace":        {[]look{{5, offline}}, 34.9, false, bear},
		"offline for too long":            {[]look{{5, offline}, {20, offline}}, 35, true, comeAgain},
		"offline and drawn anew":          {[]look{{5, offline}, {10, nameless}, {20, offline}}, 35, true, comeAgain},
		"offline, regained, offline":      {[]look{{5, offline}, {20, fine}, {21, offline}}, 40, true, bear},
		"elsewhere":                       {[]look{{5, astray}}, 35, true, comeAgain},
		"not recognised, but alive":       {[]look{{5, nameless}}, 5000, true, bear},
		"not recognised, dead, at first":  {[]look{{5, nameless}}, 64, false, bear},
		"not recognised, dead":            {[]look{{5, nameless}}, 65, false, comeAgain},
	} {
		var tr trouble
		for _, l := range test.looks {
			tr = tr.follow(after(l.at), l.seen)
		}
		if got := tr.cure(after(test.now), patience, test.alive); got != test.want {
			t.Errorf("%s: cure %d, want %d", name, got, test.want)
		}
	}
}
