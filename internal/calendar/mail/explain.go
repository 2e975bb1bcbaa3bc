package mail

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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

// ExplainedMeeting is a meeting with its changed occurrences.
type ExplainedMeeting struct {
	calendar.Event                  // as a whole, or else its first changed occurrence
	Occurrences    []calendar.Event // for which jobs would be scheduled now
	Next           calendar.Event   // for which a job would be scheduled later; zero if there is none
	Cancelled      []calendar.Event // what jobs would be cancelled for
	Reasons        []string         // sentences that say why there are no other jobs
}

// Explain explains a message. remote is the address of the SMTP client; a message
// without one is from a mailbox.
func Explain(ctx context.Context, policy Policy, raw []byte, remote string, now time.Time) (Explanation, error) {
	if !bytes.Contains(raw, []byte("\r\n")) { // an editor has saved it; signatures are about CRLF
		raw = bytes.ReplaceAll(raw, []byte("\n"), []byte("\r\n"))
	}
	c, err := parseMessage(raw, policy.MeetingHosts)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{From: c.from, Subject: c.subject}
	source := "imap"
	if remote != "" {
		source = "smtp"
	}
	auth, err := policy.authenticate(ctx, newResolver(policy.LookupTXT, time.Now), received{
		source: source, remote: remote, raw: raw, at: now,
	}, c)
	e.Auth = auth.method
	refusal, isRefused := errors.AsType[*RejectedError](err)
	switch {
	case isRefused:
		e.Refusal = refusal.Reason
	case err != nil:
		e.Refusal = "The sender cannot be authenticated now: " + err.Error()
	case !auth.sealed:
		c.calendars, c.unsealed = nil, true
	}
	if e.Refusal != "" || len(policy.Recipients) == 0 {
		auth.addressed = true // the reader wants to know about the meetings
	}
	budget := calendar.NewBudget(time.Time{})
	found, err := makePlan(c, budget)
	if err != nil {
		return Explanation{}, err
	}
	p := policy.filter(c, auth, found)
	e.Problems = p.problems
	for len(p.events) > 0 {
		organizer, uid := cmp.Or(p.events[0].Organizer, c.from), p.events[0].UID // the author is the organizer of those that name none
		var events, others []calendar.Event
		for _, event := range p.events {
			if event.UID == uid && cmp.Or(event.Organizer, c.from) == organizer {
				events = append(events, event)
			} else {
				others = append(others, event)
			}
		}
		explained := ExplainedMeeting{Event: seriesMaster(events)}
		explained.Organizer, p.events = organizer, others
		// As the worker does with a meeting that it has not known before.
		o, err := planOccurrences(events, now, func(time.Time) bool { return false }, budget)
		rejected, isRejected := errors.AsType[*RejectedError](err)
		switch {
		case isRejected:
			explained.Reasons = []string{sentence("A meeting", rejected)}
		case err != nil:
			return Explanation{}, err
		default:
			explained.Occurrences, explained.Next, explained.Reasons = o.wanted, o.next, o.reasons
			explained.Cancelled = slices.DeleteFunc(events, func(e calendar.Event) bool { return !e.Cancelled })
		}
		e.Meetings = append(e.Meetings, explained)
	}
	if len(policy.Recipients) == 0 {
		e.Problems = append(e.Problems, "STANDIN_MAIL_RECIPIENTS is not set, so it is not checked whether the meetings invite one of them.")
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
		if len(m.Occurrences) > 0 || !m.Next.Start.IsZero() {
			fmt.Fprintf(&b, "\nSchedule %s for %s\n", title(m.Event), m.Organizer)
			if m.MeetingURL != "" {
				fmt.Fprintf(&b, "  meeting:   %s (%s)\n", m.MeetingURL, m.Platform)
			}
			fmt.Fprintf(&b, "  event:     %s, version %d\n", printable(m.ID(), maxSubject), m.Sequence)
		}
		for _, o := range m.Occurrences {
			fmt.Fprintf(&b, "  join at:   %s", localTime(o.Start, o.Zone))
			if o.MeetingURL != m.MeetingURL {
				fmt.Fprintf(&b, ", %s (%s)", o.MeetingURL, o.Platform)
			}
			fmt.Fprintln(&b)
		}
		if len(m.Occurrences) > 0 && !m.Next.Start.IsZero() {
			fmt.Fprintf(&b, "  further occurrences of the series are scheduled later\n")
		}
		for _, c := range m.Cancelled {
			fmt.Fprintf(&b, "\nCancel %s of %s (%s)\n", title(c), m.Organizer, printable(c.ID(), maxSubject))
		}
		for _, reason := range m.Reasons {
			fmt.Fprintf(&b, "\n%s\n", reason)
		}
	}
	for _, problem := range e.Problems {
		fmt.Fprintf(&b, "\n%s\n", problem)
	}
	_, err := w.Write(b.Bytes())
	return err
}
