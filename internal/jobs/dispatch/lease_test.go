package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"standin/internal/account"
	"standin/internal/jobs/runner"
	"standin/internal/launch"
)

// launcher fails the test if it launches a bot.
type launcher struct {
	launch.Launcher
	*testing.T
}

func (l launcher) Launch(context.Context, launch.Assignment) error {
	l.Error("a bot was launched")
	return nil
}

// TestSuspendedProcess checks that a process whose lease may have ended, because it was
// suspended, launches no bot: another one may have done so.
func TestSuspendedProcess(t *testing.T) {
	t.Parallel()
	d := &Dispatcher{Settings: Settings{Launcher: launcher{T: t}}, calls: make(chan struct{}, 1)}
	suspended := &task{d: d, lease: new(runner.Lease)}
	if err := suspended.launch(t.Context(), account.Consumer{}); !errors.Is(err, runner.ErrLost) {
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
