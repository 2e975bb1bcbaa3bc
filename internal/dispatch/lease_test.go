package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/launch"
)

// TestLeaseGuardValid checks that a lease is valid for two thirds of its length, by
// the monotonic clock and by the wall clock.
func TestLeaseGuardValid(t *testing.T) {
	t.Parallel()
	const lease = time.Minute
	for name, test := range map[string]struct {
		renewed time.Time
		want    bool
	}{
		"just renewed":           {time.Now(), true},
		"half a lease ago":       {time.Now().Add(-lease / 2), true},
		"three quarters ago":     {time.Now().Add(-lease * 3 / 4), false},
		"by the wall clock only": {time.Now().Round(0).Add(-lease * 3 / 4), false},
	} {
		if got := newLeaseGuard(test.renewed, lease).valid(); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// launcher fails the test if it launches a bot.
type launcher struct {
	launch.Launcher
	*testing.T
}

func (l launcher) Launch(context.Context, launch.Assignment) error {
	l.Error("a bot was launched")
	return nil
}

// TestSuspendedProcess checks that a process that was suspended for longer than its lease
// launches no bot, because another one may have done so.
func TestSuspendedProcess(t *testing.T) {
	t.Parallel()
	d := &Dispatcher{Settings: Settings{Launcher: launcher{T: t}}, calls: make(chan struct{}, 1)}
	suspended := &task{d: d, lease: newLeaseGuard(time.Now().Add(-time.Hour), time.Minute)}
	if err := suspended.launch(t.Context(), account.Consumer{}); !errors.Is(err, errLeaseLost) {
		t.Errorf("the error is %v", err)
	}
}

func TestPrelaunchUnmarshalText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Prelaunch{
		"auto": AutoPrelaunch, "0": 0, "5s": Prelaunch(5 * time.Second), "2m": Prelaunch(2 * time.Minute),
	} {
		var got Prelaunch
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %v (%v)", text, got, err)
		}
	}
	for _, text := range []string{"", "5", "-1s", "3h", "soon"} {
		if err := new(Prelaunch).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
