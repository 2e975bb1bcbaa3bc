package main

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// decodeTime decodes the value of a flag that is a time.
func decodeTime(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	at, err := parseTime(text, time.Now())
	if err == nil {
		reflect.Indirect(target).Set(reflect.ValueOf(at))
	}
	return err
}

// dayNames are the days that parseTime knows, relative to today.
var dayNames = map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}

// timeLayouts are the forms of a date with a time, with and without a zone.
var timeLayouts = []string{
	time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00",
	"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly,
}

// parseTime parses a time as people write it: now, +15m, 10:00, tomorrow 10:00, or a date with a
// time. Times without a zone are in the zone of now.
func parseTime(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if strings.EqualFold(text, "now") {
		return now, nil
	}
	if strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		if distance, err := time.ParseDuration(text); err == nil {
			return now.Add(distance), nil
		}
	}
	for _, layout := range timeLayouts {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	day, clock, named := strings.Cut(strings.ToLower(text), " ")
	days, known := dayNames[day]
	if !named {
		days, known, clock = 0, true, day
	}
	if at, err := time.Parse("15:04", strings.TrimSpace(clock)); err == nil && known {
		return time.Date(now.Year(), now.Month(), now.Day()+days, at.Hour(), at.Minute(), 0, 0, now.Location()), nil
	}
	return time.Time{}, fmt.Errorf("%q is not a time; write 10:00, tomorrow 10:00, +15m or 2026-11-26T10:00", text)
}
