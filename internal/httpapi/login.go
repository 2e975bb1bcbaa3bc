package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"standin/internal/account/device"
	"standin/internal/job"
)

// Logins runs device flows. It is implemented by device.Flows and returns the
// errors of that package.
type Logins interface {
	Init(ctx context.Context, opener, agent string) (device.Flow, error)
	Poll(ctx context.Context, nonce string) (device.PollResult, error)
	Complete(ctx context.Context, nonce, apiKey, email string) error
}

// flowBody is the response of the initLogin operation.
type flowBody struct {
	Nonce     string        `json:"nonce"`
	VerifyURL string        `json:"verifyUrl"`
	ExpiresAt job.Timestamp `json:"expiresAt"`
}

// pollBody is the response of the pollLogin operation.
type pollBody struct {
	Status device.Status `json:"status"`
	APIKey string        `json:"apiKey,omitempty"`
	Email  string        `json:"email,omitempty"`
}

func (a *API) initLogin(w http.ResponseWriter, r *http.Request) error {
	flow, err := a.settings.Logins.Init(r.Context(), a.addressKey(r), r.UserAgent())
	if err != nil {
		return loginError(err)
	}
	a.writeJSON(w, http.StatusCreated, flowBody{flow.Nonce, flow.VerifyURL, job.Timestamp(flow.ExpiresAt)})
	return nil
}

func (a *API) pollLogin(w http.ResponseWriter, r *http.Request) error {
	answer, err := a.settings.Logins.Poll(r.Context(), r.PathValue("nonce"))
	if err != nil {
		return loginError(err)
	}
	status := http.StatusOK
	if answer.Status == device.Expired {
		status = http.StatusGone
	}
	a.writeJSON(w, status, pollBody{answer.Status, answer.APIKey, answer.Email})
	return nil
}

func (a *API) completeLogin(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Nonce  string `json:"nonce"`
		APIKey string `json:"apiKey"`
		Email  string `json:"email"`
	}
	if err := a.readRequest(w, r, "completeLogin", &request); err != nil {
		return err
	}
	err := a.settings.Logins.Complete(r.Context(), request.Nonce, request.APIKey, request.Email)
	if errors.Is(err, device.ErrExpired) {
		return failWithoutBody(w, r, http.StatusGone, err)
	}
	if err != nil {
		return loginError(err)
	}
	a.writeJSON(w, http.StatusOK, okBody{true})
	return nil
}

// loginError returns the error for a failed device flow.
func loginError(err error) error {
	if full := (*device.FullError)(nil); errors.As(err, &full) {
		return rateLimited(full.RetryAfter)
	}
	return fmt.Errorf("run a device flow: %w", err)
}
