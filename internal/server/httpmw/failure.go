package httpmw

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"standin/internal/base/budget"
	"standin/internal/base/text"
	"standin/internal/jobs/job"
)

// LimitedError reports that a client has sent too many requests.
type LimitedError struct{ Wait time.Duration }

func (e *LimitedError) Error() string {
	wait := "a second"
	switch seconds := RetryAfterSeconds(e.Wait); {
	case seconds >= 120:
		wait = strconv.Itoa((seconds+59)/60) + " minutes"
	case seconds > 1:
		wait = strconv.Itoa(seconds) + " seconds"
	}
	return "Too many requests. Try again in " + wait + "."
}

// outageWait is how long clients are asked to wait when the service lacks something, or they
// have used their part of a budget.
const outageWait = 5 * time.Second

// Failure is what the response to an error says.
type Failure struct {
	Status  int
	Code    string
	Message string        // a sentence
	Wait    time.Duration // for Retry-After; 0 for none
}

var statuses = map[job.ErrorCode]int{
	job.InvalidInput: http.StatusBadRequest, job.Unauthorized: http.StatusUnauthorized, job.NotFound: http.StatusNotFound,
	job.InvalidState: http.StatusConflict, job.OverQuota: http.StatusTooManyRequests, job.TooEarly: http.StatusTooEarly,
	job.Unavailable: http.StatusServiceUnavailable,
}

// Explain returns the response to an error. unavailable reports whether an error may end
// by itself. The response to an internal error has only the ID of the request.
func (rec *Record) Explain(err error, unavailable func(error) bool) Failure {
	if errors.Is(err, budget.ErrFull) {
		err = &LimitedError{outageWait}
	}
	if limited, ok := errors.AsType[*LimitedError](err); ok {
		return Failure{http.StatusTooManyRequests, "rate_limited", limited.Error(), limited.Wait}
	}
	if own, ok := errors.AsType[*job.Error](err); ok && statuses[own.Code] != 0 {
		f := Failure{Status: statuses[own.Code], Code: string(own.Code), Message: text.Sentence(own.Message)}
		if f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable {
			f.Wait = outageWait
		}
		return f
	}
	if unavailable(err) {
		return Failure{
			http.StatusServiceUnavailable, string(job.Unavailable),
			"The service cannot use its database or its storage at the moment. Try again. Quote " + rec.ID + " when you report it.", outageWait,
		}
	}
	return Failure{
		Status: http.StatusInternalServerError, Code: "internal_server_error",
		Message: "Something went wrong on our side. Quote " + rec.ID + " when you report it.",
	}
}
