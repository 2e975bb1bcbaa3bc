package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"standin/client"
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

// forConsumer authenticates the API key before anything else of the request is
// read. Requests that change something need a key with the scope jobs.
func (a *API) forConsumer(handle handler) handler {
	reading, changing := a.forScope(account.ReadScope, handle), a.forScope(account.JobsScope, handle)
	return func(r *apiRequest) error {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return reading(r)
		}
		return changing(r)
	}
}

// forScope authenticates the API key, which must have a scope.
func (a *API) forScope(needed account.Scope, handle handler) handler {
	return func(r *apiRequest) error {
		token, ok := r.bearer()
		if !ok {
			return unauthorized("Bearer", "Missing or invalid API key.")
		}
		caller, err := a.Keys.Authenticate(r.Context(), token)
		if denied, ok := errors.AsType[*job.Error](err); ok && denied.Code == job.Unauthorized {
			return unauthorized("Bearer", text.Sentence(denied.Message))
		}
		if err != nil {
			return err
		}
		r.caller, r.ConsumerID, r.Caller = caller, caller.ConsumerID, caller.ConsumerID.String()
		if err := a.keys.Allow(caller.KeyID.String()); err != nil {
			return err
		}
		if !caller.Scope.Allows(needed) {
			return &failure{
				status: http.StatusForbidden, code: "forbidden",
				message: fmt.Sprintf("This key has the scope %s. This request needs the scope %s.", caller.Scope, needed),
			}
		}
		return a.once(r, func(r *apiRequest) error {
			if err := handle(r); err != nil {
				return err
			}
			a.audit(r)
			return nil
		})
	}
}

// named serves an operation on an entity, whose ID is in the path.
func named(entity string, handle handler) handler {
	return func(r *apiRequest) (err error) {
		if r.id, err = r.pathID("id", entity); err != nil {
			return err
		}
		return handle(r)
	}
}

// ofJob serves an operation on a job, which is logged.
func ofJob(handle handler) handler {
	return named("job", func(r *apiRequest) error {
		r.JobID = r.id
		return handle(r)
	})
}

// ofCalendar serves an operation on a connected calendar.
func ofCalendar(handle handler) handler { return named("calendar", handle) }

// bearer returns the token of the Authorization header (RFC 6750, section 2.1;
// RFC 9110, section 11.1: the scheme is case-insensitive).
func (r *apiRequest) bearer() (string, bool) {
	scheme, token, _ := strings.Cut(r.Request.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// authenticated wraps a handler with the check of a security scheme of
// api/openapi.yaml.
func (a *API) authenticated(scheme string, handle handler) handler {
	switch scheme {
	case "apiKey":
		return a.forScope(account.ReadScope, handle)
	case "botToken":
		return func(r *apiRequest) error {
			if _, ok := r.bearer(); !ok { // the handler checks the token, which is bound to the message
				return errInvalidToken
			}
			return handle(r)
		}
	case "intakeSecret":
		return a.withSecret(IntakeSecretHeader, a.IntakeSecret, handle)
	case "adminSecret":
		return a.withSecret(AdminSecretHeader, a.AdminSecret, handle)
	case "paymentSignature":
		return a.signed(handle)
	}
	return handle
}

// withSecret serves requests that carry the shared secret in a header. It
// refuses every request when the secret is empty. Wrong secrets are rate
// limited; the right one is always accepted.
func (a *API) withSecret(header, secret string, handle handler) handler {
	return func(r *apiRequest) error {
		if secret != "" && account.SameSecret(r.Request.Header.Get(header), secret) {
			r.Caller = header
			return handle(r)
		}
		return r.refuseSecret(fmt.Sprintf("Secret header=%q", header), "Missing or invalid secret in the header "+header+".")
	}
}

// refuseSecret returns the error for a wrong shared secret.
func (r *apiRequest) refuseSecret(challenge, message string) error {
	if err := r.api.guesses.Allow(r.address()); err != nil {
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
func perAddress(limiter *httpmw.Limiter, handle handler) handler {
	return func(r *apiRequest) error {
		if err := limiter.Allow(r.address()); err != nil {
			return err
		}
		return handle(r)
	}
}

// address returns the key by which the client of a request is counted.
func (r *apiRequest) address() string {
	return httpmw.AddressKey(r.api.TrustedProxies.ClientAddress(r.Request))
}

// pollBody is the response of the pollLogin operation.
type pollBody struct {
	Status device.Status `json:"status"`
	APIKey string        `json:"apiKey,omitempty"`
	Email  string        `json:"email,omitempty"`
}

func (a *API) initLogin(r *apiRequest) error {
	flow, err := a.Logins.Init(r.Context(), r.address(), r.UserAgent())
	return r.respondStatus(http.StatusCreated, client.Login{
		Nonce: flow.Nonce, VerifyURL: flow.VerifyURL, ExpiresAt: flow.ExpiresAt,
	}, loginError(err))
}

func (a *API) pollLogin(r *apiRequest) error {
	answer, err := a.Logins.Poll(r.Context(), r.PathValue("nonce"))
	status := http.StatusOK
	if answer.Status == device.Expired {
		status = http.StatusGone
	}
	return r.respondStatus(status, pollBody{answer.Status, answer.APIKey, answer.Email}, loginError(err))
}

type loginRequest struct {
	Nonce  string `json:"nonce"`
	APIKey string `json:"apiKey"`
	Email  string `json:"email"`
}

func (a *API) completeLogin(r *apiRequest, in loginRequest) error {
	err := a.Logins.Complete(r.Context(), in.Nonce, in.APIKey, in.Email)
	if errors.Is(err, device.ErrExpired) {
		return r.failWithoutBody(http.StatusGone, err)
	}
	return r.respond(okBody{true}, loginError(err))
}

// loginError returns the error for a failed device flow; nil if it did not fail.
func loginError(err error) error {
	if full, ok := errors.AsType[*device.FullError](err); ok {
		return &httpmw.LimitedError{Wait: full.RetryAfter}
	}
	return err
}
