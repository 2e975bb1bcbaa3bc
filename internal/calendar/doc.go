// Package calendar parses calendar invites: the JSON of POST /calendar/invites,
// calendar files (RFC 5545), and invitations pasted as text. It decides whether
// an invite can be used and how it is identified. It is pure, and creates no
// jobs.
//
// It has a parser of its own because invites in mail are often malformed.
// github.com/arran4/golang-ical and github.com/emersion/go-ical reject whole
// files of the test corpus for one malformed line, and golang-ical accepts files
// that are cut off.
package calendar
