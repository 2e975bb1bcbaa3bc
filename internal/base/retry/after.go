package retry

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// After returns the pause that a Retry-After header asks for, seconds or a date (RFC
// 9110, section 10.2.3): at most longest, and 0 for a header that is missing, malformed
// or in the past.
func After(header string, now time.Time, longest time.Duration) time.Duration {
	header = strings.TrimSpace(header)
	if header != "" && strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.ParseInt(header, 10, 64)
		if err != nil || seconds > int64(longest/time.Second) { // err: out of range
			return longest
		}
		return time.Duration(seconds) * time.Second
	}
	date, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(0, date.Sub(now)), longest)
}
