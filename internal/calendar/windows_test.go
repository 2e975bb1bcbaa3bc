package calendar

import (
	"strings"
	"testing"
	"time"
)

// Each Windows zone is listed once and its IANA zone exists.
func TestWindowsZones(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for text := range strings.Lines(strings.TrimSpace(windowsZones)) {
		windows, iana, found := strings.Cut(strings.TrimSuffix(text, "\n"), "=")
		if !found || seen[windows] {
			t.Errorf("%q is no entry, or stands twice", text)
		}
		seen[windows] = true
		if _, err := time.LoadLocation(iana); err != nil {
			t.Errorf("%s: %v", windows, err)
		}
		if got, ok := ianaOfWindows(windows); !ok || got != iana {
			t.Errorf("%s is %q (%v), want %s", windows, got, ok, iana)
		}
	}
	if len(seen) < 130 {
		t.Errorf("%d zones; Windows has more", len(seen))
	}
	for _, unknown := range []string{"", "Standard Time", "Etc/UTC", "UTC\nGMT Standard Time", "W. Europe Standard Time=Europe/Berlin"} {
		if iana, ok := ianaOfWindows(unknown); ok {
			t.Errorf("%q is %s", unknown, iana)
		}
	}
}
