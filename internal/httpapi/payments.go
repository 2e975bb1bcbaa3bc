package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"standin/internal/account/billing"
	"standin/internal/job"
)

// Payments receives events of the payment provider. It is implemented by
// billing.Receiver and returns the errors of that package.
type Payments interface {
	Receive(ctx context.Context, header string, body []byte) (billing.Result, error)
}

// receivePayment serves the operation of that name of api/openapi.yaml. The
// response to an unsigned request has no body, so that it gives nothing away.
func (a *API) receivePayment(w http.ResponseWriter, r *http.Request) error {
	if a.settings.Payments == nil {
		return failWithoutBody(w, r, http.StatusServiceUnavailable, billing.ErrNoSecret)
	}
	signature := cmp.Or(r.Header.Get(billing.Header), r.Header.Get(billing.ProviderHeader))
	if signature == "" {
		return failWithoutBody(w, r, http.StatusBadRequest, billing.ErrSignature)
	}
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	result, err := a.settings.Payments.Receive(r.Context(), signature, body)
	if errors.Is(err, billing.ErrSignature) || job.ErrorIs(err, job.InvalidInput) {
		return failWithoutBody(w, r, http.StatusBadRequest, err)
	}
	if err != nil {
		return fmt.Errorf("receive a payment event: %w", err)
	}
	a.writeJSON(w, http.StatusOK, struct {
		OK      bool `json:"ok"`
		Deduped bool `json:"deduped"`
	}{true, result.Deduped})
	return nil
}
