package calendarsync

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"standin/internal/base/text"
	"standin/internal/calendar"
)

// Condition is what meetings of a calendar need to get a bot.
type Condition string

// The conditions.
const (
	RecordAll       Condition = "all"       // nothing
	RecordAccepted  Condition = "accepted"  // the owner organizes it or has accepted it
	RecordOrganized Condition = "organized" // the owner organizes it
	RecordExternal  Condition = "external"  // with somebody of another domain than the owner's
	RecordInternal  Condition = "internal"  // with nobody of another domain
	RecordPublic    Condition = "public"    // it is not private
	RecordNone      Condition = "none"      // a person switches it on
)

// DefaultOptOut is the default of Rules.OptOut.
const DefaultOptOut = "#nobot"

// Rules decide which meetings of a calendar get a bot. All that are set must be met. A
// meeting that its owner has declined gets none.
type Rules struct {
	Record          []Condition `json:"record"`           // all must hold; nil for the default, see Conditions
	Aliases         []string    `json:"aliases,omitzero"` // further mail addresses of the owner
	TitleMatches    string      `json:"titleMatches"`     // regular expression (RE2), ignoring case; empty for any title
	MinParticipants int         `json:"minParticipants"`  // organizer included; 0 for any number
	OptOut          string      `json:"optOut"`           // in a title or description, ignoring case; empty for none

	// Invite is the mail address of an account that is added to meetings that get a bot and that the owner organizes; empty for
	// none. The access to the calendar must permit it.
	Invite string `json:"invite,omitempty"`
	// TellOrganizer is how many minutes before such a meeting its organizer is told by mail that a bot comes; 0 for never.
	TellOrganizer int `json:"tellOrganizer,omitempty"`
}

// DefaultRules returns the rules of a calendar that sets none.
func DefaultRules() Rules { return Rules{OptOut: DefaultOptOut} }

// Conditions returns the conditions that apply to the calendar of an owner, whose mail
// address is empty if it is unknown.
func (r Rules) Conditions(owner string) []Condition {
	switch {
	case r.Record != nil:
		return r.Record
	case owner == "":
		return []Condition{RecordPublic}
	}
	return []Condition{RecordAccepted, RecordPublic}
}

// needsEmail returns the first condition that needs the mail address of the calendar's
// owner; empty without one.
func (r Rules) needsEmail() Condition {
	for _, c := range r.Record {
		if c != RecordAll && c != RecordPublic && c != RecordNone {
			return c
		}
	}
	return ""
}

// compileTitle compiles TitleMatches.
func (r Rules) compileTitle() (*regexp.Regexp, error) { return regexp.Compile("(?i)" + r.TitleMatches) }

// Decider returns what decides about an event of the calendar of an owner, and counts who
// takes part. It is pure. The owner is a mail address in lower case, or empty if it is unknown.
func (r Rules) Decider(owner string) func(e calendar.Event) (verdict Verdict, people int) {
	title, _ := r.compileTitle() // its error is a verdict
	conditions := r.Conditions(owner)
	all := "the calendar records all meetings"
	if slices.Contains(conditions, RecordPublic) {
		all += " but private ones"
	}
	if r.Record == nil && owner == "" {
		all += ", because the email address of its owner is unknown"
	}
	organization := func(address string) string { return Organization(address[strings.LastIndexByte(address, '@')+1:]) }
	return func(e calendar.Event) (verdict Verdict, people int) {
		addresses := participants(e)
		people = len(addresses)
		response := r.responseOf(e, owner)
		organizes := r.isOwner(owner, e.Organizer)
		outside := slices.ContainsFunc(addresses, func(address string) bool {
			return !r.isOwner(owner, address) && organization(address) != organization(owner)
		})
		no := func(format string, args ...any) (Verdict, int) {
			return Verdict{Reason: fmt.Sprintf(format, args...)}, people
		}
		switch {
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
		case owner == "" && r.needsEmail() != "":
			return no("the rule “%s” needs the email address of the calendar's owner", r.needsEmail())
		}
		accepted := "you have accepted it"
		if organizes {
			accepted = organized
		}
		var met []string
		for _, c := range conditions {
			rule := map[Condition]struct {
				met     bool
				yes, no string
			}{
				RecordAll:       {true, "", ""},
				RecordAccepted:  {organizes || response == "accepted", accepted, "you have not accepted it"},
				RecordOrganized: {organizes, organized, "you do not organize it"},
				RecordExternal:  {outside, someoneElse, nobodyElse},
				RecordInternal:  {!outside, nobodyElse, someoneElse},
				RecordPublic:    {!e.Private, "", "it is private"},
				RecordNone:      {false, "", "the calendar records only meetings that are switched on"},
			}[c]
			if !rule.met {
				return no("%s", rule.no)
			}
			if rule.yes != "" {
				met = append(met, rule.yes)
			}
		}
		return Verdict{Record: true, Reason: cmp.Or(strings.Join(met, " and "), all)}, people
	}
}

const (
	someoneElse = "somebody of another organization takes part"
	nobodyElse  = "nobody of another organization takes part"
	organized   = "you organize it"
)

// isOwner reports whether a mail address is one of the calendar's owner.
func (r Rules) isOwner(owner, address string) bool {
	same := func(own string) bool { return address != "" && strings.EqualFold(own, address) }
	return same(owner) || slices.ContainsFunc(r.Aliases, same)
}

// responseOf returns the response of the calendar's owner to an event: a PARTSTAT in
// lower case, or empty if it is unknown. A decision at one address counts for all.
func (r Rules) responseOf(e calendar.Event, owner string) (found string) {
	for _, address := range append([]string{owner}, r.Aliases...) {
		response := strings.ToLower(e.Responses[strings.ToLower(address)])
		if found == "" || response == "accepted" || response == "declined" && found != "accepted" {
			found = response
		}
	}
	return found
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

// Organization returns the organizational domain of a domain: the one below a public suffix (RFC 7489,
// section 3.2). It returns the domain if there is none.
func Organization(domain string) string {
	domain = strings.ToLower(strings.TrimSuffix(domain, "."))
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
