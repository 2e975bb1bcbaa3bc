package mail

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // decodes texts that are not UTF-8
	"github.com/emersion/go-message/mail"

	"standin/internal/base/text"
	"standin/internal/calendar"
)

// Limits of what is read of a message, far above those of real invitations.
const (
	maxHeader    = 256 << 10 // bytes
	maxNesting   = 8
	maxParts     = 100
	maxTextBytes = 256 << 10 // of all text parts; the rest is ignored
	maxCalendars = 20        // parts
	maxSubject   = 300       // characters that are kept
	maxRefers    = 50
)

// content is a parsed mail message. Parts that cannot be decoded are read as far
// as possible.
type content struct {
	header  mail.Header
	id      string   // Message-ID without angle brackets; may be empty
	subject string   // control characters are removed
	from    string   // mail address in lower case; empty unless the message has exactly one author
	refers  []string // message IDs in In-Reply-To and References

	sent time.Time // Date; zero if it is unreadable

	hosts     []string       // of meetings, beside those of the platforms
	calendars []calendarPart // without copies
	links     []string       // of the different meetings in text and HTML parts
	problem   string         // why a known link in these cannot be used; may be empty
	closed    string         // what to do about a part in a format that hides the calendar; empty without one
	framed    bool           // a multipart whose body begins with its boundary
	unsealed  bool           // calendars are left out, because others may have written the structure of the body
	parts     int
	textBytes int // that were read of text and HTML parts
}

// calendarPart is a part with a calendar.
type calendarPart struct {
	text   []byte
	method string // of its Content-Type, which applies if the calendar has none; may be empty
}

// ErrMalformed is the error for a message that violates RFC 5322.
var ErrMalformed = errors.New("the message is malformed")

// parseMessage parses a message. meetingHosts are those of Policy.
func parseMessage(raw []byte, meetingHosts []string) (*content, error) {
	c, entity, err := parseHeader(raw)
	if err == nil {
		c.hosts = meetingHosts
		c.read(entity, 0)
	}
	return c, err
}

// parseHeader parses the header of a message, and returns the message to read.
func parseHeader(raw []byte) (*content, *message.Entity, error) {
	entity, err := readEntity(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, err
	}
	c := &content{header: mail.Header{Header: entity.Header}}
	c.id, _ = c.header.MessageID()
	subject, err := c.header.Subject()
	if err != nil {
		subject = c.header.Get("Subject")
	}
	c.subject = printable(subject, maxSubject)
	// A message with several authors or From fields has none, because the authenticated one would be unclear.
	if authors, err := c.header.AddressList("From"); err == nil && len(authors) == 1 && c.header.FieldsByKey("From").Len() == 1 {
		c.from = strings.ToLower(authors[0].Address)
	}
	c.sent, _ = c.header.Date()
	for _, name := range []string{"In-Reply-To", "References"} {
		ids, _ := c.header.MsgIDList(name)
		c.refers = append(c.refers, ids[:min(len(ids), maxRefers)]...)
	}
	c.framed = isFramed(entity.Header, raw)
	return c, entity, nil
}

// isFramed reports whether a message is a multipart whose body begins with its
// boundary.
func isFramed(header message.Header, raw []byte) bool {
	kind, parameters, err := header.ContentType()
	if err != nil || !strings.HasPrefix(kind, "multipart/") || parameters["boundary"] == "" {
		return false
	}
	_, body, _ := bytes.Cut(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n")), []byte("\n\n"))
	first, _, _ := bytes.Cut(bytes.TrimLeft(body, "\n"), []byte("\n"))
	return string(bytes.TrimRight(first, " \t")) == "--"+parameters["boundary"]
}

// readEntity parses the header of a message or of a forwarded one.
func readEntity(r io.Reader) (*message.Entity, error) {
	entity, err := message.ReadWithOptions(r, &message.ReadOptions{MaxHeaderBytes: maxHeader})
	if entity == nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return entity, nil // a body with an unknown charset or encoding stays as it is
}

// read collects the calendars and texts of a part and of the parts in it.
func (c *content) read(entity *message.Entity, depth int) {
	if c.parts++; c.parts > maxParts || depth > maxNesting {
		return
	}
	if parts := entity.MultipartReader(); parts != nil {
		for c.parts <= maxParts {
			part, err := parts.NextPart()
			if part == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
				return
			}
			c.read(part, depth+1)
		}
		return
	}
	kind, parameters, _ := entity.Header.ContentType()
	_, disposition, _ := entity.Header.ContentDisposition()
	name := strings.ToLower(cmp.Or(disposition["filename"], parameters["name"]))
	switch {
	case kind == "message/rfc822", strings.HasSuffix(name, ".eml"):
		if inner, err := readEntity(entity.Body); err == nil {
			c.read(inner, depth+1)
		}
	case kind == "text/calendar", kind == "application/ics", kind == "text/x-vcalendar", strings.HasSuffix(name, ".ics"),
		strings.HasSuffix(name, ".vcs"):
		c.addCalendar(readAll(entity.Body, calendar.MaxICS+1), parameters["method"]) // the parser refuses what is incomplete
	case kind == "application/ms-tnef", kind == "application/vnd.ms-tnef", name == "winmail.dat":
		c.closed = "The message has a winmail.dat attachment, whose calendar only Outlook can read. Send the invitation as HTML or plain text, or attach it as an .ics file."
	case kind == "application/vnd.ms-outlook", strings.HasSuffix(name, ".msg"):
		c.closed = "The message has an Outlook item (.msg), whose calendar only Outlook can read. Invite this address to the meeting, or attach the invitation as an .ics file."
	case kind == "application/pkcs7-mime", kind == "application/x-pkcs7-mime", strings.HasSuffix(name, ".p7m"):
		c.closed = "The message is encrypted, or its signature includes the text (S/MIME), so its calendar cannot be read. Send it without encryption and with a clear-text signature or none."
	case kind == "application/pgp-encrypted":
		c.closed = "The message is encrypted (PGP), so its calendar cannot be read. Send it without encryption."
	case kind == "text/plain", kind == "text/html", kind == "":
		text := readAll(entity.Body, maxTextBytes-c.textBytes)
		c.textBytes += len(text)
		const end = "END:VCALENDAR"
		if trimmed := bytes.TrimSpace(text); isCalendar(trimmed) && len(trimmed) > len(end) &&
			bytes.EqualFold(trimmed[len(trimmed)-len(end):], []byte(end)) { // nothing but a calendar
			c.addCalendar(trimmed, "")
			return
		}
		addresses, problem := calendar.FindMeetings(strings.ToValidUTF8(string(text), "\uFFFD"), c.hosts...)
		for _, address := range addresses {
			c.links = calendar.AddMeeting(c.links, address)
		}
		c.problem = cmp.Or(c.problem, problem)
	}
}

// readAll reads what can be decoded of a part, up to a limit.
func readAll(body io.Reader, limit int) []byte {
	text, _ := io.ReadAll(io.LimitReader(body, int64(limit)))
	return text
}

// addCalendar reads a calendar. Programs attach the calendar that they also send
// as a part, so copies are left out.
func (c *content) addCalendar(text []byte, method string) {
	text = bytes.TrimSpace(calendar.Text(text))
	isCopy := func(other calendarPart) bool { return bytes.Equal(other.text, text) }
	if !isCalendar(text) || len(c.calendars) >= maxCalendars || slices.ContainsFunc(c.calendars, isCopy) {
		return
	}
	c.calendars = append(c.calendars, calendarPart{text, method})
}

// isCalendar reports whether a text begins as a calendar. Others, such as replies that
// quote one, are not read.
func isCalendar(text []byte) bool {
	const begin = "BEGIN:VCALENDAR"
	return len(text) >= len(begin) && bytes.EqualFold(text[:len(begin)], []byte(begin))
}

// printable returns a text of at most limit characters on one line.
func printable(s string, limit int) string { return text.CleanLine(s, limit) }
