package httpmw

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is a number of requests per time. A bucket has that many tokens and fills
// evenly, so after a pause all of them may be used at once. The zero Rate allows
// everything.
type Rate struct {
	Requests int
	Per      time.Duration
}

// Bounds of a configured rate.
const (
	maxRequests = 1_000_000
	maxPer      = 24 * time.Hour
)

// Off reports whether the rate allows everything.
func (r Rate) Off() bool { return r.Requests == 0 }

// interval returns the time between two tokens.
func (r Rate) interval() time.Duration { return r.Per / time.Duration(r.Requests) }

// String returns the rate in the form of UnmarshalText: 600/1m0s or off.
func (r Rate) String() string {
	if r.Off() {
		return "off"
	}
	return strconv.Itoa(r.Requests) + "/" + r.Per.String()
}

// UnmarshalText parses a number of requests (1 to 1000000), a slash and a duration
// (1s to 24h), for example 600/1m. An empty text and off allow everything.
func (r *Rate) UnmarshalText(text []byte) error {
	if len(text) == 0 || string(text) == "off" {
		*r = Rate{}
		return nil
	}
	requests, per, _ := strings.Cut(string(text), "/")
	n, err := strconv.Atoi(requests)
	if err != nil || n < 1 || n > maxRequests {
		return fmt.Errorf("a rate must be off, or 1 to %d requests per time, for example 600/1m; got %q", maxRequests, text)
	}
	d, err := time.ParseDuration(per)
	if err != nil || d < time.Second || d > maxPer {
		return fmt.Errorf("the time of a rate must be from 1s to 24h, for example 600/1m; got %q", text)
	}
	*r = Rate{Requests: n, Per: d}
	return nil
}
