package mail

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"standin/internal/calendar"
	"standin/internal/job"
)

const (
	maxMeetings = 20                   // meetings in one message
	maxUID      = 1000                 // bytes
	horizon     = 366 * 24 * time.Hour // how far ahead meetings are known
)

// plan is what a message asks for.
type plan struct {
	events   []calendar.Event // can be scheduled, moved or cancelled; each has a UID and an organizer, but not always a link
	problems []string         // sentences that say why other events, or the message, cannot be used
	refused  bool             // the author may not schedule some of them

	uids   map[string]bool // UIDs of all events
	budget *calendar.Budget
}

// makePlan decides what to do with the calendars of a message. If now is zero,
// no meeting is over. It returns an error only after the deadline of the budget.
func makePlan(c *content, now time.Time, budget *calendar.Budget) (plan, error) {
	p := plan{uids: make(map[string]bool), budget: budget}
	for _, text := range c.calendars {
		if err := p.addCalendar(c, text, now); err != nil {
			return plan{}, err
		}
	}
	if len(c.calendars) == 0 {
		p.problems = append(p.problems, c.missing())
	}
	return p, nil
}

// missing says what a message without a calendar lacks.
func (c *content) missing() string {
	switch {
	case c.unsealed:
		return "The message's type is not signed by the sender, so others may have written its calendar."
	case c.winmail:
		return "The message has a winmail.dat attachment, whose calendar only Outlook can read. Send the invitation as HTML or plain text, or attach it as an .ics file."
	case len(c.links) == 1:
		return "The message has a meeting link, but no calendar (.ics) that says when the meeting takes place. Invite this address to the meeting, or forward the invitation with its calendar."
	case len(c.links) > 1:
		return "The message has several meeting links and no calendar (.ics) that says which one to join and when. Invite this address to the meeting, or forward the invitation with its calendar."
	}
	return "The message is not an invitation: it has neither a calendar (.ics) nor a meeting link."
}

// addCalendar adds the events of a calendar.
func (p *plan) addCalendar(c *content, text []byte, now time.Time) error {
	parsed, err := calendar.ParseICS(text, p.budget)
	if malformed, ok := errors.AsType[*calendar.ICSError](err); ok {
		p.problem("The calendar cannot be used: %s.", malformed.Reason)
		return nil
	}
	if err != nil {
		return err
	}
	switch parsed.Method {
	case "", "REQUEST", "PUBLISH", "CANCEL":
	default:
		p.problem("The calendar is not an invitation: its method is %s.", printable(parsed.Method, 20))
		return nil
	}
	if len(parsed.Events) == 0 {
		p.problem("The calendar has no event.")
	}
	for _, event := range parsed.Events {
		if event.Organizer == "" {
			event.Organizer = c.from
		}
		event.Organizer = strings.ToLower(event.Organizer)
		event.Summary = printable(event.Summary, maxSubject)
		reason, err := p.unusable(c, &event, now)
		if err != nil {
			return err
		}
		if reason != "" {
			p.problem("%s %s.", title(event), reason)
			continue
		}
		p.add(event)
	}
	return nil
}

// add adds an event unless the plan has a newer or equal version of it.
func (p *plan) add(event calendar.Event) {
	at := slices.IndexFunc(p.events, func(e calendar.Event) bool {
		return e.Organizer == event.Organizer && e.ID() == event.ID()
	})
	switch {
	case at < 0:
		p.events = append(p.events, event)
	case newer(event, p.events[at]):
		p.events[at] = event
	}
}

// newer reports whether a is a later version of an event than b (RFC 5546,
// section 2.1.5).
func newer(a, b calendar.Event) bool {
	if a.Sequence != b.Sequence {
		return a.Sequence > b.Sequence
	}
	return a.Stamp.After(b.Stamp)
}

func (p *plan) problem(format string, args ...any) {
	if sentence := fmt.Sprintf(format, args...); !slices.Contains(p.problems, sentence) && len(p.problems) < maxMeetings {
		p.problems = append(p.problems, sentence)
	}
}

// unusable returns why an event cannot be used, or "". It completes the link of
// an event whose link is only in the text of the message.
func (p *plan) unusable(c *content, event *calendar.Event, now time.Time) (string, error) {
	p.uids[event.UID] = true
	switch {
	case len(p.uids) > maxMeetings:
		return fmt.Sprintf("is one of more than %d meetings in this message", maxMeetings), nil
	case event.UID == "" || len(event.UID) > maxUID:
		return "has no usable UID, so later changes could not be recognized", nil
	case event.Cancelled:
		return "", nil
	case event.AllDay:
		return "lasts all day", nil
	case event.Floating && event.Zone == "":
		return "has no time zone, so its start is uncertain", nil
	}
	if event.MeetingURL == "" {
		switch len(c.links) {
		case 0: // see dropLinkless
		case 1:
			_, event.Platform, _ = calendar.FindMeeting(c.links[0])
			event.MeetingURL = c.links[0]
		default:
			return "has no meeting link, and the text of the message has several", nil
		}
	}
	if _, err := event.Invite().Normal(); err != nil && event.MeetingURL != "" {
		var refused *job.Error
		if errors.As(err, &refused) {
			return "cannot be scheduled: " + refused.Message, nil
		}
	}
	if now.IsZero() {
		return "", nil
	}
	until := slices.MaxFunc([]time.Time{now, event.Start}, time.Time.Compare).Add(horizon)
	occurrences, err := calendar.Occurrences([]calendar.Event{*event}, now, until, p.budget)
	if expensive, ok := errors.AsType[*calendar.ICSError](err); ok {
		return "cannot be used: " + expensive.Reason, nil
	}
	if err == nil && len(occurrences) == 0 {
		return "is over", nil
	}
	return "", err
}

// dropLinkless leaves out the events without a link, unless the link of their meeting
// is known: organizers' programs strip the link when they move an event.
func (p *plan) dropLinkless(isKnown func(meeting) (bool, error)) error {
	var kept []calendar.Event
	for _, e := range p.events {
		inMessage := slices.ContainsFunc(p.events, func(other calendar.Event) bool {
			return other.Organizer == e.Organizer && other.UID == e.UID && other.MeetingURL != ""
		})
		if e.MeetingURL == "" && !e.Cancelled && !inMessage {
			known, err := isKnown(meeting{e.Organizer, e.UID})
			if err != nil {
				return err
			}
			if !known {
				p.problem("%s has no link to a meeting of a known platform.", title(e))
				continue
			}
		}
		kept = append(kept, e)
	}
	p.events = kept
	return nil
}

// title names an event in a sentence.
func title(event calendar.Event) string {
	if event.Summary == "" {
		return "The event"
	}
	return "“" + event.Summary + "”"
}
