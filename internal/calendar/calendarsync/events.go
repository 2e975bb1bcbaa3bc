package calendarsync

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/text"
	"standin/internal/calendar"
	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
)

const (
	maxEvents = 1000 // meetings of a calendar in its window
	maxUID    = 1000 // bytes
	maxTitle  = 300  // characters
	readTime  = 20 * time.Second

	maxAttendees = 2000 // of a meeting that are counted
	maxGuests    = 200  // of a meeting among whom accounts are found
)

// meetingsOf returns the meetings of a calendar file from shortly before now until the
// end of the window, by their start. The error is a *calendarapi.Error.
func (w *Service) meetingsOf(c Calendar, file []byte, now time.Time) ([]Event, error) {
	budget := calendar.NewFeedBudget(time.Now().Add(readTime))
	parsed, err := calendar.ParseICS(file, budget, w.MeetingHosts...)
	if malformed, ok := errors.AsType[*calendar.ICSError](err); ok {
		if bytes.Contains(bytes.ToLower(file[:min(len(file), 1000)]), []byte("<html")) {
			return nil, unreadable("the address leads to a web page, not to a calendar: " +
				"copy the address in iCal format, which usually ends in .ics")
		}
		return nil, unreadable("the file is not a calendar that can be read: " + malformed.Reason)
	}
	if err != nil {
		return nil, unreadable("reading the calendar takes too long")
	}
	byUID, first := make(map[string][]calendar.Event), make(map[string]calendar.Event)
	for _, e := range parsed.Events {
		if e.UID = text.CleanLine(e.UID, len(e.UID)); e.UID == "" || len(e.UID) > maxUID {
			e.UID = uidOf(cmp.Or(e.UID, fmt.Sprint(e.Start, e.Summary, e.MeetingURL)))
		}
		known, ok := first[e.ID()]
		if !ok {
			first[e.ID()] = e
		} else if !e.Start.Equal(known.Start) && e.Sequence == known.Sequence && e.Modified.Equal(known.Modified) { // not a version of it
			e.UID = uidOf(fmt.Sprint(e.UID, e.Start))
		}
		byUID[e.UID] = append(byUID[e.UID], e)
	}
	from, to := now.Add(-PastWindow), now.Add(Window)
	var found []Event
	decide := c.Rules.Decider(c.Email)
	for _, uid := range slices.Sorted(maps.Keys(byUID)) {
		newest := make(map[time.Time]calendar.Event) // version of each event
		for _, e := range byUID[uid] {
			known, ok := newest[e.Original]
			if !ok || e.Sequence > known.Sequence || e.Sequence == known.Sequence && e.Modified.After(known.Modified) {
				newest[e.Original] = e
			}
		}
		events := slices.SortedFunc(maps.Values(newest), func(a, b calendar.Event) int { return a.Original.Compare(b.Original) })
		occurrences, err := calendar.Occurrences(events, from, to, budget)
		for _, e := range events { // those that can get no bot are listed too
			if unusable := e.Cancelled || e.AllDay || e.Problem != ""; unusable && !e.Start.IsZero() && e.During(from, to) {
				occurrences = append(occurrences, e)
			}
		}
		for i := 0; err == nil && i < len(occurrences); i++ {
			e := occurrences[i]
			err = budget.Spend(1 + min(len(e.Attendees), maxAttendees) + len(e.Summary) + len(e.Description)/16)
			found = append(found, newEvent(e, c, decide))
		}
		if err != nil {
			return nil, unreadable("the file is not a calendar that can be read: its meetings take too much work")
		}
	}
	return earliest(found), nil
}

// uidOf returns a UID that is made of what tells an event apart.
func uidOf(facts string) string { return uuid.NewSHA1(uuid.Nil, []byte(facts)).String() }

// earliest returns the meetings that are kept, by their start. If some are left out, the
// last one says so.
func earliest(found []Event) []Event {
	slices.SortStableFunc(found, func(a, b Event) int { return a.Start.Compare(b.Start) })
	if left := len(found) - maxEvents; left > 0 {
		found = found[:maxEvents+1]
		found[maxEvents].Problem = fmt.Sprintf("this and all later meetings, %d, are left out: a calendar can have %d in 30 days",
			left, maxEvents)
	}
	return found
}

// eventsOf returns the meetings of a calendar that an API has listed.
func eventsOf(c Calendar, listed []calendar.Event) []Event {
	found, decide := make(map[string]Event), c.Rules.Decider(c.Email)
	for _, e := range listed {
		e.UID = text.CleanLine(e.UID, len(e.UID))
		if e.UID == "" || len(e.UID) > maxUID || e.Start.IsZero() {
			continue
		}
		event := newEvent(e, c, decide)
		if known, ok := found[identity(event)]; !ok || compareVersions(event, known) > 0 {
			found[identity(event)] = event
		}
	}
	return earliest(slices.SortedFunc(maps.Values(found), func(a, b Event) int { return strings.Compare(identity(a), identity(b)) }))
}

// newEvent returns an event with what the rules of its calendar say. The title of a private
// one stays in the calendar.
func newEvent(e calendar.Event, c Calendar, decide func(calendar.Event) (Verdict, int)) Event {
	verdict, people := decide(e)
	problem := ""
	if obstacle := e.Obstacle(); e.Cancelled {
		problem = IsCancelled
	} else if obstacle != "" {
		problem = "it " + obstacle
	}
	if e.Private {
		e.Summary = ""
	}
	found := NewInvitation(e)
	found.Sequence, found.Modified, found.Organizer = e.Sequence, job.AsStored(e.Modified), strings.ToLower(e.Organizer)
	found.Attendees, found.Response = people, text.CleanLine(c.Rules.responseOf(e, c.Email), 30)
	found.Problem, found.ByRules = problem, verdict
	return found
}

// NewInvitation returns an occurrence of which mail tells.
func NewInvitation(e calendar.Event) Event {
	return Event{UID: e.UID, Original: e.Original, Facts: Facts{
		Sequence: Unversioned, Title: text.CleanLine(e.Summary, maxTitle), Organizer: e.Organizer,
		Start: job.AsStored(e.Start), End: job.AsStored(e.End), Zone: e.Zone,
		MeetingURL: e.MeetingURL, Platform: e.Platform, Guests: guestsOf(e), ByRules: Invited,
	}}
}

// guestsOf returns the signin.GuestKeys of the first attendees, in an order that does not depend on that of the calendar.
func guestsOf(e calendar.Event) string {
	var keys []string
	for _, address := range e.Attendees[:min(len(e.Attendees), maxGuests)] {
		keys = append(keys, signin.GuestKey(address))
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), " ")
}

// Changes counts what a sync has changed.
type Changes struct {
	Added   int `json:"added"`
	Updated int `json:"updated"`
	Removed int `json:"removed"`
}

// confirmTime is for how long a calendar must not list an event before it is removed whose bot is in its meeting,
// or is about to be: lists come back empty, and events with other UIDs.
const confirmTime = 30 * time.Second

// unsure reports whether an event that was not read is to be looked for once more.
func (e Event) unsure(now time.Time) bool {
	hasBot := e.Job.Dispatched() || e.Job != "" && e.Start.Before(now.Add(15*time.Minute))
	return hasBot && !e.Job.Terminal() && e.End.After(now) && (e.MissingSince.IsZero() || now.Before(e.MissingSince.Add(confirmTime)))
}

// compare returns the events to save so that those of a calendar are as read. It reports whether
// the calendar is to be read again soon, because an event is missing whose bot would leave.
func compare(known, read []Event, now time.Time) (save []Event, changes Changes, unsure bool) {
	missing := make(map[string]Event) // known events that were not read
	for _, e := range known {
		missing[identity(e)] = e
	}
	var added []Event
	for _, e := range read {
		old, ok := missing[identity(e)]
		delete(missing, identity(e))
		switch {
		case !ok:
			added = append(added, e)
		case old.Facts != e.Facts || old.Removed:
			changes.Updated++
			save = append(save, updated(old, e, now))
		case !old.MissingSince.IsZero() || old.Record && old.Job == job.Cancelled && old.End.After(now):
			old.MissingSince = time.Time{}
			save = append(save, old)
		}
	}
	moved := make(map[string]Event) // those of missing that are occurrences, by their day
	for _, e := range missing {
		moved[dayOf(e)] = e
	}
	for _, e := range added {
		// the whole series was moved to another time of day
		if old, ok := moved[dayOf(e)]; ok && !e.Original.IsZero() && missing[identity(old)].ID == old.ID {
			delete(missing, identity(old))
			changes.Updated++
			save = append(save, updated(old, e, now))
			continue
		}
		changes.Added++
		e.ID, e.UpdatedAt = job.NewID(), now
		save = append(save, e)
	}
	for _, id := range slices.Sorted(maps.Keys(missing)) {
		e := missing[id]
		if e.Removed {
			continue
		}
		if e.unsure(now) {
			unsure = true
			if e.MissingSince.IsZero() {
				e.MissingSince = now
				save = append(save, e)
			}
			continue
		}
		if e.End.After(now) {
			changes.Removed++
		}
		e.Removed, e.UpdatedAt = true, now
		save = append(save, e)
	}
	return save, changes, unsure
}

// updated returns a known event with what was read.
func updated(known, read Event, now time.Time) Event {
	known.Original, known.Facts, known.Removed, known.MissingSince, known.UpdatedAt = read.Original, read.Facts, false, time.Time{}, now
	return known
}

// dayOf identifies the day of an occurrence of a series within its calendar; empty for
// other events.
func dayOf(e Event) string {
	if e.Original.IsZero() {
		return ""
	}
	return e.UID + "\n" + e.Original.In(calendar.Location(e.Zone)).Format(time.DateOnly)
}

// identity identifies an event within its calendar.
func identity(e Event) string { return fmt.Sprintf("%s\n%d", e.UID, e.Original.UnixMilli()) }
