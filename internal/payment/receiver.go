package payment

import (
	"context"
	"time"
)

// Receiver takes what the provider sends.
type Receiver struct {
	Secret string // the endpoint's signing secret; empty when none is configured
	Store  Store
	Now    func() time.Time
}

// Receive verifies, reads and applies an event. header is the value of Header
// or ProviderHeader, body the bytes as they came. Errors: ErrNoSecret without
// a secret, whatever else is wrong; one that wraps ErrSignature; a *job.Error
// with InvalidInput when what was signed is no JSON object; any other is
// internal, and the provider should send the event again.
func (r *Receiver) Receive(ctx context.Context, header string, body []byte) (Result, error) {
	now := r.Now()
	if err := Verify(r.Secret, header, body, now); err != nil {
		return Result{}, err
	}
	event, err := Decode(body)
	if err != nil {
		return Result{}, err
	}
	return Apply(ctx, r.Store, event, now)
}
