package launch_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"standin/internal/launch"
	"standin/internal/launch/manual"
)

// TestManual: the launcher manual does nothing, and the state of all bots is unknown.
func TestManual(t *testing.T) {
	t.Parallel()
	var launcher launch.Launcher = manual.Launcher{}
	a := launch.Assignment{JobID: uuid.New(), Attempt: 1}
	if err := errors.Join(launcher.Launch(t.Context(), a), launcher.Stop(t.Context(), a.JobID, a.Attempt)); err != nil {
		t.Error(err)
	}
	if state := launcher.State(a.JobID, a.Attempt); state != launch.Unknown {
		t.Errorf("the bot is %s", state)
	}
}
