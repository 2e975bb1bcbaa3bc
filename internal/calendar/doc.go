// Package calendar reads calendar invites: the one that an intake worker posts
// as JSON (specification, CalendarInvite) and the calendar text that comes with
// mail (RFC 5545). It says whether an invite can be used and by what it is
// known again.
//
// It is pure: it knows no database, no HTTP and no mail, and makes no jobs.
package calendar
