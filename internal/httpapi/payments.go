package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"standin/internal/job"
	"standin/internal/payment"
)

// Payments takes events of the payment provider, as payment.Receiver does,
// with the errors of that package.
type Payments interface {
	Receive(ctx context.Context, header string, body []byte) (payment.Result, error)
}

// receivePayment takes an event (specification, POST /webhooks/payments). What
// is not signed is refused without a word of why.
func (a *API) receivePayment(w http.ResponseWriter, r *http.Request) error {
	if a.settings.Payments == nil {
		a.failWithoutBody(w, r, http.StatusServiceUnavailable, payment.ErrNoSecret)
		return nil
	}
	signature := cmp.Or(r.Header.Get(payment.Header), r.Header.Get(payment.ProviderHeader))
	if signature == "" {
		a.failWithoutBody(w, r, http.StatusBadRequest, payment.ErrSignature)
		return nil
	}
	body, err := a.readBody(w, r)
	if err != nil {
		return err
	}
	result, err := a.settings.Payments.Receive(r.Context(), signature, body)
	if errors.Is(err, payment.ErrSignature) || job.ErrorIs(err, job.InvalidInput) {
		a.failWithoutBody(w, r, http.StatusBadRequest, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("take a payment event: %w", err)
	}
	a.writeJSON(w, http.StatusOK, struct {
		OK      bool `json:"ok"`
		Deduped bool `json:"deduped"`
	}{true, result.Deduped})
	return nil
}
