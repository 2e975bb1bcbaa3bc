package meeting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"standin/internal/bot/browser"
)

const (
	// askPageTime is how long the page's own request may take to be found and
	// made. After it the host is asked in the chat.
	askPageTime = 12 * time.Second
	// closeRequestTimeout bounds the putting away of what was opened.
	closeRequestTimeout = 5 * time.Second
)

// AskPermission is described at Adapter. Where the page's own request cannot be
// reached, because the host's settings hide it, the host is asked in the chat
// like on the other platforms, which have no request of their own.
func (s *site) AskPermission(ctx context.Context, page Page, name string) (AskMethod, error) {
	if s.platform.asksByPage {
		err := s.askByPage(ctx, page)
		if err == nil {
			return AskByPage, nil
		}
		if !errors.Is(err, errNotOffered) {
			return "", fmt.Errorf("asking for permission to record: %w", err)
		}
	}
	if _, err := s.say(ctx, page, permissionQuestion(name)); err != nil {
		return "", fmt.Errorf("asking for permission to record: %w", err)
	}
	return AskByChat, nil
}

// permissionQuestion is the chat message that asks the host. It names the two
// answers, so that an answer can be told from talk.
func permissionQuestion(name string) string {
	if name = plain(name); name == "" {
		name = "the recording assistant"
	}
	return fmt.Sprintf(`This is %s. May I record this meeting? Host, please answer "yes" or "no" in this chat.`, name)
}

// errNotOffered says that the page does not show its request for permission.
var errNotOffered = errors.New("the page offers no request for permission to record")

// askByPage goes through the page's menu to its request, and presses it.
func (s *site) askByPage(ctx context.Context, page Page) error {
	waiting, cancel := context.WithTimeout(ctx, askPageTime)
	defer cancel()
	var way asking
	err := s.repeat(waiting, page, func(snapshot Snapshot) (bool, error) {
		answered := s.profile.permission(snapshot) != NoAnswer
		switch next := way.next(snapshot, answered, time.Now()); next.kind {
		case stepDone:
			return true, nil
		case stepPress:
			return false, s.press(waiting, page, next.element)
		case stepWake:
			return false, s.uncover(waiting, page, snapshot)
		default:
			return false, nil
		}
	})
	if waiting.Err() != nil && ctx.Err() == nil {
		if err := page.Press(ctx, browser.KeyEscape); err != nil { // the menu may still be open
			return fmt.Errorf("closing the menu: %w", err)
		}
		return errNotOffered
	}
	return err
}

// asking is the way to the page's request: more controls, record, request.
type asking struct {
	requested bool
	pressedAt map[string]time.Time
}

// next decides what to do about a snapshot. Each step is given time to open
// what comes after it, because a menu's button pressed twice closes the menu.
func (a *asking) next(snapshot Snapshot, answered bool, now time.Time) step {
	if a.pressedAt == nil {
		a.pressedAt = make(map[string]time.Time)
	}
	if answered || a.requested && !snapshot.Visible(requestPermission) {
		return step{kind: stepDone}
	}
	for _, element := range []string{requestPermission, recordButton, moreButton} {
		if !snapshot.clickable(element) {
			continue
		}
		if now.Sub(a.pressedAt[element]) < pressAgainTime {
			return step{kind: stepWait}
		}
		a.pressedAt[element] = now
		a.requested = a.requested || element == requestPermission
		return step{kind: stepPress, element: element}
	}
	return step{kind: stepWake}
}

// ClosePermissionRequest is described at Adapter: it closes the request's dialog where it
// still stands, and else the chat, which is open only because the bot asked.
func (s *site) ClosePermissionRequest(ctx context.Context, page Page) error {
	waiting, cancel := context.WithTimeout(ctx, closeRequestTimeout)
	defer cancel()
	if s.platform.asksByPage {
		snapshot, err := s.probe.look(waiting, page)
		if err != nil {
			return fmt.Errorf("putting the request for permission away: %w", err)
		}
		if snapshot.clickable(closePermission) {
			if err := s.press(waiting, page, closePermission); err != nil && !passing(err) {
				return fmt.Errorf("putting the request for permission away: %w", err)
			}
		}
	}
	return s.closeChat(waiting, page)
}

// permission is the host's answer as the page shows it.
func (p *Profile) permission(snapshot Snapshot) Permission {
	for _, answer := range []Permission{Refused, Granted} {
		for _, sign := range p.Permission[answer] {
			if _, shown := sign.shown(snapshot); shown {
				return answer
			}
		}
	}
	return NoAnswer
}

// recorded reports whether the platform itself says that the meeting is being
// recorded.
func (p *Profile) recorded(snapshot Snapshot) bool {
	for _, sign := range p.Recorded {
		if _, shown := sign.shown(snapshot); shown {
			return true
		}
	}
	return false
}
