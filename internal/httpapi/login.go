package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"standin/internal/account/device"
	"standin/internal/job"
)

// Logins runs device flows, as device.Flows does, with the errors of that
// package.
type Logins interface {
	Init(ctx context.Context, opener, agent string) (device.Flow, error)
	Poll(ctx context.Context, nonce string) (device.Answer, error)
	Complete(ctx context.Context, nonce, apiKey, email string) error
}

// flowBody is the init result of the specification.
type flowBody struct {
	Nonce     string        `json:"nonce"`
	VerifyURL string        `json:"verifyUrl"`
	ExpiresAt job.Timestamp `json:"expiresAt"`
}

// flowAnswer is the poll result of the specification.
type flowAnswer struct {
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
	a.writeJSON(w, status, flowAnswer{answer.Status, answer.APIKey, answer.Email})
	return nil
}

func (a *API) completeLogin(w http.ResponseWriter, r *http.Request) error {
	fields, err := a.readRequest(w, r, "completeLogin")
	if err != nil {
		return err
	}
	err = a.settings.Logins.Complete(r.Context(), fields.text("nonce"), fields.text("apiKey"), fields.text("email"))
	if errors.Is(err, device.ErrExpired) {
		a.failWithoutBody(w, r, http.StatusGone, err)
		return nil
	}
	if err != nil {
		return loginError(err)
	}
	a.writeJSON(w, http.StatusOK, done{true})
	return nil
}

// loginError is the failure of a device flow.
func loginError(err error) error {
	if full := (*device.FullError)(nil); errors.As(err, &full) {
		return limited(full.RetryAfter)
	}
	return fmt.Errorf("run a device flow: %w", err)
}
