package device

import (
	"context"
	"fmt"
	"time"
)

// Waiting is what the page shows of a flow before its user allows it.
type Waiting struct {
	Code      string // as the command line shows it
	Opener    string // what the flow is counted by: the client's address
	Agent     string // what the client calls itself; anybody's text
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Look tells of a flow that waits to be completed; false for one that is
// complete, has expired, or never was.
func (f *Flows) Look(ctx context.Context, nonce string) (Waiting, bool, error) {
	if !plausible(nonce) {
		return Waiting{}, false, nil
	}
	record, ok, err := f.store.DeviceFlow(ctx, hash(nonce), f.now())
	if err != nil {
		return Waiting{}, false, fmt.Errorf("look at a device flow: %w", err)
	}
	if !ok || record.Sealed != "" {
		return Waiting{}, false, nil
	}
	return Waiting{Code: Code(nonce), Opener: record.Opener, Agent: record.Agent, CreatedAt: record.CreatedAt, ExpiresAt: record.ExpiresAt}, true, nil
}
