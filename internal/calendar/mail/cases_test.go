package mail

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/calendar"
)

// TestCases checks invitations of the field with standin mail test's explanation: the times
// of the meetings in a window, their link, and why there are none.
func TestCases(t *testing.T) {
	t.Parallel()
	var cases []struct {
		File, Now, Hours, Link, Reason string
		Starts                         []string
	}
	readYAML(t, "cases/cases", &cases)
	files, err := filepath.Glob("testdata/cases/*.[ei][mc][ls]")
	if err != nil || len(files) != len(cases) {
		t.Errorf("%d files, %d expectations: %v", len(files), len(cases), err)
	}
	policy := Policy{
		Senders:    []Sender{{From: "cases.example"}, {From: "cases.example", Signer: "email.apple.com"}, {From: "example.com"}},
		Recipients: []string{"notes@bots.example.com"}, Networks: prefixes("192.0.2.0/24"),
	}
	for _, test := range cases {
		t.Run(test.File, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(filepath.Join("testdata/cases", test.File))
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(test.File, ".ics") {
				raw = bytes.ReplaceAll(raw, []byte("DTSTART;TZID"), []byte("LOCATION:https://meet.google.com/abc-defg-hij\nDTSTART;TZID"))
				raw = slices.Concat([]byte("From: Ann <ann@example.com>\nTo: notes@bots.example.com\nContent-Type: text/calendar\n\n"), raw)
			}
			now, errNow := time.Parse(time.RFC3339, test.Now)
			length, errLength := time.ParseDuration(test.Hours + "h")
			if errNow != nil || errLength != nil {
				t.Fatal(errNow, errLength)
			}
			starts, reasons, links := []string{}, []string{}, []string{}
			for at := now; !at.After(now.Add(length)); at = at.Add(window) { // as the days pass
				explained, err := Explain(t.Context(), policy, raw, "192.0.2.1", at)
				if err != nil || explained.Refusal != "" {
					t.Fatal(err, explained.Refusal)
				}
				reasons = append(reasons, explained.Problems...)
				for _, m := range explained.Meetings {
					reasons = append(reasons, m.Reasons...)
					for _, o := range m.Occurrences {
						if start := o.Start.UTC().Format(time.RFC3339); !slices.Contains(starts, start) && o.Start.Before(now.Add(length)) {
							starts, links = append(starts, start), calendar.AddMeeting(links, o.MeetingURL)
						}
					}
				}
			}
			if slices.Sort(starts); !slices.Equal(starts, test.Starts) {
				t.Errorf("starts %q, want %q (%q)", starts, test.Starts, reasons)
			}
			if test.Link != "" && (len(links) != 1 || !strings.Contains(links[0], test.Link)) {
				t.Errorf("links %q, want %q", links, test.Link)
			}
			if test.Reason != "" && !strings.Contains(strings.ToLower(strings.Join(reasons, "\n")), test.Reason) {
				t.Errorf("reasons %q, want %q", reasons, test.Reason)
			}
		})
	}
}
