package mail

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"standin/internal/base/meetinglink"
	"standin/internal/calendar"
	"standin/internal/jobs/job"
)

const (
	maxMeetings = 20                   // meetings in one message
	maxUID      = 1000                 // bytes
	horizon     = 366 * 24 * time.Hour // how far ahead meetings are known
)

// plan is what a message asks for.
type plan struct {
	events   []calendar.Event // each has a UID, but not always an organizer; those with a Problem are not scheduled
	problems []string         // sentences that say why other events, or the message, cannot be used
	refused  bool             // the author may not schedule some of them

	uids   map[string]bool // UIDs of all events
	budget *calendar.Budget
}

// makePlan decides what to do with the calendars of a message. It returns an error
// only after the deadline of the budget.
func makePlan(c *content, budget *calendar.Budget) (plan, error) {
	p := plan{uids: make(map[string]bool), budget: budget}
	for _, part := range c.calendars {
		if err := p.addCalendar(c, part); err != nil {
			return plan{}, err
		}
	}
	switch {
	case len(c.calendars) > 0:
	case c.unsealed:
		p.problem("The message's type is not signed by the sender, so others may have written its calendar.")
	case c.closed != "":
		p.problem("%s", c.closed)
	case len(c.links) == 1:
		p.problem("The message has a meeting link, but no calendar (.ics) that says when the meeting takes place. Invite this address " +
			"to the meeting, or forward the invitation with its calendar.")
	case len(c.links) > 1:
		p.problem("The message has several meeting links and no calendar (.ics) that says which one to join and when. Invite this " +
			"address to the meeting, or forward the invitation with its calendar.")
	default:
		p.problem("The message is not an invitation: it has neither a calendar (.ics) nor a meeting link.")
	}
	for i := range p.events {
		for _, other := range p.events {
			if p.events[i].Organizer == "" && other.UID == p.events[i].UID {
				p.events[i].Organizer = other.Organizer
			}
		}
	}
	return p, nil
}

// addCalendar adds the events of a calendar.
func (p *plan) addCalendar(c *content, part calendarPart) error {
	parsed, err := calendar.ParseICS(part.text, p.budget, c.hosts...)
	if malformed, ok := errors.AsType[*calendar.ICSError](err); ok {
		p.problem("The calendar cannot be used: %s. What was scheduled before stays.", malformed.Reason)
		return nil
	}
	if err != nil {
		return err
	}
	if parsed.Method == "" {
		parsed.Method = strings.ToUpper(part.method)
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
		event.Organizer = strings.ToLower(event.Organizer)
		event.Summary = printable(event.Summary, maxSubject)
		event.Cancelled = event.Cancelled || calendar.IsCancelled(parsed.Method)
		if event.Stamp.IsZero() {
			event.Stamp = c.sent
		}
		p.uids[event.UID] = true
		switch { // it cannot be told apart from others
		case len(p.uids) > maxMeetings:
			p.problem("%s is one of more than %d meetings in this message.", title(event), maxMeetings)
			continue
		case event.UID == "" && event.Problem != "":
			p.problem("%s cannot be used: %s.", title(event), event.Problem)
			continue
		case event.UID == "" || len(event.UID) > maxUID:
			p.problem("%s has no usable UID, so later changes could not be recognized.", title(event))
			continue
		}
		if !event.Cancelled {
			event.Problem = c.complete(&event)
		}
		at := slices.IndexFunc(p.events, func(e calendar.Event) bool {
			return e.Organizer == event.Organizer && e.UID == event.UID && e.Original.Equal(event.Original)
		})
		if at < 0 {
			p.events = append(p.events, event)
		} else if known := p.events[at]; cmp.Or(cmp.Compare(event.Sequence, known.Sequence), event.Stamp.Compare(known.Stamp)) > 0 {
			p.events[at] = event // a later version (RFC 5546, section 2.1.5)
		}
	}
	return nil
}

func (p *plan) problem(format string, args ...any) {
	if sentence := fmt.Sprintf(format, args...); !slices.Contains(p.problems, sentence) && len(p.problems) < maxMeetings {
		p.problems = append(p.problems, sentence)
	}
}

// complete takes the link of an event that has none from the text of the message, and
// returns why the event cannot be scheduled, or "".
func (c *content) complete(event *calendar.Event) (problem string) {
	for _, link := range c.links {
		if event.MeetingURL == "" && len(c.links) == 1 ||
			meetinglink.Same(event.MeetingURL, link) && meetinglink.MoreComplete(link, event.MeetingURL) {
			event.MeetingURL = link
			_, event.Platform, _ = calendar.FindMeeting(link, c.hosts...)
		}
	}
	event.LinkProblem = cmp.Or(event.LinkProblem, c.problem)
	if len(c.links) > 1 {
		event.LinkProblem = "The text of the message has several meeting links."
	}
	if obstacle := event.Obstacle(); obstacle != "" {
		return obstacle
	}
	invite := event.Invite()
	invite.OrganizerEmail = cmp.Or(event.Organizer, c.from)
	if _, err := invite.Normal(); err != nil {
		if refused, ok := errors.AsType[*job.Error](err); ok {
			return "cannot be scheduled: " + refused.Message
		}
	}
	return ""
}

// title names an event in a sentence.
func title(event calendar.Event) string {
	if event.Summary == "" {
		return "The event"
	}
	return "“" + event.Summary + "”"
}
