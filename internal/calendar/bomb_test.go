package calendar_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/calendar"
)

// bomb returns a calendar with a time zone of many observances and series in it.
func bomb(observances, events int, series string) []byte {
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\r\nBEGIN:VTIMEZONE\r\nTZID:Custom\r\n")
	for i := range observances {
		fmt.Fprintf(&b,
			"BEGIN:STANDARD\r\nDTSTART:16010101T%02d0000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+02%02d\r\nRRULE:FREQ=YEARLY;BYMONTH=%d;BYDAY=-1SU\r\nEND:STANDARD\r\n", i%24, i%60, i%12+1)
	}
	b.WriteString("END:VTIMEZONE\r\n")
	for i := range events {
		fmt.Fprintf(&b, "BEGIN:VEVENT\r\nUID:%d\r\nLOCATION:https://meet.google.com/abc-defg-hij\r\n%s\r\nEND:VEVENT\r\n", i, series)
	}
	b.WriteString("END:VCALENDAR\r\n")
	return []byte(b.String())
}

// TestAttackCalendarBombs expands the series of hostile calendars for a year, each
// event on its own, and checks that this takes little time.
func TestAttackCalendarBombs(t *testing.T) {
	t.Parallel()
	now := utc(2026, 10, 19, 8, 0)
	for name, text := range map[string][]byte{
		"observances":      bomb(790, 20, "DTSTART;TZID=Custom:20200101T100000\r\nRRULE:FREQ=DAILY"),
		"a long series":    bomb(20, 200, "DTSTART;TZID=Custom:19700101T100000\r\nRRULE:FREQ=DAILY"),
		"a counted series": bomb(20, 200, "DTSTART;TZID=Custom:19700101T100000\r\nRRULE:FREQ=DAILY;COUNT=40000"),
		"a known zone":     bomb(2, 200, "DTSTART;TZID=Europe/Berlin:19700101T100000\r\nRRULE:FREQ=DAILY"),
		"dates": bomb(20, 50, "DTSTART;TZID=Custom:20261101T100000\r\nRDATE;TZID=Europe/Berlin:20261101T110000"+
			strings.Repeat(",20261101T110000", 900)),
		"date lines":         bomb(20, 20, "DTSTART:20261101T100000Z"+strings.Repeat("\r\nRDATE;TZID=Europe/Berlin:20261101T110000", 900)),
		"February 30":        bomb(2, 200, "DTSTART:20200101T100000Z\r\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"),
		"a rare day":         bomb(2, 200, "DTSTART:19720229T100000Z\r\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=TU"),
		"a rare month":       bomb(2, 200, "DTSTART:20200229T100000Z\r\nRRULE:FREQ=MONTHLY;INTERVAL=1000;BYMONTHDAY=29"),
		"repeated rule days": bomb(2, 200, "DTSTART:20200131T100000Z\r\nRRULE:FREQ=MONTHLY;BYMONTHDAY=31"+strings.Repeat(",31", 1500)),
		"many days": bomb(2, 200,
			"DTSTART:20200101T100000Z\r\nRRULE:FREQ=YEARLY;BYMONTHDAY=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18;BYMONTH=1,2,3,4,5,6,7,8,9,10,11,12;BYSETPOS=1,-1"),
		"an endless step": bomb(2, 200, "DTSTART:20200101T100000Z\r\nRRULE:FREQ=WEEKLY;INTERVAL=9223372036854775807"),
		"changed occurrences": bomb(2, 199,
			"DTSTART:19700101T100000Z\r\nRRULE:FREQ=DAILY;COUNT=30000\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nUID:x\r\nRECURRENCE-ID;RANGE=THISANDFUTURE:19700102T100000Z\r\nDTSTART:20261102T100000Z"),
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !slices.Contains([]string{"observances", "a counted series", "February 30", "changed occurrences"}, name) {
				t.Skip("make check-long runs it")
			}
			began := time.Now()
			budget := calendar.NewBudget(time.Time{})
			parsed, err := calendar.ParseICS(text, budget)
			for i := 0; err == nil && i < len(parsed.Events); i++ {
				_, err = calendar.Occurrences(parsed.Events[i:i+1], now, now.AddDate(1, 0, 0), budget)
			}
			took := time.Since(began)
			t.Logf("%d bytes: %s, %v", len(text), took, err)
			if took > 20*time.Second { // far more than a very busy machine needs
				t.Errorf("%d bytes took %s", len(text), took)
			}
		})
	}
}

// TestBudget checks that a budget is shared by calls, and its deadline.
func TestBudget(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat(string(sample(t, "series")), 20))
	budget := calendar.NewBudget(time.Time{})
	if err := budget.Spend(450_000); err != nil {
		t.Fatal(err)
	}
	if _, err := calendar.ParseICS(text, budget); err != nil {
		t.Errorf("the first calendars: %v", err)
	}
	var err error
	for range 100 {
		if _, err = calendar.ParseICS(text, budget); err != nil {
			break
		}
	}
	if !errors.Is(err, calendar.ErrTooExpensive) {
		t.Errorf("after 2,000 calendars: %v", err)
	}
	if _, err := calendar.ParseICS(bomb(20, 200, "DTSTART:20261101T100000Z\r\nRRULE:FREQ=DAILY"),
		calendar.NewBudget(time.Now().Add(-time.Second))); !errors.Is(err, calendar.ErrDeadline) {
		t.Errorf("after the deadline: %v", err)
	}
}

// TestSeriesNearNow checks that a series that began long ago has the occurrences that
// it has when each one since its start is examined, which a COUNT requires.
func TestSeriesNearNow(t *testing.T) {
	t.Parallel()
	for _, start := range []string{"20190131T093000", "20200229T233000", "20180705T001500"} {
		for _, rule := range []string{
			"FREQ=DAILY", "FREQ=DAILY;INTERVAL=3", "FREQ=DAILY;BYDAY=MO,WE", "FREQ=WEEKLY", "FREQ=WEEKLY;INTERVAL=3;BYDAY=MO,SU",
			"FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=SU,FR",
			"FREQ=MONTHLY", "FREQ=MONTHLY;INTERVAL=5", "FREQ=MONTHLY;BYDAY=-1FR", "FREQ=MONTHLY;BYMONTHDAY=-1",
			"FREQ=MONTHLY;INTERVAL=2;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=2",
			"FREQ=YEARLY", "FREQ=YEARLY;INTERVAL=2", "FREQ=YEARLY;BYMONTH=10", "FREQ=YEARLY;BYMONTHDAY=3", "FREQ=YEARLY;BYDAY=1MO",
			"FREQ=YEARLY;BYMONTH=1,11;BYDAY=2TU",
		} {
			var got [2]string
			for i, end := range []string{"", ";COUNT=5000"} {
				parsed, err := calendar.ParseICS([]byte(inEvent("UID:1", "DURATION:PT1H", "DTSTART;TZID=America/New_York:"+start, "RRULE:"+rule+end)),
					nil)
				if err != nil {
					t.Fatal(err)
				}
				found, err := calendar.Occurrences(parsed.Events, utc(2026, 10, 20, 0, 0), utc(2029, 3, 1, 0, 0), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range found {
					got[i] += o.Start.Format(" 2006-01-02T15:04")
				}
			}
			if got[0] != got[1] || got[0] == "" {
				t.Errorf("%s from %s:%s\nwant%s", rule, start, got[0], got[1])
			}
		}
	}
}
