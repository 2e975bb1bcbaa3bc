package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/account/device"
	"standin/internal/base/text"
	"standin/internal/jobs/job"
	"standin/internal/server/httpmw"
)

// Headers that carry a shared secret.
const (
	IntakeSecretHeader = "x-service-intake-secret"
	AdminSecretHeader  = "x-service-admin-secret"
)

// consumerHandler serves an operation for the owner of an API key.
type consumerHandler func(w http.ResponseWriter, r *http.Request, caller account.Caller) error

// forConsumer authenticates the API key before anything else of the request is
// read. Requests that change something need a key with the scope jobs.
func (a *API) forConsumer(handle consumerHandler) handler {
	reading, changing := a.forScope(account.ReadScope, handle), a.forScope(account.JobsScope, handle)
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return reading(w, r)
		}
		return changing(w, r)
	}
}

// forScope authenticates the API key, which must have a scope.
func (a *API) forScope(needed account.Scope, handle consumerHandler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		token, ok := bearer(r)
		if !ok {
			return unauthorized("Bearer", "Missing or invalid API key.")
		}
		caller, err := a.Keys.Authenticate(r.Context(), token)
		if denied := (*job.Error)(nil); errors.As(err, &denied) && denied.Code == job.Unauthorized {
			return unauthorized("Bearer", text.Sentence(denied.Message))
		}
		if err != nil {
			return fmt.Errorf("authenticate: %w", err)
		}
		record := httpmw.RecordOf(r)
		record.ConsumerID, record.Caller = caller.ConsumerID, caller.ConsumerID.String()
		if err := a.keys.Allow(caller.KeyID.String()); err != nil {
			return err
		}
		if !caller.Scope.Allows(needed) {
			return forbidden(caller.Scope, needed)
		}
		return a.once(w, r, caller, func(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
			if err := handle(w, r, caller); err != nil {
				return err
			}
			a.audit(w, r, caller)
			return nil
		})
	}
}

// idHandler serves an operation on what an ID in the path names.
type idHandler func(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error

// named serves an operation on an entity, whose ID is in the path.
func named(entity string, handle idHandler) consumerHandler {
	return func(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
		id, err := pathID(r, "id", entity)
		if err != nil {
			return err
		}
		return handle(w, r, caller, id)
	}
}

// ofJob serves an operation on a job, which is logged.
func ofJob(handle idHandler) consumerHandler {
	return named("job", func(w http.ResponseWriter, r *http.Request, caller account.Caller, id uuid.UUID) error {
		httpmw.RecordOf(r).JobID = id
		return handle(w, r, caller, id)
	})
}

// bearer returns the token of the Authorization header (RFC 6750, section 2.1;
// RFC 9110, section 11.1: the scheme is case-insensitive).
func bearer(r *http.Request) (string, bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// authenticated wraps a handler with the check of a security scheme of
// api/openapi.yaml.
func (a *API) authenticated(scheme string, handle handler) handler {
	switch scheme {
	case "apiKey":
		return a.forScope(account.ReadScope, func(w http.ResponseWriter, r *http.Request, _ account.Caller) error { return handle(w, r) })
	case "botToken":
		return func(w http.ResponseWriter, r *http.Request) error {
			if _, ok := bearer(r); !ok { // the handler checks the token, which is bound to the message
				return invalidToken()
			}
			return handle(w, r)
		}
	case "intakeSecret":
		return a.withSecret(IntakeSecretHeader, a.IntakeSecret, handle)
	case "adminSecret":
		return a.withSecret(AdminSecretHeader, a.AdminSecret, handle)
	}
	return handle
}

// withSecret serves requests that carry the shared secret in a header. It
// refuses every request when the secret is empty. Wrong secrets are rate
// limited; the right one is always accepted.
func (a *API) withSecret(header, secret string, handle handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if secret != "" && account.SameSecret(r.Header.Get(header), secret) {
			httpmw.RecordOf(r).Caller = header
			return handle(w, r)
		}
		return a.refuseSecret(r, fmt.Sprintf("Secret header=%q", header), "Missing or invalid secret in the header "+header+".")
	}
}

// refuseSecret returns the error for a wrong shared secret.
func (a *API) refuseSecret(r *http.Request, challenge, message string) error {
	if err := a.guesses.Allow(a.addressKey(r)); err != nil {
		return err
	}
	return unauthorized(challenge, message)
}

// perMinute returns the limiter of a rate.
func perMinute(requests int) *httpmw.Limiter {
	return newLimiter(httpmw.Rate{Requests: requests, Per: time.Minute})
}

// newLimiter returns the limiter of a rate.
func newLimiter(rate httpmw.Rate) *httpmw.Limiter {
	return httpmw.NewLimiter(httpmw.LimiterSettings{Rate: rate, Now: time.Now})
}

// perAddress limits the rate of each client address. API keys, bot tokens and payment
// signatures have 256 bits and cannot be guessed, so failures with them are not limited.
func (a *API) perAddress(limiter *httpmw.Limiter, handle handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := limiter.Allow(a.addressKey(r)); err != nil {
			return err
		}
		return handle(w, r)
	}
}

// addressKey returns the key by which the client of a request is counted.
func (a *API) addressKey(r *http.Request) string {
	return httpmw.AddressKey(a.TrustedProxies.ClientAddress(r))
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
	flow, err := a.Logins.Init(r.Context(), a.addressKey(r), r.UserAgent())
	if err != nil {
		return loginError(err)
	}
	a.writeJSON(w, http.StatusCreated, flowBody{flow.Nonce, flow.VerifyURL, job.Timestamp(flow.ExpiresAt)})
	return nil
}

func (a *API) pollLogin(w http.ResponseWriter, r *http.Request) error {
	answer, err := a.Logins.Poll(r.Context(), r.PathValue("nonce"))
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
	err := a.Logins.Complete(r.Context(), request.Nonce, request.APIKey, request.Email)
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
		return &httpmw.LimitedError{Wait: full.RetryAfter}
	}
	return fmt.Errorf("run a device flow: %w", err)
}
