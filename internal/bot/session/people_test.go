package session

import (
	"testing"

	"standin/internal/bot/meeting"
)

// TestPeopleAreRead checks when the list of people is read: after admission if somebody
// has no tile, when their number changes, and now and then.
func TestPeopleAreRead(t *testing.T) {
	t.Parallel()
	all := meeting.Observation{Others: 1, Counted: true, Participants: []meeting.Participant{{ID: "a", Name: "Ada"}}}
	uncounted, some, more := all, all, all
	uncounted.Counted = false
	some.Others, more.Others = 40, 41
	for name, c := range map[string]struct {
		seen   meeting.Observation
		readAt float64 // 0: never
		others int
		now    float64
		want   bool
	}{
		"everybody has a tile":     {all, 0, 0, 1000, false},
		"the page does not count":  {uncounted, 0, 0, 3, true},
		"some have no tile":        {some, 0, 0, 3, true},
		"at once":                  {some, 0, 0, 1, false},
		"just read":                {some, 100, 39, 110, false},
		"their number is the same": {some, 100, 40, 130, false},
		"their number changed":     {more, 100, 40, 130, true},
		"after a while":            {some, 100, 40, 230, true},
	} {
		r := peopleReader{since: after(0), others: c.others}
		if c.readAt > 0 {
			r.readAt = after(c.readAt)
		}
		if got := r.due(c.seen, after(c.now)); got != c.want {
			t.Errorf("%s: due %t, want %t", name, got, c.want)
		}
	}
	r := peopleReader{since: after(0), readAt: after(100)}
	if r.due(some, after(101)) || r.due(more, after(102)) || !r.due(more, after(116)) {
		t.Error("who joins soon after a reading is not read")
	}
}
