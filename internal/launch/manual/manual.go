// Package manual is the launcher of deployments whose operator runs the bots.
package manual

import (
	"context"

	"github.com/google/uuid"

	"standin/internal/launch"
)

// Launcher launches nothing: the operator runs the bots.
type Launcher struct{}

// Launch implements launch.Launcher.
func (Launcher) Launch(context.Context, launch.Assignment) error { return nil }

// State implements launch.Launcher.
func (Launcher) State(uuid.UUID, int) launch.State { return launch.Unknown }

// Reason implements launch.Launcher.
func (Launcher) Reason(uuid.UUID, int) string { return "" }

// Stop implements launch.Launcher. The response to the bot's next heartbeat
// tells it to leave.
func (Launcher) Stop(context.Context, uuid.UUID, int) error { return nil }
