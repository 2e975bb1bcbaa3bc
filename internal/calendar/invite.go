package calendar

import (
	"crypto/sha256"
	"encoding/hex"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"standin/internal/job"
)

// NoSubject is the subject of an invite that has none (specification,
// CalendarInvite).
const NoSubject = "(no subject)"

// maxEmail is the length of the longest mail address, in bytes (RFC 5321,
// section 4.5.3.1.3, less the angle brackets).
const maxEmail = 254

// Invite asks for a bot in one meeting at one time.
type Invite struct {
	OrganizerEmail string
	Subject        string // NoSubject when blank
	MeetingURL     string
	Platform       job.Platform // meet, teams or zoom-web
	JoinAt         time.Time
	ICalUID        string // of the calendar's event; empty when not known
}

// Kind is what became of an invite (specification, IntakeResult).
type Kind string

// The kinds of the specification.
const (
	Scheduled         Kind = "scheduled" // a new job; the others name one that is there
	Deduped           Kind = "deduped"
	FreeTierExhausted Kind = "free_tier_exhausted"
)

// Result says what became of an invite.
type Result struct {
	Kind       Kind      `json:"kind"`
	JobID      uuid.UUID `json:"jobId"`
	ConsumerID uuid.UUID `json:"consumerId"`
}

// Normal returns the invite in the form in which it is compared and kept:
// organizer in lower case, time in UTC and whole milliseconds, blanks around
// values cut off. A *job.Error with InvalidInput names the field of an invite
// that cannot be used; one that passed the API's schema can, unless its
// organizer is no address that mail could be sent to.
func (i Invite) Normal() (Invite, error) {
	i.OrganizerEmail = strings.ToLower(strings.TrimSpace(i.OrganizerEmail))
	i.MeetingURL = strings.TrimSpace(i.MeetingURL)
	i.ICalUID = strings.TrimSpace(i.ICalUID)
	if strings.TrimSpace(i.Subject) == "" {
		i.Subject = NoSubject
	}
	i.JoinAt = i.JoinAt.UTC().Truncate(time.Millisecond)
	return i, i.check()
}

// check is the error for an invite that cannot be used.
func (i Invite) check() error {
	switch {
	case !validEmail(i.OrganizerEmail):
		return invalid("organizerEmail", "the organizer's e-mail is no mail address")
	case !validMeetingURL(i.MeetingURL):
		return invalid("meetingUrl", "the meeting's address is no http or https URL with a host")
	case i.Platform != job.Meet && i.Platform != job.Teams && i.Platform != job.ZoomWeb:
		return invalid("platform", "the platform is none of meet, teams and zoom-web")
	case i.JoinAt.IsZero() || i.JoinAt.Year() < 0 || i.JoinAt.Year() > 9999:
		return invalid("joinAt", "the time is missing or beyond the years that can be written")
	}
	return nil
}

func invalid(field, message string) error {
	return &job.Error{Code: job.InvalidInput, Message: message, Path: []any{field}}
}

// validEmail reports whether text is one bare mail address.
func validEmail(text string) bool {
	if len(text) > maxEmail || strings.ContainsFunc(text, unicode.IsControl) {
		return false
	}
	address, err := mail.ParseAddress(text)
	return err == nil && address.Address == text
}

func validMeetingURL(text string) bool {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return false
	}
	parsed, err := url.Parse(text)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Hostname() != ""
}

// Key is what a normal invite is known by: its icalUid and time, or without an
// icalUid its meeting and time (contract, Accounts). Of one consumer's
// invites, those with the same key ask for the same job.
func (i Invite) Key() string {
	kind, name := "uid", i.ICalUID
	if name == "" {
		kind, name = "url", i.MeetingURL
	}
	// The time comes last and holds no line break, so no two invites spell the same.
	sum := sha256.Sum256([]byte(kind + "\n" + name + "\n" + strconv.FormatInt(i.JoinAt.UnixMilli(), 10)))
	return hex.EncodeToString(sum[:])
}
