package session

import (
	"testing"
	"time"
)

func TestLimit(t *testing.T) {
	t.Parallel()
	l := limit{max: 2, window: time.Minute}
	for i, step := range []struct {
		at     float64
		before int
		ok     bool
	}{{0, 0, true}, {10, 1, true}, {20, 2, false}, {60, 2, false}, {61, 1, true}, {62, 2, false}, {200, 0, true}} {
		if before, ok := l.allow(after(step.at)); before != step.before || ok != step.ok {
			t.Errorf("step %d: allow() = %d, %v; want %d, %v", i, before, ok, step.before, step.ok)
		}
	}
}

// TestRecorderPause: the recorder is started again for as long as the bot is admitted.
func TestRecorderPause(t *testing.T) {
	t.Parallel()
	timeouts := Timeouts{}.withDefaults()
	for n, want := range []time.Duration{0, 5 * time.Second, 15 * time.Second, time.Minute, time.Minute} {
		if got := timeouts.recorderPause(n); got != want {
			t.Errorf("recorderPause(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestPauseBefore(t *testing.T) {
	t.Parallel()
	timeouts := Timeouts{}.withDefaults()
	want := []time.Duration{0, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second}
	for n, pause := range want {
		if got := timeouts.pauseBefore(n); got != pause {
			t.Errorf("pauseBefore(%d) = %s, want %s", n, got, pause)
		}
	}
	if got := timeouts.pauseBefore(1000); got != maxRejoinPause {
		t.Errorf("pauseBefore(1000) = %s", got)
	}
}

// TestMayRejoin: a bot that was never admitted does not retry forever.
func TestMayRejoin(t *testing.T) {
	t.Parallel()
	a := newAttempt(Settings{Timeouts: Timeouts{MaxRejoins: 2}}.withDefaults(), newTestSpool(t), nil)
	if _, ok := a.mayRejoin(after(121), after(0)); ok {
		t.Error("it retries after two minutes outside")
	}
	a.policy.admit(after(60))
	for i, want := range []bool{true, true, false} {
		if _, ok := a.mayRejoin(after(200), after(0)); ok != want {
			t.Errorf("rejoin %d: %v, want %v", i, ok, want)
		}
	}
	never := newAttempt(Settings{Timeouts: Timeouts{MaxRejoins: -1}}.withDefaults(), newTestSpool(t), nil)
	if _, ok := never.mayRejoin(after(1), after(0)); ok {
		t.Error("it rejoins with MaxRejoins -1")
	}
}
