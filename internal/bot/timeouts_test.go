package bot

import (
	"testing"
	"time"
)

// TestLimit counts what happened within the while, and nothing older.
func TestLimit(t *testing.T) {
	t.Parallel()
	l := limit{most: 2, within: time.Minute}
	for i, step := range []struct {
		at     float64
		before int
		ok     bool
	}{{0, 0, true}, {10, 1, true}, {20, 2, false}, {60, 2, false}, {61, 1, true}, {62, 2, false}, {200, 0, true}} {
		if before, ok := l.take(after(step.at)); before != step.before || ok != step.ok {
			t.Errorf("step %d: %d before it, allowed %v; want %d, %v", i, before, ok, step.before, step.ok)
		}
	}
}

// TestPauseBefore grows with each return, up to a bound.
func TestPauseBefore(t *testing.T) {
	t.Parallel()
	patience := Timeouts{}.withDefaults()
	want := []time.Duration{0, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second}
	for others, pause := range want {
		if got := patience.pauseBefore(others); got != pause {
			t.Errorf("after %d returns it waits %s, want %s", others, got, pause)
		}
	}
	if got := patience.pauseBefore(1000); got != longestComeback {
		t.Errorf("after very many it waits %s", got)
	}
}

// TestMayReturn: a bot that was never let in does not begin anew for ever.
func TestMayReturn(t *testing.T) {
	t.Parallel()
	b := newBot(Settings{Timeouts: Timeouts{MaxRejoins: 2}})
	if _, ok := b.mayReturn(after(121), after(0)); ok {
		t.Error("it begins anew after two minutes outside")
	}
	b.firstIn = after(60)
	for i, want := range []bool{true, true, false} {
		if _, ok := b.mayReturn(after(200), after(0)); ok != want {
			t.Errorf("return %d is allowed: %v", i, ok)
		}
	}
	if _, ok := newBot(Settings{Timeouts: Timeouts{MaxRejoins: -1}}).mayReturn(after(1), after(0)); ok {
		t.Error("it returns though it must not")
	}
}

// TestClock: moments are told as the clock stood when the bot began, and that
// it was set is noticed once.
func TestClock(t *testing.T) {
	t.Parallel()
	c := newClock()
	now := time.Now()
	if got := c.steady(now); got.Sub(c.start.Round(0)) != now.Sub(c.start) {
		t.Errorf("%s is told as %s", now, got)
	}
	if !c.steady(time.Time{}).IsZero() {
		t.Error("no moment is told as one")
	}
	for i, step := range []struct{ off, want time.Duration }{
		{0, 0}, {2 * time.Second, 0}, {time.Hour, time.Hour}, {time.Hour + time.Second, 0}, {0, -time.Hour}, {-time.Minute, -time.Minute},
	} {
		if by := c.set(now, c.steady(now).Add(step.off)); by != step.want {
			t.Errorf("step %d: the clock was set by %s, want %s", i, by, step.want)
		}
	}
}
