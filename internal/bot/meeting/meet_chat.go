package meeting

import (
	"context"
	"fmt"
	"strings"
	"time"

	"standin/internal/bot/browser"
)

// chatTakenTime is how long the page may take to accept a chat message.
const chatTakenTime = 5 * time.Second

// SendChat is described at Adapter. Line breaks become spaces: in Meet's chat
// field the Enter key sends. A chat panel that was closed is closed again, so
// that it is not in the picture.
func (m *meet) SendChat(ctx context.Context, page Page, text string) error {
	parts := split(plain(text), m.profile.Limits.Chat)
	if len(parts) == 0 {
		return nil
	}
	opened, err := m.openChat(ctx, page)
	if err != nil {
		return fmt.Errorf("opening the chat: %w", err)
	}
	for _, part := range parts {
		if err := m.sendPart(ctx, page, part); err != nil {
			return fmt.Errorf("sending a chat message: %w", err)
		}
	}
	if opened {
		if err := page.ClickElement(ctx, m.probe.element(chatButton)); err != nil && !passing(err) {
			return fmt.Errorf("closing the chat: %w", err)
		}
	}
	return nil
}

// openChat waits until the chat's field can be typed into, and reports whether
// the panel had to be opened for it.
func (m *meet) openChat(ctx context.Context, page Page) (opened bool, err error) {
	var pressed time.Time
	err = m.repeat(ctx, page, func(snapshot Snapshot) (bool, error) {
		switch {
		case snapshot.clickable(chatInput):
			return true, nil
		case time.Since(pressed) < pressedTime:
			return false, nil
		case snapshot.clickable(chatButton):
			pressed, opened = time.Now(), true
			return false, page.ClickElement(ctx, m.probe.element(chatButton))
		default:
			return false, m.uncover(ctx, page, snapshot)
		}
	})
	return opened, err
}

// sendPart sends one message and waits until the page has taken it, which
// empties the field.
func (m *meet) sendPart(ctx context.Context, page Page, part string) error {
	if err := page.TypeInto(ctx, m.probe.element(chatInput), chatInput, part); err != nil {
		return err
	}
	if err := page.Press(ctx, browser.KeyEnter); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, chatTakenTime)
	defer cancel()
	err := m.repeat(waiting, page, func(snapshot Snapshot) (bool, error) {
		// The key that sends may leave its line break behind.
		return snapshot.Visible(chatInput) && strings.TrimSpace(snapshot.Elements[chatInput].Value) == "", nil
	})
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("the page did not take the message within %s", chatTakenTime)
	}
	return err
}
