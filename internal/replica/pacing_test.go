package replica

import (
	"math/rand/v2"
	"testing"
	"time"
)

func testLoops() (picture, sound loop) {
	picture = loop{clockRate: 90000, ticks: 3600, units: make([][]byte, 250)}
	sound = loop{clockRate: 48000, ticks: 960, advance: 312, units: make([][]byte, 500)}
	return picture, sound
}

// Every unit is sent once, in order and when it is due, and audio and video stay
// synchronized for hours.
func TestCursorsDoNotDrift(t *testing.T) {
	t.Parallel()
	const length = 3 * time.Hour
	random := rand.New(rand.NewPCG(7, 7))
	picture, sound := testLoops()
	for name, track := range map[string]loop{"picture": picture, "sound": sound} {
		walk := cursor{loop: track}
		walk.start(400 * time.Millisecond)
		began := walk.next
		if first := track.position(began); first > time.Second || first < time.Second-20*time.Millisecond {
			t.Fatalf("%s begins at %v, not with the next whole second", name, first)
		}
		last := began - 1
		var now time.Duration
		for now < length {
			late := time.Duration(random.IntN(8000)) * time.Microsecond
			if random.IntN(500) == 0 {
				late = time.Duration(random.IntN(1500)) * time.Millisecond // the machine stood still
			}
			now = max(now, walk.wake()) + late
			if err := walk.due(now, func(unit int64) error {
				if unit != last+1 {
					t.Fatalf("%s: unit %d follows unit %d", name, unit, last)
				}
				if track.position(unit) > now {
					t.Fatalf("%s: unit %d is sent %v early", name, unit, track.position(unit)-now)
				}
				last = unit
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if behind := now - track.position(last); behind > 40*time.Millisecond {
				t.Fatalf("%s: %v behind the clock after a wake at %v", name, behind, now)
			}
		}
		// The unit that is due now, computed from the clock.
		if want := track.unitAt(now); last != want {
			t.Errorf("%s: after %v unit %d was the last one sent, by the clock it is %d", name, now, last, want)
		}
	}
}

// A sender that is far behind restarts instead of sending all missed units.
func TestCursorGivesUpCatchingUp(t *testing.T) {
	t.Parallel()
	picture, _ := testLoops()
	walk := cursor{loop: picture}
	walk.start(0)
	var sent []int64
	note := func(unit int64) error { sent = append(sent, unit); return nil }
	for _, now := range []time.Duration{time.Second, 20 * time.Second, 21 * time.Second} {
		if err := walk.due(now, note); err != nil {
			t.Fatal(err)
		}
	}
	if len(sent) != 2 || sent[0] != 25 || sent[1] != 21*25 {
		t.Errorf("sent units %v, want 25 and, after the sleep, %d", sent, 21*25)
	}
}
