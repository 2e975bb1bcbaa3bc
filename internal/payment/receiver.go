package payment

import (
	"context"
	"time"
)

// Receiver handles the webhooks of the provider.
type Receiver struct {
	Secret string // signing secret of the endpoint; empty when not configured
	Store  Store
	Now    func() time.Time
}

// Receive verifies, decodes and applies an event. header is the value of Header
// or ProviderHeader. The error is ErrNoSecret without a secret, wraps
// ErrSignature for a bad signature, and is a *job.Error with InvalidInput for a
// signed body that is not a JSON object. Other errors are internal; the provider
// should send the event again.
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
