package main

import (
	"testing"
	"time"
)

// TestParseTime parses times as people write them.
func TestParseTime(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 28, 12, 0, 0, 0, berlin) // the day before summer time begins
	for text, want := range map[string]string{
		"now":                       "2026-03-28T12:00:00+01:00",
		"+15m":                      "2026-03-28T12:15:00+01:00",
		"-1h30m":                    "2026-03-28T10:30:00+01:00",
		"10:00":                     "2026-03-28T10:00:00+01:00",
		"today 9:30":                "2026-03-28T09:30:00+01:00",
		"Tomorrow 10:00":            "2026-03-29T10:00:00+02:00",
		"yesterday 10:00":           "2026-03-27T10:00:00+01:00",
		"2026-11-26T10:00":          "2026-11-26T10:00:00+01:00",
		"2026-11-26 10:00:30":       "2026-11-26T10:00:30+01:00",
		"2026-11-26T10:00Z":         "2026-11-26T10:00:00Z",
		"2026-11-26":                "2026-11-26T00:00:00+01:00",
		"2026-11-26T10:00:00+05:30": "2026-11-26T10:00:00+05:30",
	} {
		if at, err := parseTime(text, now); err != nil || at.Format(time.RFC3339) != want {
			t.Errorf("%q is %s (%v), want %s", text, at.Format(time.RFC3339), err, want)
		}
	}
	for _, text := range []string{"", "soon", "25:00", "tomorrow", "friday 10:00", "+soon", "2026-13-01"} {
		if at, err := parseTime(text, now); err == nil {
			t.Errorf("%q is %s", text, at)
		}
	}
}

// TestRelative checks how times are shown on a terminal.
func TestRelative(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for distance, want := range map[time.Duration]string{
		0: "now", 15 * time.Minute: "in 15m", -90 * time.Second: "90s ago", -26 * time.Hour: "26h ago",
		-40 * 24 * time.Hour: now.Add(-40 * 24 * time.Hour).Local().Format(time.DateOnly),
	} {
		if got := relative(now.Add(distance), now); got != want {
			t.Errorf("%s is shown as %q, want %q", distance, got, want)
		}
	}
}
