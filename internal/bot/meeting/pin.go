package meeting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// What a participant's tile or row may offer; see Roster.
const (
	offerPin    = "pin"
	offerPinned = "pinned"
	offerMenu   = "menu"
)

// ParticipantNotFoundError says that the page shows no such participant.
type ParticipantNotFoundError struct {
	Participant Participant
}

// Error tells who is absent.
func (e *ParticipantNotFoundError) Error() string {
	return fmt.Sprintf("the page shows no participant %q (%s)", e.Participant.Name, e.Participant.ID)
}

const (
	// absentTime is how long a participant may be out of sight before a pin is
	// given up.
	absentTime = 5 * time.Second
	// pinTakenTime is how long the page may take to show that a pin took.
	pinTakenTime = 4 * time.Second
)

// Pin is described at Adapter.
func (s *site) Pin(ctx context.Context, page Page, participant Participant) error {
	way := pinning{since: time.Now()}
	err := s.repeat(ctx, page, func(snapshot Snapshot) (bool, error) {
		person, found := s.profile.find(snapshot, participant)
		next := way.next(snapshot, person, found, time.Now())
		switch next.kind {
		case stepDone:
			return true, nil
		case stepStop:
			if found {
				return false, errors.New("the page does not show that the pin took")
			}
			return false, &ParticipantNotFoundError{Participant: participant}
		case stepPress:
			if next.element == pinItem {
				return false, page.ClickElement(ctx, s.probe.element(pinItem))
			}
			return false, page.ClickElement(ctx, s.probe.offer(person, next.element))
		case stepWake:
			// The buttons of a tile come when the mouse is on it.
			return false, page.MoveMouse(ctx, person.X, person.Y)
		default:
			return false, nil
		}
	})
	if err != nil {
		return fmt.Errorf("pinning a participant: %w", err)
	}
	return nil
}

// pinning is the way to a pinned participant.
type pinning struct {
	since     time.Time
	pressedAt time.Time
	pinned    bool // what pins was pressed
}

// next decides what to do about a snapshot. What was pressed shows that it took
// by turning into its opposite, or by going away.
func (p *pinning) next(snapshot Snapshot, person RosterEntry, found bool, now time.Time) step {
	offers := func(offer string) bool { return slices.Contains(person.Offers, offer) }
	pressed := now.Sub(p.pressedAt)
	switch {
	case found && offers(offerPinned):
		return step{kind: stepDone}
	case !found && now.Sub(p.since) < absentTime:
		return step{kind: stepWait}
	case !found:
		return step{kind: stepStop}
	case pressed < pressedTime:
		return step{kind: stepWait}
	case p.pinned && !offers(offerPin) && !snapshot.Visible(pinItem):
		return step{kind: stepDone}
	case p.pinned && pressed < pinTakenTime: // pressed again, it would be undone
		return step{kind: stepWait}
	case p.pinned:
		return step{kind: stepStop}
	case snapshot.clickable(pinItem):
		p.pressedAt, p.pinned = now, true
		return step{kind: stepPress, element: pinItem}
	case offers(offerPin):
		p.pressedAt, p.pinned = now, true
		return step{kind: stepPress, element: offerPin}
	case offers(offerMenu):
		p.pressedAt = now
		return step{kind: stepPress, element: offerMenu}
	}
	return step{kind: stepWake}
}

// find returns the tile or row of a participant: the one that offers something,
// before one that does not.
func (p *Profile) find(snapshot Snapshot, participant Participant) (person RosterEntry, found bool) {
	for _, candidate := range slices.Concat(snapshot.Tiles, snapshot.Rows) {
		if p.identity(candidate) != participant.ID {
			continue
		}
		if !found || len(person.Offers) == 0 {
			person, found = candidate, true
		}
	}
	return person, found
}
