package meeting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The controls that a participant's tile or row may show; see Roster.
const (
	controlPin    = "pin"
	controlPinned = "pinned"
	controlMenu   = "menu"
)

const (
	// absentTimeout is how long a participant may be missing from the page before
	// a pin fails.
	absentTimeout = 5 * time.Second
	// pinTimeout is how long the page may take to show that a participant is
	// pinned.
	pinTimeout = 4 * time.Second
)

// Pin implements Adapter. In an arranged picture the participant is the main one.
func (s *site) Pin(ctx context.Context, page Page, participant Participant) (err error) {
	if err := s.suspendPicture(ctx, page); err != nil {
		return fmt.Errorf("pin a participant: %w", err)
	}
	defer func() {
		s.picture.mutex.Lock()
		defer s.picture.mutex.Unlock()
		if s.picture.suspended = false; err == nil {
			s.picture.pinned = participant.ID
		}
	}()
	progress := pinSteps{startedAt: time.Now()}
	err = s.poll(ctx, page, func(snapshot Snapshot) (bool, error) {
		entry, found := findEntry(snapshot, participant)
		next := progress.next(snapshot, entry, found, time.Now())
		switch next.kind {
		case stepDone:
			return true, nil
		case stepFail:
			if found {
				return false, errors.New("the page does not show the participant as pinned")
			}
			return false, &ParticipantNotFoundError{Participant: participant}
		case stepPress:
			if next.element == pinItem {
				return false, s.click(ctx, page, pinItem)
			}
			return false, page.ClickElement(ctx, s.probe.find(map[string]string{
				"id": entry.ID, "name": entry.shownName(), "control": next.element,
			}))
		case stepReveal:
			// A tile shows its buttons while the mouse is over it.
			return false, page.MoveMouse(ctx, entry.X, entry.Y)
		default:
			return false, nil
		}
	})
	if err != nil {
		return fmt.Errorf("pin a participant: %w", err)
	}
	return nil
}

// pinSteps is the state of the way to a pinned participant.
type pinSteps struct {
	startedAt time.Time
	pressedAt time.Time
	pinned    bool // the control that pins was pressed
}

// next returns the step for a snapshot. A control that was pressed has worked
// when it turns into its opposite or disappears.
func (p *pinSteps) next(snapshot Snapshot, entry RosterEntry, found bool, now time.Time) step {
	shows := func(control string) bool { return slices.Contains(entry.Controls, control) }
	sincePress := now.Sub(p.pressedAt)
	switch {
	case found && shows(controlPinned):
		return step{kind: stepDone}
	case !found && now.Sub(p.startedAt) < absentTimeout:
		return step{kind: stepWait}
	case !found:
		return step{kind: stepFail}
	case sincePress < pressTimeout:
		return step{kind: stepWait}
	case p.pinned && !shows(controlPin) && !snapshot.Visible(pinItem):
		return step{kind: stepDone}
	case p.pinned && sincePress < pinTimeout: // another press would unpin
		return step{kind: stepWait}
	case p.pinned:
		return step{kind: stepFail}
	case snapshot.clickable(pinItem):
		p.pressedAt, p.pinned = now, true
		return pressStep(pinItem)
	case shows(controlPin):
		p.pressedAt, p.pinned = now, true
		return pressStep(controlPin)
	case shows(controlMenu):
		p.pressedAt = now
		return pressStep(controlMenu)
	}
	return step{kind: stepReveal}
}

// findEntry returns the tile or row of a participant, preferring one that shows
// controls.
func findEntry(snapshot Snapshot, participant Participant) (entry RosterEntry, found bool) {
	for _, candidate := range slices.Concat(snapshot.Tiles, snapshot.Rows) {
		if cleanID(candidate.identity()) != participant.ID {
			continue
		}
		if !found || len(entry.Controls) == 0 {
			entry, found = candidate, true
		}
	}
	return entry, found
}
