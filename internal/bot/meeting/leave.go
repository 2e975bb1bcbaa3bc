package meeting

import (
	"context"
	"fmt"
	"time"
)

// goneTime is how long the call's controls must be gone before an unknown page
// counts as left.
const goneTime = 500 * time.Millisecond

// announceTime is how long a page that returned from the lobby stays open: it
// tells the service that the bot left.
const announceTime = time.Second

// Leave implements Adapter. It also presses the confirmation, without which the
// bot's tile would stay in the meeting for a while.
func (s *site) Leave(ctx context.Context, page Page) error {
	var progress leaveSteps
	err := s.poll(ctx, page, func(snapshot Snapshot) (bool, error) {
		s.visit.mu.Lock()
		past := s.visit.past
		s.visit.mu.Unlock()
		screen := s.profile.classify(snapshot, past).screen
		switch next := progress.next(snapshot, screen, time.Now()); next.kind {
		case stepDone:
			return true, nil
		case stepPress:
			return false, s.click(ctx, page, next.element)
		case stepReveal:
			return false, s.uncover(ctx, page, snapshot)
		default:
			return false, nil
		}
	})
	if err != nil {
		return fmt.Errorf("leave the meeting: %w", err)
	}
	return nil
}

// leaveSteps is the state of the way out of a meeting or its lobby.
type leaveSteps struct {
	pressedAt time.Time // the button that leaves, or its confirmation
	goneAt    time.Time // neither has been on the page since
}

// next returns the step for a snapshot. The bot is out when the page says so.
// Not every platform's page does; then the bot is out when the buttons are gone
// from the page, and not merely hidden with the toolbar.
func (l *leaveSteps) next(snapshot Snapshot, screen Screen, now time.Time) step {
	switch {
	case screen.Terminal():
		return step{kind: stepDone}
	case screen == PreJoin && (snapshot.clickable(joinButton) || !snapshot.clickable(leaveButton)):
		if !l.pressedAt.IsZero() && now.Sub(l.pressedAt) < announceTime {
			return step{kind: stepWait}
		}
		return step{kind: stepDone}
	}
	for _, element := range []string{confirmLeave, leaveButton} {
		if !snapshot.clickable(element) {
			continue
		}
		l.goneAt = time.Time{}
		if element == leaveButton && now.Sub(l.pressedAt) < pressTimeout {
			return step{kind: stepWait}
		}
		l.pressedAt = now
		return pressStep(element)
	}
	switch {
	case l.pressedAt.IsZero():
		return step{kind: stepReveal}
	case snapshot.present(leaveButton) || snapshot.present(confirmLeave) || screen != Unknown:
		l.goneAt = time.Time{}
		if now.Sub(l.pressedAt) >= pressTimeout {
			return step{kind: stepReveal}
		}
	case l.goneAt.IsZero():
		l.goneAt = now
	case now.Sub(l.goneAt) >= goneTime:
		return step{kind: stepDone}
	}
	return step{kind: stepWait}
}
