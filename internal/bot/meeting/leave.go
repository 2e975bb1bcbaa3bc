package meeting

import (
	"context"
	"fmt"
	"time"
)

// goneTime is how long the controls of a meeting must be gone before a page
// that says nothing counts as left.
const goneTime = 500 * time.Millisecond

// Leave is described at Adapter. Without the confirmation a ghost of the bot
// would stay in the meeting for a while (platforms, "Zoom web client").
func (s *site) Leave(ctx context.Context, page Page) error {
	var way leaving
	err := s.repeat(ctx, page, func(snapshot Snapshot) (bool, error) {
		screen, _ := s.profile.Classify(snapshot)
		switch next := way.next(snapshot, screen, time.Now()); next.kind {
		case stepDone:
			return true, nil
		case stepPress:
			return false, page.ClickElement(ctx, s.probe.element(next.element))
		case stepWake:
			return false, s.uncover(ctx, page, snapshot)
		default:
			return false, nil
		}
	})
	if err != nil {
		return fmt.Errorf("leaving the meeting: %w", err)
	}
	return nil
}

// leaving is the way out of a meeting or its lobby.
type leaving struct {
	pressedAt time.Time // the button that leaves, or its confirmation
	goneAt    time.Time // since when neither is on the page any more
}

// next decides what to do about a snapshot. A page that says that the bot is
// out is best; not every platform's page does, and then it counts that what
// was pressed is gone for good, also from under hidden toolbars.
func (l *leaving) next(snapshot Snapshot, screen Screen, now time.Time) step {
	if screen.Terminal() || screen == PreJoin {
		return step{kind: stepDone}
	}
	for _, element := range []string{confirmLeave, leaveButton} {
		if !snapshot.clickable(element) {
			continue
		}
		l.goneAt = time.Time{}
		if element == leaveButton && now.Sub(l.pressedAt) < pressedTime {
			return step{kind: stepWait}
		}
		l.pressedAt = now
		return step{kind: stepPress, element: element}
	}
	switch {
	case l.pressedAt.IsZero():
		return step{kind: stepWake}
	case snapshot.there(leaveButton) || snapshot.there(confirmLeave) || screen != Unknown:
		l.goneAt = time.Time{}
		if now.Sub(l.pressedAt) >= pressedTime {
			return step{kind: stepWake}
		}
	case l.goneAt.IsZero():
		l.goneAt = now
	case now.Sub(l.goneAt) >= goneTime:
		return step{kind: stepDone}
	}
	return step{kind: stepWait}
}
