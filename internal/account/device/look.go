package device

import (
	"context"
	"fmt"
	"time"
)

// PendingFlow is what the page shows of a flow before its user allows it.
type PendingFlow struct {
	Code          string // as the command line shows it
	ClientAddress string // what the flow is counted by: the client's address
	Agent         string // what the client calls itself; anybody's text
	CreatedAt     time.Time
	ExpiresAt     time.Time
}

// Pending tells of a flow that waits to be completed; false for one that is
// complete, has expired, or never was.
func (f *Flows) Pending(ctx context.Context, nonce string) (PendingFlow, bool, error) {
	if !plausible(nonce) {
		return PendingFlow{}, false, nil
	}
	record, ok, err := f.store.DeviceFlow(ctx, hash(nonce), f.now())
	if err != nil {
		return PendingFlow{}, false, fmt.Errorf("look at a device flow: %w", err)
	}
	if !ok || record.Sealed != "" {
		return PendingFlow{}, false, nil
	}
	return PendingFlow{Code: Code(nonce), ClientAddress: record.ClientAddress, Agent: record.Agent, CreatedAt: record.CreatedAt, ExpiresAt: record.ExpiresAt}, true, nil
}
