package retry

import (
	"errors"
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
	if seconds, err := strconv.ParseUint(header, 10, 63); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(longest/time.Second))) * time.Second
	}
	date, _ := http.ParseTime(header) // the zero time if it is malformed
	return min(max(0, date.Sub(now)), longest)
}
