package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"time"

	"standin/internal/account"
	"standin/internal/httpapi/ratelimit"
)

// Rates of one client address (contract, Errors and limits: 429). An API key,
// a bot's token and a payment signature have 256 bits and cannot be found by
// trying, so failing with them has no limit.
var (
	initRate     = ratelimit.Rate{Requests: 60, Per: time.Minute}
	pollRate     = ratelimit.Rate{Requests: 600, Per: time.Minute}
	completeRate = ratelimit.Rate{Requests: 60, Per: time.Minute}
	documentRate = ratelimit.Rate{Requests: 600, Per: time.Minute}
	guessRate    = ratelimit.Rate{Requests: 60, Per: time.Minute} // of wrong secrets: people choose those
)

// limits are the buckets of the surface.
type limits struct {
	keys          *ratelimit.Limiter
	initLogin     *ratelimit.Limiter
	pollLogin     *ratelimit.Limiter
	completeLogin *ratelimit.Limiter
	documents     *ratelimit.Limiter
	guesses       *ratelimit.Limiter
}

func newLimits(keys ratelimit.Rate) limits {
	limiter := func(rate ratelimit.Rate) *ratelimit.Limiter {
		return ratelimit.New(ratelimit.Settings{Rate: rate, Now: time.Now})
	}
	return limits{
		keys:          limiter(keys),
		initLogin:     limiter(initRate),
		pollLogin:     limiter(pollRate),
		completeLogin: limiter(completeRate),
		documents:     limiter(documentRate),
		guesses:       limiter(guessRate),
	}
}

// addressKey is what the client of a request is counted by.
func (a *API) addressKey(r *http.Request) string {
	return ratelimit.AddressKey(a.settings.Proxies.Address(r))
}

// perAddress lets each client address make so many requests.
func (a *API) perAddress(limiter *ratelimit.Limiter, handle handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if ok, wait := limiter.Allow(a.addressKey(r)); !ok {
			return limited(wait)
		}
		return handle(w, r)
	}
}

// limitKey lets each API key make so many requests.
func (a *API) limitKey(caller account.Caller) error {
	if ok, wait := a.limits.keys.Allow(caller.KeyID.String()); !ok {
		return limited(wait)
	}
	return nil
}

// Headers that carry a secret (specification, Authentication).
const (
	IntakeSecretHeader = "x-service-intake-secret"
	AdminSecretHeader  = "x-service-admin-secret"
)

// withSecret serves those who show the secret in the header, and nobody when
// there is none. Whoever shows too many wrong ones gets 429 instead of 401; the
// right one is always let in.
func (a *API) withSecret(header, secret string, handle handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if given := r.Header.Get(header); secret != "" && sameSecret(given, secret) {
			return handle(w, r)
		}
		if ok, wait := a.limits.guesses.Allow(a.addressKey(r)); !ok {
			return limited(wait)
		}
		return &failure{
			status: http.StatusUnauthorized, code: "unauthorized", message: "The credentials are missing or not valid.",
			challenge: fmt.Sprintf("Secret header=%q", header),
		}
	}
}

// sameSecret compares two secrets in a time that tells nothing of either, nor
// of their lengths.
func sameSecret(given, secret string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
