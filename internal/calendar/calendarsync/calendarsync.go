// Package calendarsync keeps the jobs of a team as the calendars ask that it has
// connected. A worker reads each calendar at intervals, decides by the calendar's rules
// which meetings get a bot, and has the jobs changed.
//
// The recurrence, zones and links of events are those of package calendar, and jobs are
// created, moved and cancelled as for invites. See docs/calendars.md.
package calendarsync

import (
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar/calendarapi"
	"standin/internal/jobs/job"
)

// Window is how far ahead meetings are scheduled.
const Window = 30 * 24 * time.Hour

// PastWindow is how long ended meetings stay listed.
const PastWindow = 24 * time.Hour

// Bounds of Calendar.Poll.
const (
	MinPoll     = time.Minute
	DefaultPoll = 5 * time.Minute
	MaxPoll     = 15 * time.Minute
)

// MaxCalendars limits the calendars of a team.
const MaxCalendars = 100

// Feed is the provider of calendars that are read at an address in iCal format. The
// others are those of package calendarapi, and the ways in which invitations come.
const (
	Feed   calendarapi.Provider = "feed"
	Mail   calendarapi.Provider = "mail"
	Intake calendarapi.Provider = "intake" // by the API
)

// State is whether a calendar is read.
type State string

// The states of calendars.
const (
	Waiting State = "waiting" // not read yet
	Active  State = "active"
	Failing State = "failing" // the last read has failed; Calendar.Error says why
	Revoked State = "revoked" // the owner has to permit again that it is read
)

// Calendar is a calendar that a team has connected.
type Calendar struct {
	ID         uuid.UUID
	ConsumerID uuid.UUID
	Name       string
	Provider   calendarapi.Provider
	Sealed     string // the address of the feed, or the Access to the API, encrypted with a Key
	Address    string // where it is, without what is secret, for people
	Email      string // of its owner, in lower case; empty if unknown
	Rules      Rules
	Job        JobOptions
	Poll       time.Duration
	CreatedAt  time.Time

	Sync
}

// Sync is the progress of reading a calendar.
type Sync struct {
	State      State
	Error      string // why the last read has failed, for people
	Failures   int    // in a row
	Validators Validators
	Watch      calendarapi.Watch // of an API
	Invited    string            // keys of the meetings to which an account was added, the newest last
	ReadAt     time.Time         // when it was read completely; zero if it was not
	SyncedAt   time.Time         // when it was read successfully, also if nothing had changed
	DueAt      time.Time         // when it is read next, or when the lease ends
	Revision   int               // of the settings
	Lease      string
	Deleted    bool // its jobs are cancelled before it is removed
}

// Validators let a calendar answer that it has not changed: those of a feed (RFC 9110,
// section 13), or the position of an API.
type Validators struct {
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"lastModified,omitempty"`
	Position     string `json:"position,omitempty"`
}

// maxInvited is the length of Sync.Invited.
const maxInvited = 4000

// JobOptions are the settings of the jobs of a calendar. Empty ones leave those of the
// consumer, or else of the service, as they are.
type JobOptions struct {
	DisplayName string         `json:"displayName,omitempty"`
	Webhooks    job.Webhooks   `json:"webhooks,omitzero"`
	AutoLeave   *job.AutoLeave `json:"autoLeave,omitempty"`
	job.Options
}

// Event is a meeting in a calendar: an event, or an occurrence of a series.
type Event struct {
	ID         uuid.UUID
	CalendarID uuid.UUID
	Provider   calendarapi.Provider // of the calendar
	UID        string
	Original   time.Time // when the occurrence of a series originally started; zero for other events

	Facts
	UpdatedAt time.Time // when the facts changed

	Override     *bool     // whether a person wants a bot; nil if the rules decide
	Removed      bool      // the calendar no longer has it
	MissingSince time.Time // when the calendar first did not list it, while a bot is in its meeting; zero otherwise

	DecidedStart time.Time // Start when it was decided last; zero before
	Wanted       bool      // whether the events of the meeting ask for the job
	Record       bool      // whether a bot comes, whoever asks for it
	Reason       string    // why, as a sentence
	JobID        uuid.UUID
	Job          job.Status // of the job; empty without one
	JobAt        time.Time  // when the job is due

	Sources []string // where the meeting is known from: Service sets it for those who ask for events
}

// Facts are what a calendar says about an event.
type Facts struct {
	Sequence   int // Unversioned if it is not known
	Modified   time.Time
	Title      string
	Organizer  string // mail address; empty if there is none
	Start      time.Time
	End        time.Time
	Zone       string // IANA name; empty if unknown
	MeetingURL string // empty if it has none
	Platform   job.Platform
	Attendees  int
	Guests     string // signin.GuestKeys of the first attendees
	Response   string // of the calendar's owner: PARTSTAT in lower case; empty if unknown
	Problem    string // why it can get no bot, such as "it has no link to a meeting"; empty if it can
	ByRules    Verdict
}

// Unversioned is the Facts.Sequence of an event whose revision is not known: what was said
// last counts.
const Unversioned = -1

// IsInvitation reports whether an event is known from an invitation, and not from a calendar
// that the team has connected.
func (e Event) IsInvitation() bool { return e.Provider == Mail || e.Provider == Intake }

// IsCancelled is the Facts.Problem of a cancelled event.
const IsCancelled = "it is cancelled"

// Verdict is what the rules of a calendar say about an event.
type Verdict struct {
	Record bool
	Reason string // without "recorded" or "not recorded"
}

// Invited is the verdict about an invitation.
var Invited = Verdict{Record: true, Reason: "there is an invitation"}

// Meeting identifies the events of a team's calendars that are the same meeting.
type Meeting struct {
	ConsumerID uuid.UUID
	UID        string
	Original   time.Time
}

// Arrival is a bot that comes to a meeting soon.
type Arrival struct {
	EventID    uuid.UUID
	ConsumerID uuid.UUID
	Organizer  string // mail address
	Title      string
	Start      time.Time
	Zone       string // IANA name; empty if unknown
	Platform   job.Platform
	Bot        string // its name in the meeting
	Rules      Rules  // of the calendar
}
