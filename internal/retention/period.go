package retention

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Forever is the Period of recordings that are never deleted.
const Forever Period = 0

// minPeriod is the shortest period: a shorter one is probably a wrong unit.
const minPeriod = time.Minute

// Period is how long recordings are kept: 30d, 720h, 90m, or forever.
type Period time.Duration

// ParsePeriod parses a Period.
func ParsePeriod(text string) (Period, error) {
	if text == "forever" {
		return Forever, nil
	}
	wrong := fmt.Errorf("%q is not a retention period: use days (30d), hours (720h), or forever; at least %v", text, minPeriod)
	length, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var number uint64
		number, err = strconv.ParseUint(days, 10, 16) // 179 years are enough
		length = time.Duration(number) * 24 * time.Hour
	}
	if err != nil || length < minPeriod {
		return 0, wrong
	}
	return Period(length), nil
}

// UnmarshalText implements encoding.TextUnmarshaler, for settings.
func (p *Period) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePeriod(string(text))
	return err
}

// String returns the Period in the form that ParsePeriod parses.
func (p Period) String() string {
	const day = 24 * time.Hour
	switch length := time.Duration(p); {
	case p == Forever:
		return "forever"
	case length%day == 0:
		return strconv.Itoa(int(length/day)) + "d"
	default:
		return length.String()
	}
}
