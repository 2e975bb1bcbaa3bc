package meeting

import (
	"context"
	"fmt"
	"time"

	"standin/internal/bot/browser"
)

const (
	// pageRequestTimeout limits the search for the page's own request. After it
	// the host is asked in the chat.
	pageRequestTimeout = 12 * time.Second
	// closeRequestTimeout limits ClosePermissionRequest.
	closeRequestTimeout = 5 * time.Second
)

// AskPermission implements Adapter. When the page's own request is not
// reachable, because the host's settings hide it, it asks in the chat, as on
// platforms without a request of their own.
func (s *site) AskPermission(ctx context.Context, page Page, name string) (AskMethod, error) {
	if s.hasPermissionRequest() {
		var progress requestSteps // to open the page's menu and to press its request
		timedOut, err := s.pollFor(ctx, page, pageRequestTimeout, func(ctx context.Context, snapshot Snapshot) (bool, error) {
			answered := s.profile.permission(snapshot) != NoAnswer
			switch next := progress.next(snapshot, answered, time.Now()); next.kind {
			case stepDone:
				return true, nil
			case stepPress:
				return false, s.press(ctx, page, next.element)
			case stepReveal:
				return false, s.uncover(ctx, page, snapshot)
			default:
				return false, nil
			}
		})
		if timedOut {
			err = pressKey(ctx, page, "Escape", browser.KeyEscape) // the menu may still be open
		}
		if err != nil {
			return "", fmt.Errorf("ask for permission to record: %w", err)
		}
		if !timedOut {
			return AskByPage, nil
		}
	}
	if _, err := s.writeChat(ctx, page, PermissionQuestion(name)); err != nil {
		return "", fmt.Errorf("ask for permission to record: %w", err)
	}
	return AskByChat, nil
}

// hasPermissionRequest reports whether the page has its own way to ask the host for
// permission to record.
func (s *site) hasPermissionRequest() bool { return len(s.profile.Elements[requestPermission]) > 0 }

// PermissionQuestion returns the chat message that asks the host. It names the
// two answers, so that an answer can be told apart from other messages.
func PermissionQuestion(name string) string {
	if name = SingleLine(name); name == "" {
		name = "the recording assistant"
	}
	return fmt.Sprintf(`This is %s. May I record this meeting? Host, please answer "yes" or "no" in this chat.`, name)
}

// Replies returns the answers to PermissionQuestion that participants may give.
func Replies() (granted, refused []string) {
	known := knownWords().Replies
	return known.Granted, known.Refused
}

// ClosePermissionRequest implements Adapter: it closes the dialog of the request
// if it is still open, and the chat, which is open only because the bot asked.
func (s *site) ClosePermissionRequest(ctx context.Context, page Page) error {
	waiting, cancel := context.WithTimeout(ctx, closeRequestTimeout)
	defer cancel()
	if s.hasPermissionRequest() {
		snapshot, err := s.probe.snapshot(waiting, page)
		if err == nil && snapshot.clickable(closePermission) {
			err = s.press(waiting, page, closePermission)
			if Transient(err) {
				err = nil
			}
		}
		if err != nil {
			return fmt.Errorf("close the request for permission: %w", err)
		}
	}
	return s.closeChat(waiting, page)
}

// requestSteps is the state of the way to the page's request: the menu, its
// record item, the request.
type requestSteps struct {
	requested bool
	pressedAt map[string]time.Time
}

// next returns the step for a snapshot. Each step gets time to take effect,
// because a menu button that is pressed twice closes the menu.
func (r *requestSteps) next(snapshot Snapshot, answered bool, now time.Time) step {
	if r.pressedAt == nil {
		r.pressedAt = make(map[string]time.Time)
	}
	if answered || r.requested && !snapshot.Visible(requestPermission) {
		return step{kind: stepDone}
	}
	for _, element := range []string{requestPermission, recordButton, moreButton} {
		if !snapshot.clickable(element) {
			continue
		}
		if now.Sub(r.pressedAt[element]) < pressAgainTime {
			return step{kind: stepWait}
		}
		r.pressedAt[element] = now
		r.requested = r.requested || element == requestPermission
		return pressStep(element)
	}
	return step{kind: stepReveal}
}
