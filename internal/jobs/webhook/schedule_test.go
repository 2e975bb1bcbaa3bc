package webhook

import (
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
	limited := func(retryAfter string) Try { return Try{StatusCode: 429, retryAfter: retryAfter} }
	tests := []struct {
		name     string
		try      Try
		failures int
		chance   float64
		want     Verdict
	}{
		{"200", Try{StatusCode: 200}, 1, middle, Verdict{Outcome: Delivered}},
		{"204", Try{StatusCode: 204}, 1, middle, Verdict{Outcome: Delivered}},
		{"299", Try{StatusCode: 299}, 8, middle, Verdict{Outcome: Delivered}},
		{"410", Try{StatusCode: 410, retryAfter: "5"}, 1, middle, failed("the receiver answered 410 Gone")},
		{"no request possible", Try{unusable: true, Error: "no host"}, 1, middle, failed("no host")},

		{"first failure", Try{StatusCode: 500}, 1, middle, retry(5 * time.Second)},
		{"no answer", Try{}, 1, middle, retry(5 * time.Second)},
		{"redirect", Try{StatusCode: 302}, 1, middle, retry(5 * time.Second)},
		{"not found", Try{StatusCode: 404}, 1, middle, retry(5 * time.Second)},
		{"second failure", Try{StatusCode: 500}, 2, middle, retry(5 * time.Minute)},
		{"third failure", Try{StatusCode: 500}, 3, middle, retry(30 * time.Minute)},
		{"fourth failure", Try{StatusCode: 500}, 4, middle, retry(2 * time.Hour)},
		{"fifth failure", Try{StatusCode: 500}, 5, middle, retry(5 * time.Hour)},
		{"sixth failure", Try{StatusCode: 500}, 6, middle, retry(10 * time.Hour)},
		{"seventh failure", Try{StatusCode: 500}, 7, middle, retry(10 * time.Hour)},
		{"eighth failure", Try{StatusCode: 500}, 8, middle, failed("not acknowledged in 8 tries")},
		{"one more", Try{StatusCode: 500}, 9, middle, failed("not acknowledged in 8 tries")},

		{"earliest", Try{StatusCode: 500}, 2, 0, retry(270 * time.Second)},
		{"late", Try{StatusCode: 500}, 2, 0.75, retry(315 * time.Second)},

		{"Retry-After, later", limited("60"), 1, middle, retry(time.Minute)},
		{"Retry-After, earlier", limited("2"), 1, middle, retry(5 * time.Second)},
		{"Retry-After, a date", limited(now.Add(time.Hour).Format(http.TimeFormat)), 1, middle, retry(time.Hour)},
		{"Retry-After, too long", limited("864000"), 1, middle, retry(24 * time.Hour)},
		{"Retry-After with 503", Try{StatusCode: 503, retryAfter: " 7 "}, 1, middle, retry(7 * time.Second)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := DefaultSchedule().decide(test.try, Delivery{Failures: test.failures - 1}, now, test.chance)
			if got.Outcome != test.want.Outcome || got.Reason != test.want.Reason ||
				got.RetryAt.Sub(test.want.RetryAt).Abs() > time.Millisecond {
				t.Errorf("decided %+v, want %+v", got, test.want)
			}
		})
	}
}
