package calendarsync

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"standin/internal/base/text"
	"standin/internal/calendar"
)

// Record is which meetings of a calendar get a bot.
type Record string

// The values of Record.
const (
	RecordAll       Record = "all"       // also those that the owner has not answered
	RecordExternal  Record = "external"  // with somebody of another domain than the owner's
	RecordInternal  Record = "internal"  // with nobody of another domain
	RecordOrganized Record = "organized" // that the owner organizes
	RecordAccepted  Record = "accepted"  // that the owner organizes or has accepted
	RecordNone      Record = "none"      // only those that a person switches on
)

// DefaultOptOut is the default of Rules.OptOut.
const DefaultOptOut = "#nobot"

// Rules decide which meetings of a calendar get a bot. All that are set must be met. A
// meeting that its owner has declined gets none.
type Rules struct {
	Record          Record `json:"record"`
	TitleMatches    string `json:"titleMatches"`    // regular expression (RE2), ignoring case; empty for any title
	MinParticipants int    `json:"minParticipants"` // organizer included; 0 for any number
	OptOut          string `json:"optOut"`          // in a title or description, ignoring case; empty for none
}

// DefaultRules returns the rules of a calendar that sets none.
func DefaultRules() Rules { return Rules{Record: RecordAll, OptOut: DefaultOptOut} }

// needsEmail reports whether the rules need the mail address of the calendar's owner.
func (r Rules) needsEmail() bool { return r.Record != RecordAll && r.Record != RecordNone }

// compileTitle compiles TitleMatches.
func (r Rules) compileTitle() (*regexp.Regexp, error) { return regexp.Compile("(?i)" + r.TitleMatches) }

// Decider returns what decides about an event of the calendar of an owner, and counts who
// takes part. It is pure. The owner is a mail address in lower case, or empty if it is unknown.
func (r Rules) Decider(owner string) func(e calendar.Event) (verdict Verdict, people int) {
	title, _ := r.compileTitle() // its error is a verdict
	return func(e calendar.Event) (verdict Verdict, people int) {
		addresses := participants(e)
		people = len(addresses)
		response := responseOf(e, owner)
		organizes := owner != "" && strings.EqualFold(e.Organizer, owner)
		outside := slices.ContainsFunc(addresses, func(address string) bool { return organization(address) != organization(owner) })
		no := func(format string, args ...any) (Verdict, int) {
			return Verdict{Reason: fmt.Sprintf(format, args...)}, people
		}
		switch {
		case r.Record == RecordNone:
			return no("the calendar records only meetings that are switched on")
		case r.OptOut != "" && (contains(e.Summary, r.OptOut) || contains(e.Description, r.OptOut)):
			return no("it says %s", r.OptOut)
		case response == "declined":
			return no("you declined")
		case title == nil:
			return no("the title cannot be compared with the rule")
		case !title.MatchString(text.CleanLine(e.Summary, maxTitle)):
			return no("its title does not match the rule")
		case people < r.MinParticipants:
			return no("it has %s, and the rule asks for %d", text.Count(people, "participant"), r.MinParticipants)
		case r.needsEmail() && owner == "":
			return no("the calendar has no email address of its owner")
		case r.Record == RecordExternal && !outside:
			return no("nobody of another organization takes part")
		case r.Record == RecordInternal && outside:
			return no("somebody of another organization takes part")
		case r.Record == RecordOrganized && !organizes:
			return no("you do not organize it")
		case r.Record == RecordAccepted && !organizes && response != "accepted":
			return no("you have not accepted it")
		}
		return Verdict{Record: true, Reason: map[Record]string{
			RecordAll: "the calendar records all meetings", RecordExternal: "somebody of another organization takes part",
			RecordInternal: "nobody of another organization takes part", RecordOrganized: "you organize it", RecordAccepted: "you have accepted it",
		}[r.Record]}, people
	}
}

// responseOf returns the response of the calendar's owner to an event: a PARTSTAT in
// lower case, or empty if it is unknown.
func responseOf(e calendar.Event, owner string) string {
	if owner == "" {
		return ""
	}
	return strings.ToLower(e.Responses[owner])
}

// participants returns the mail addresses of those who take part, the organizer included,
// of the first maxAttendees. Those who have declined do not.
func participants(e calendar.Event) []string {
	found := make(map[string]bool)
	for _, address := range append([]string{e.Organizer}, e.Attendees[:min(len(e.Attendees), maxAttendees)]...) {
		address = strings.ToLower(address)
		if address != "" && !strings.EqualFold(e.Responses[address], "DECLINED") {
			found[address] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}

// organization returns the registrable domain of a mail address.
func organization(address string) string {
	domain := strings.ToLower(address[strings.LastIndexByte(address, '@')+1:])
	if registrable, err := publicsuffix.EffectiveTLDPlusOne(domain); err == nil {
		return registrable
	}
	return domain
}

func contains(text, word string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(word))
}

// Decide returns what becomes of a meeting that is in some calendars of a team, and the
// event that has its newest facts. A person who switches a meeting off decides for the
// team, and one who switches it on decides against the rules. Otherwise, the rules of one
// calendar are enough. It is pure.
func Decide(events []Event) (newest Event, record bool, reasons []string) {
	var current []Event
	for _, e := range events {
		if !e.Removed {
			current = append(current, e)
		}
	}
	reasons = make([]string, len(events))
	if len(current) == 0 {
		return Event{}, false, reasons
	}
	newest = slices.MaxFunc(current, compareVersions)
	unversioned := func(e Event) bool { return e.Sequence == Unversioned }
	if versioned := slices.DeleteFunc(slices.Clone(current), unversioned); len(versioned) > 0 { // then what was said last
		newest = slices.MaxFunc(versioned, compareVersions)
		for _, e := range current {
			if unversioned(e) && e.UpdatedAt.After(newest.UpdatedAt) {
				newest = e
			}
		}
	}
	shared := "" // the reason in all calendars, unless the rules decide
	switch {
	case newest.Problem == IsCancelled && newest.IsInvitation():
		shared = "not recorded: an invitation says that it is cancelled"
	case newest.Problem != "":
		shared = "not recorded: " + newest.Problem
	case Overridden(current, false):
		shared = "not recorded: it was switched off"
	case Overridden(current, true):
		record, shared = true, "recorded: it was switched on"
	default:
		record = slices.ContainsFunc(current, func(e Event) bool { return e.ByRules.Record })
	}
	for i, e := range events {
		switch {
		case e.Removed:
		case shared != "":
			reasons[i] = shared
		case e.ByRules.Record:
			reasons[i] = "recorded: " + e.ByRules.Reason
		case slices.ContainsFunc(current, func(e Event) bool { return e.ByRules.Record && !e.IsInvitation() }):
			reasons[i] = "recorded: another calendar of the team asks for it"
		case record:
			reasons[i] = ReasonOtherSource
		default:
			reasons[i] = "not recorded: " + e.ByRules.Reason
		}
	}
	return newest, record, reasons
}

// Overridden reports whether a person has switched a meeting on, or off, in one of the calendars
// that have it.
func Overridden(events []Event, to bool) bool {
	return slices.ContainsFunc(events, func(e Event) bool { return !e.Removed && e.Override != nil && *e.Override == to })
}

// ReasonOtherSource is the reason of a bot that the calendars do not ask for.
const ReasonOtherSource = "recorded: its bot was asked for in another way"

// compareVersions returns 1 if the facts of a are newer than those of b, and -1 if they
// are older (RFC 5546, section 2.1.5). Feeds write the time of the request as DTSTAMP, so
// LAST-MODIFIED counts.
func compareVersions(a, b Event) int {
	switch {
	case a.Sequence != b.Sequence:
		return a.Sequence - b.Sequence
	case !a.Modified.Equal(b.Modified):
		return a.Modified.Compare(b.Modified)
	}
	return a.UpdatedAt.Compare(b.UpdatedAt)
}
