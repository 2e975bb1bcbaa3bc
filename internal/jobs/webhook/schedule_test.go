package webhook

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	const middle = 0.5 // of the jitter: none
	retry := func(in time.Duration) Verdict { return Verdict{Outcome: Retry, RetryAt: now.Add(in)} }
	failed := func(reason string) Verdict { return Verdict{Outcome: PermanentFailure, Reason: reason} }
	limited := func(retryAfter string) response { return response{status: 429, retryAfter: retryAfter} }
	tests := []struct {
		name     string
		response response
		failures int
		chance   float64
		want     Verdict
	}{
		{"200", response{status: 200}, 1, middle, Verdict{Outcome: Delivered}},
		{"204", response{status: 204}, 1, middle, Verdict{Outcome: Delivered}},
		{"299", response{status: 299}, 8, middle, Verdict{Outcome: Delivered}},
		{"410", response{status: 410, retryAfter: "5"}, 1, middle, failed("the receiver answered 410 Gone")},
		{"no request possible", response{unusable: errors.New("no host")}, 1, middle, failed("no host")},

		{"first failure", response{status: 500}, 1, middle, retry(5 * time.Second)},
		{"no answer", response{}, 1, middle, retry(5 * time.Second)},
		{"redirect", response{status: 302}, 1, middle, retry(5 * time.Second)},
		{"not found", response{status: 404}, 1, middle, retry(5 * time.Second)},
		{"second failure", response{status: 500}, 2, middle, retry(5 * time.Minute)},
		{"third failure", response{status: 500}, 3, middle, retry(30 * time.Minute)},
		{"fourth failure", response{status: 500}, 4, middle, retry(2 * time.Hour)},
		{"fifth failure", response{status: 500}, 5, middle, retry(5 * time.Hour)},
		{"sixth failure", response{status: 500}, 6, middle, retry(10 * time.Hour)},
		{"seventh failure", response{status: 500}, 7, middle, retry(10 * time.Hour)},
		{"eighth failure", response{status: 500}, 8, middle, failed("not acknowledged in 8 tries")},
		{"one more", response{status: 500}, 9, middle, failed("not acknowledged in 8 tries")},

		{"earliest", response{status: 500}, 2, 0, retry(270 * time.Second)},
		{"late", response{status: 500}, 2, 0.75, retry(315 * time.Second)},

		{"Retry-After, later", limited("60"), 1, middle, retry(time.Minute)},
		{"Retry-After, earlier", limited("2"), 1, middle, retry(5 * time.Second)},
		{"Retry-After, a date", limited(now.Add(time.Hour).Format(http.TimeFormat)), 1, middle, retry(time.Hour)},
		{"Retry-After, too long", limited("864000"), 1, middle, retry(24 * time.Hour)},
		{"Retry-After with 503", response{status: 503, retryAfter: " 7 "}, 1, middle, retry(7 * time.Second)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := DefaultSchedule().decide(test.response, Delivery{Failures: test.failures - 1}, now, test.chance)
			if got.Outcome != test.want.Outcome || got.Reason != test.want.Reason ||
				got.RetryAt.Sub(test.want.RetryAt).Abs() > time.Millisecond {
				t.Errorf("decided %+v, want %+v", got, test.want)
			}
		})
	}
}
