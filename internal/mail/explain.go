package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"standin/internal/calendar"
)

// Explanation says what would happen to a message that a worker receives, if it
// has received none before.
type Explanation struct {
	From, Subject string
	Auth          string // how the sender is authenticated; empty if it is not
	Refusal       string // why the message is refused; empty if it is not
	Meetings      []ExplainedMeeting
	Problems      []string // why other events, or the message, cannot be used
}

// ExplainedMeeting is a meeting that would be scheduled or cancelled.
type ExplainedMeeting struct {
	calendar.Event
	Occurrences []Change // meetings that would be scheduled now
}

// Explain explains a message. remote is the address of the SMTP client; a message
// without one is from a mailbox.
func Explain(ctx context.Context, policy Policy, raw []byte, remote string, window time.Duration, now time.Time) (Explanation, error) {
	if !bytes.Contains(raw, []byte("\r\n")) { // an editor has saved it; signatures are about CRLF
		raw = bytes.ReplaceAll(raw, []byte("\n"), []byte("\r\n"))
	}
	c, err := parseMessage(raw)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{From: c.from, Subject: c.subject}
	source := "imap"
	if remote != "" {
		source = "smtp"
	}
	auth, err := policy.authenticate(ctx, newResolver(policy.LookupTXT, time.Now), received{source: source, remote: remote, raw: raw, at: now}, c)
	e.Auth = auth.method
	refusal, isRefused := errors.AsType[*refusalError](err)
	switch {
	case isRefused:
		e.Refusal = refusal.reason
	case err != nil:
		e.Refusal = "The sender cannot be authenticated now: " + err.Error()
	case !auth.sealed:
		c.calendars, c.unsealed = nil, true
	}
	if e.Refusal != "" || len(policy.Recipients) == 0 {
		auth.addressed = true // the reader wants to know about the meetings
	}
	budget := calendar.NewBudget(time.Time{})
	found, err := makePlan(c, now, budget)
	if err != nil {
		return Explanation{}, err
	}
	p := policy.filter(c, auth, found)
	if err := p.dropLinkless(func(meeting) (bool, error) { return false, nil }); err != nil {
		return Explanation{}, err
	}
	e.Problems = p.problems
	if len(policy.Recipients) == 0 {
		e.Problems = append(e.Problems, "STANDIN_MAIL_RECIPIENTS is not set, so it is not checked whether the meetings invite one of them.")
	}
	for _, event := range p.events {
		meeting := ExplainedMeeting{Event: event}
		occurrences, err := calendar.Occurrences([]calendar.Event{event}, now, now.Add(horizon), budget)
		if err != nil {
			return Explanation{}, err
		}
		for _, o := range occurrences {
			if o.Start.Before(now.Add(window)) || o.Original.IsZero() {
				meeting.Occurrences = append(meeting.Occurrences, Change{Kind: "scheduled", Summary: o.Summary, Start: o.Start, Zone: o.Zone})
			}
		}
		e.Meetings = append(e.Meetings, meeting)
	}
	return e, nil
}

// WriteText writes the explanation for people.
func (e Explanation) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "From:     %s\nSubject:  %s\n", e.From, e.Subject)
	if e.Refusal != "" {
		fmt.Fprintf(&b, "Refused:  %s\n", e.Refusal)
	} else {
		fmt.Fprintf(&b, "Accepted: %s\n", e.Auth)
	}
	if e.Refusal != "" && len(e.Meetings) > 0 {
		fmt.Fprintf(&b, "\nIf it were accepted:\n")
	}
	for _, m := range e.Meetings {
		if m.Cancelled {
			fmt.Fprintf(&b, "\nCancel %s of %s (%s)\n", title(m.Event), m.Organizer, printable(m.ID(), maxSubject))
			continue
		}
		fmt.Fprintf(&b, "\nSchedule %s for %s\n  meeting:   %s (%s)\n  event:     %s, version %d\n", title(m.Event), m.Organizer, m.MeetingURL, m.Platform, printable(m.ID(), maxSubject), m.Sequence)
		for _, o := range m.Occurrences {
			fmt.Fprintf(&b, "  join at:   %s\n", o.LocalStart())
		}
		if m.Series != nil {
			fmt.Fprintf(&b, "  further occurrences of the series are scheduled later\n")
		}
	}
	for _, problem := range e.Problems {
		fmt.Fprintf(&b, "\n%s\n", problem)
	}
	_, err := w.Write(b.Bytes())
	return err
}
