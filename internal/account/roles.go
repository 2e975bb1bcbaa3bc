package account

import "slices"

// Role is what a user may do in the team. Each role includes the ones before it.
type Role string

// The roles of users.
const (
	Viewer Role = "viewer" // see jobs and recordings
	Member Role = "member" // also send and control bots, connect calendars, and delete recordings
	Admin  Role = "admin"  // also manage keys, webhooks and users
)

// Roles returns all roles.
func Roles() []Role { return []Role{Viewer, Member, Admin} }

// Allows reports whether a user with this role may do what needs another one.
func (r Role) Allows(needed Role) bool {
	own := slices.Index(Roles(), r)
	return own >= 0 && own >= slices.Index(Roles(), needed)
}

// Scope returns the scope of the keys of a user with this role.
func (r Role) Scope() Scope {
	switch r {
	case Admin:
		return AdminScope
	case Member:
		return JobsScope
	case Viewer:
	}
	return ReadScope
}
