// Package calendar parses calendar invites: the JSON of POST /calendar/invites,
// calendar files (RFC 5545), and invitations pasted as text. It decides whether
// an invite can be used and how it is identified. It does no I/O.
//
// It has a parser of its own because invites in mail are often malformed:
// github.com/arran4/golang-ical and github.com/emersion/go-ical reject a whole
// file for one malformed line, and golang-ical accepts truncated files.
package calendar
