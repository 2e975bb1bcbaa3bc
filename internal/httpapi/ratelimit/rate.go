package ratelimit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is how many requests are allowed per time. A bucket holds that many
// tokens and fills evenly: after a pause all may come at once. The zero Rate is
// off: it allows everything.
type Rate struct {
	Requests int
	Per      time.Duration
}

// Bounds of a rate that is set by hand.
const (
	maxRequests = 1_000_000
	maxPer      = 24 * time.Hour
)

// Off reports whether the rate allows everything.
func (r Rate) Off() bool { return r.Requests == 0 }

// interval is how long a token takes to come.
func (r Rate) interval() time.Duration { return r.Per / time.Duration(r.Requests) }

// String is the rate as UnmarshalText reads it, 600/1m0s or off.
func (r Rate) String() string {
	if r.Off() {
		return "off"
	}
	return strconv.Itoa(r.Requests) + "/" + r.Per.String()
}

// UnmarshalText reads a rate as settings write it: a number of requests (1 to
// 1000000), a slash and a time (1s to 24h), as in 600/1m; off or nothing
// allows everything.
func (r *Rate) UnmarshalText(text []byte) error {
	if len(text) == 0 || string(text) == "off" {
		*r = Rate{}
		return nil
	}
	requests, per, _ := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(requests)
	if err != nil || n < 1 || n > maxRequests {
		return fmt.Errorf("a rate is off, or 1 to %d requests per time as in 600/1m; got %q", maxRequests, text)
	}
	d, err := time.ParseDuration(per)
	if err != nil || d < time.Second || d > maxPer {
		return fmt.Errorf("a rate's time is 1s to 24h as in 600/1m; got %q", text)
	}
	*r = Rate{Requests: n, Per: d}
	return nil
}
