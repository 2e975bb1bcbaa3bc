package calendar

import (
	"errors"
	"time"
)

// maxSteps is the number of steps of a Budget. Real invitations take some hundreds,
// and one step takes about a microsecond.
const maxSteps = 500_000

// maxFeedSteps is that of a feed, which has the events of years.
const maxFeedSteps = 10_000_000

// Limits of a calendar file, far above those of real invites and feeds.
const (
	MaxICS  = 1 << 20  // bytes
	MaxFeed = 10 << 20 // bytes
)

// limits are those of a calendar file.
type limits struct{ bytes, components, events int }

// ErrTooExpensive is the *ICSError for calendars that need more steps than a Budget
// has.
var ErrTooExpensive = &ICSError{"reading it takes too much work"}

// ErrDeadline is the error for calendars that are not read until the deadline of a
// Budget. They may be on a machine that is less busy.
var ErrDeadline = errors.New("reading the calendar took too long")

// Budget limits the work for the calendars of one message: reading them and
// expanding their series. A nil Budget has no limit. It may be used by one goroutine
// at a time.
type Budget struct {
	steps    int
	deadline time.Time
	feed     bool
}

// NewBudget returns a budget that ends at a time; there is no deadline if it is zero.
func NewBudget(deadline time.Time) *Budget {
	return &Budget{steps: maxSteps, deadline: deadline}
}

// NewFeedBudget returns the budget for a calendar that is published as a feed. It ends
// at a time; there is no deadline if it is zero.
func NewFeedBudget(deadline time.Time) *Budget {
	return &Budget{steps: maxFeedSteps, deadline: deadline, feed: true}
}

// limits returns those of the calendar files.
func (b *Budget) limits() limits {
	if b != nil && b.feed {
		return limits{MaxFeed, 50_000, 20_000}
	}
	return limits{MaxICS, 5000, 2000}
}

// Spend takes a number of steps. It returns ErrTooExpensive when none are left, and
// ErrDeadline after the deadline.
func (b *Budget) Spend(steps int) error {
	if b == nil {
		return nil
	}
	if b.steps -= steps; b.steps < 0 {
		return ErrTooExpensive
	}
	if !b.deadline.IsZero() && time.Now().After(b.deadline) {
		return ErrDeadline
	}
	return nil
}
