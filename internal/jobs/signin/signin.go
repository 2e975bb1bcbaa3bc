// Package signin chooses the accounts with which bots sign in to meeting platforms. Operators and
// teams add them; a job borrows one for its bot. The package is pure: package store keeps the
// accounts, and package lifecycle lends them.
package signin

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
)

// Account is an identity on a platform with which a bot can sign in.
type Account struct {
	ID            uuid.UUID    `json:"id"`
	ConsumerID    uuid.UUID    `json:"teamId,omitzero"` // the team to which it belongs; uuid.Nil for the operator
	Teams         []string     `json:"teams,omitempty"` // that may use an account of the operator, by name; empty: all
	Platform      job.Platform `json:"platform"`
	Label         string       `json:"label"`
	Address       string       `json:"address,omitempty"`      // its mail address, in lower case
	Group         string       `json:"group,omitempty"`        // that a job can name instead of one account
	MaxMeetings   int          `json:"maxMeetings"`            // at once
	File          string       `json:"file,omitempty"`         // name of its files in the operator's folder
	SAML          bool         `json:"saml,omitempty"`         // signs in as a user of its domain, without a State at first
	Sealed        string       `json:"-"`                      // the encrypted State
	SignedInUntil time.Time    `json:"signedInUntil,omitzero"` // zero if unknown
	RenewedAt     time.Time    `json:"renewedAt"`              // when its owner last signed in
	RestsUntil    time.Time    `json:"restsUntil,omitzero"`    // as its owner wants
	LastUsedAt    time.Time    `json:"lastUsedAt,omitzero"`
	CreatedAt     time.Time    `json:"createdAt"`
	Uses          []Use        `json:"-"` // of the last days, and those that have not ended, the newest first
}

// State is what signs a browser in: cookies as browsers export them, and a ZIP file of the parts of
// a browser profile that keep a user signed in. Both may be empty.
type State struct {
	Cookies []byte `json:"cookies,omitempty"`
	Profile []byte `json:"profile,omitempty"`
}

// MaxStateBytes is the maximum size of a State as JSON.
const MaxStateBytes = 24 << 20

// Use is an account in the meeting of a job.
type Use struct {
	JobID       uuid.UUID
	ConsumerID  uuid.UUID // of the job
	Meeting     string    // key of the meeting
	Reason      string    // why this account was chosen, for people
	At          time.Time
	Active      bool // the bot may still be signed in
	Status      job.Status
	FailureCode job.FailureCode
	EndedAt     time.Time // when the status last changed
}

// Condition is whether an account can be used.
type Condition string

// The conditions of accounts.
const (
	Ready     Condition = "ready"
	InUse     Condition = "in_use"     // in as many meetings as it may be
	Resting   Condition = "resting"    // until a time
	SignedOut Condition = "signed_out" // its owner has to sign in again
)

// Rests after refusals in a row double from firstRest to longestRest.
const (
	firstRest   = time.Hour
	longestRest = 24 * time.Hour
)

// Condition returns whether the account can be used now, with the reason for people if it cannot.
func (a Account) Condition(now time.Time) (Condition, string) {
	refusals, last := 0, time.Time{}
	for _, use := range a.Uses {
		if use.Active {
			continue
		}
		if use.FailureCode != job.AuthFailure || use.EndedAt.Before(a.RenewedAt) {
			break
		}
		refusals, last = refusals+1, job.Latest(last, use.EndedAt)
	}
	until := last.Add(min(firstRest<<min(max(refusals, 1)-1, 10), longestRest))
	const hour = "15:04 MST on 2006-01-02"
	switch {
	case now.Before(a.RestsUntil):
		return Resting, "rests until " + a.RestsUntil.UTC().Format(hour)
	case !a.SignedInUntil.IsZero() && !now.Before(a.SignedInUntil):
		return SignedOut, "has been signed out since " + a.SignedInUntil.UTC().Format(hour)
	case refusals > 0 && now.Before(until):
		return Resting, fmt.Sprintf("rests until %s, because the platform refused it %d times in a row", until.UTC().Format(hour), refusals)
	case a.Meetings() >= a.MaxMeetings:
		return InUse, fmt.Sprintf("is in %d of %d meetings", a.Meetings(), a.MaxMeetings)
	}
	return Ready, ""
}

// Rest lets the account rest until a time. The zero time ends a rest, also one that followed refusals.
func (a *Account) Rest(until, now time.Time) {
	if a.RestsUntil = until; until.IsZero() {
		a.RenewedAt = now
	}
}

// Meetings returns in how many meetings the account is.
func (a Account) Meetings() (count int) {
	for _, use := range a.Uses {
		if use.Active {
			count++
		}
	}
	return count
}

// LentTo returns the use of the account by a job that may not be over; false if there is none.
func (a Account) LentTo(jobID uuid.UUID) (Use, bool) {
	i := slices.IndexFunc(a.Uses, func(u Use) bool { return u.Active && u.JobID == jobID })
	if i < 0 {
		return Use{}, false
	}
	return a.Uses[i], true
}

// LastUses returns the last uses of the account by jobs of a team, the newest first.
func (a Account) LastUses(consumer uuid.UUID) []Use {
	own := slices.DeleteFunc(slices.Clone(a.Uses), func(u Use) bool { return u.ConsumerID != consumer })
	return own[:min(len(own), 10)]
}

// isNamed reports whether a job's option names the account, or its group.
func (a Account) isNamed(name string) bool {
	return name == "" || name == a.ID.String() || strings.EqualFold(name, a.Label) || a.Group != "" && strings.EqualFold(name, a.Group)
}

// IsInvited reports whether the account is one for a platform, and among the guests of an invitation, whose GuestKeys are
// given.
func (a Account) IsInvited(platform job.Platform, guests string) bool {
	return a.Address != "" && a.Platform == platform && strings.Contains(guests, GuestKey(a.Address))
}

// Wish is what a bot needs an account for.
type Wish struct {
	JobID    uuid.UUID
	Platform job.Platform
	Meeting  string     // key of the meeting
	Mode     job.SignIn // of the job
	Account  string     // ID, label or group that the job names; empty: any
	Guests   string     // GuestKeys of the people on the invitation
	Refusal  string     // why the platform refused a guest; empty before that
}

// GuestKey identifies a mail address on an invitation. Events keep it in place of the addresses of
// their guests.
func GuestKey(address string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(address)))
	return hex.EncodeToString(sum[:6])
}

// Choose returns the account with which a bot signs in, and why it is that one; or none, and why not. One
// that is on the invitation comes first, then the one that has not been used for the longest time. The
// reason is empty for a guest who needs no account.
func Choose(accounts []Account, wish Wish, now time.Time) (chosen *Account, reason string) {
	needed := wish.Mode == job.SignInAlways || wish.Refusal != ""
	invited := func(a Account) bool { return a.IsInvited(wish.Platform, wish.Guests) }
	var usable []Account
	var others []string // why each other account cannot be used
	for _, a := range accounts {
		if a.Platform != wish.Platform || !a.isNamed(wish.Account) {
			continue
		}
		if use, lent := a.LentTo(wish.JobID); lent {
			return &a, use.Reason // for another bot of the job
		}
		condition, why := a.Condition(now)
		inMeeting := slices.ContainsFunc(a.Uses, func(u Use) bool { return u.Active && u.Meeting == wish.Meeting })
		switch {
		case inMeeting:
			others = append(others, a.Label+" is in this meeting already")
		case condition != Ready:
			others = append(others, a.Label+" "+why)
		case needed || invited(a):
			usable = append(usable, a)
		}
	}
	if len(usable) == 0 {
		switch {
		case !needed:
			return nil, ""
		case len(others) > 0:
			return nil, "No account is free: " + strings.Join(others[:min(len(others), 5)], "; ") + "."
		case wish.Account != "":
			return nil, fmt.Sprintf("There is no account %q for this platform.", wish.Account)
		}
		return nil, "There is no account for this platform."
	}
	slices.SortStableFunc(usable, func(a, b Account) int {
		if invited(a) != invited(b) {
			return map[bool]int{true: -1, false: 1}[invited(a)]
		}
		return cmp.Or(a.LastUsedAt.Compare(b.LastUsedAt), strings.Compare(a.ID.String(), b.ID.String()))
	})
	switch a := &usable[0]; {
	case invited(*a):
		return a, "its address is on the invitation"
	case wish.Account != "":
		return a, "the job names " + wish.Account
	case wish.Refusal != "":
		return a, "a guest was refused: " + wish.Refusal
	default:
		return a, "the job always signs in"
	}
}
