package calendar

import (
	"cmp"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

// NoSubject is the subject of an invite that has none.
const NoSubject = "(no subject)"

// maxEmail is the length of the longest mail address, in bytes (RFC 5321,
// section 4.5.3.1.3, without the angle brackets).
const maxEmail = 254

// Invite is the CalendarInvite schema of api/openapi.yaml: it requests a bot for one
// meeting at one time.
type Invite struct {
	OrganizerEmail string       `json:"organizerEmail"`
	Subject        string       `json:"subject,omitempty"` // NoSubject when blank
	MeetingURL     string       `json:"meetingUrl"`
	Platform       job.Platform `json:"platform"` // meet, teams or zoom-web
	JoinAt         time.Time    `json:"joinAt"`
	EndsAt         time.Time    `json:"endsAt,omitzero"`        // unknown unless it is after JoinAt
	ICalUID        string       `json:"icalUid,omitempty"`      // UID of the calendar event; empty if unknown
	RecurrenceID   string       `json:"recurrenceId,omitempty"` // of an occurrence of a recurring event; empty for other events
	Cancelled      bool         `json:"cancelled,omitempty"`    // the meeting does not take place
}

// Kind is the result of an invite.
type Kind string

// The kinds of results.
const (
	Scheduled         Kind = "scheduled" // a new job; the others name an existing one
	Deduped           Kind = "deduped"
	FreeTierExhausted Kind = "free_tier_exhausted"
)

// Result is the response to an invite.
type Result struct {
	Kind       Kind      `json:"kind"`
	JobID      uuid.UUID `json:"jobId"`
	ConsumerID uuid.UUID `json:"consumerId"`
	Dismissed  bool      `json:"dismissed,omitempty"` // the consumer has cancelled the job, and no other is created
}

// Normal returns the invite in its canonical form: organizer in lower case,
// time in UTC and whole milliseconds, without surrounding spaces. It returns a
// *job.Error with InvalidInput that names the invalid field, if any. An invite
// that matches the API's schema is valid unless mail cannot be sent to its
// organizer.
func (i Invite) Normal() (Invite, error) {
	i.OrganizerEmail = strings.ToLower(strings.TrimSpace(i.OrganizerEmail))
	i.MeetingURL = strings.TrimSpace(i.MeetingURL)
	i.ICalUID = strings.TrimSpace(i.ICalUID)
	i.RecurrenceID = strings.TrimSpace(i.RecurrenceID)
	if strings.TrimSpace(i.Subject) == "" {
		i.Subject = NoSubject
	}
	i.JoinAt = job.AsStored(i.JoinAt)
	switch {
	case !validEmail(i.OrganizerEmail):
		return i, invalid("organizerEmail", "the organizer's email address is not a mail address")
	case !validMeetingURL(i.MeetingURL):
		return i, invalid("meetingUrl", "the meeting URL is not an http or https URL with a host")
	case i.Platform != job.Meet && i.Platform != job.Teams && i.Platform != job.ZoomWeb:
		return i, invalid("platform", "the platform is not meet, teams or zoom-web")
	case i.JoinAt.IsZero() || i.JoinAt.Year() < 0 || i.JoinAt.Year() > 9999:
		return i, invalid("joinAt", "the time is missing or outside the years 0 to 9999")
	}
	return i, nil
}

func invalid(field, message string) error {
	return job.NewInvalidInput(message, field)
}

// validEmail reports whether text is a bare mail address.
func validEmail(text string) bool {
	if len(text) > maxEmail || strings.ContainsFunc(text, unicode.IsControl) {
		return false
	}
	address, err := mail.ParseAddress(text)
	return err == nil && address.Address == text
}

// validMeetingURL reports whether text is an http or https URL with a host.
func validMeetingURL(text string) bool {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" ||
		strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return false
	}
	_, err = strconv.ParseUint(cmp.Or(parsed.Port(), "0"), 10, 16)
	return err == nil
}
