package meeting

import (
	"context"
	"fmt"
	"strings"
	"time"

	"standin/internal/bot/browser"
)

// chatAcceptTimeout is how long the page may take to accept a chat message.
const chatAcceptTimeout = 5 * time.Second

// SendChat implements Adapter. Line breaks become spaces, because the Enter key
// sends. A chat panel that was closed is closed again, so that it is not in the
// recording.
func (s *site) SendChat(ctx context.Context, page Page, text string) error {
	opened, err := s.writeChat(ctx, page, text)
	if err == nil && opened {
		err = s.closeChat(ctx, page)
	}
	return err
}

// writeChat sends a text to everyone and leaves the chat panel open. opened
// reports whether it was closed before.
func (s *site) writeChat(ctx context.Context, page Page, text string) (opened bool, err error) {
	parts := SplitText(SingleLine(text), s.profile.Limits.Chat)
	if len(parts) == 0 {
		return false, nil
	}
	opened, err = s.openChat(ctx, page)
	if err != nil {
		return opened, err
	}
	for _, part := range parts {
		err := page.PasteInto(ctx, s.probe.find(chatInput), chatInput, part)
		if err == nil {
			err = pressKey(ctx, page, "Enter", browser.KeyEnter)
		}
		if err == nil { // the page accepts the message, and empties the input
			var timedOut bool
			timedOut, err = s.pollFor(ctx, page, chatAcceptTimeout, func(_ context.Context, snapshot Snapshot) (bool, error) {
				// The Enter key may leave its line break behind.
				return snapshot.Visible(chatInput) && strings.TrimSpace(snapshot.Elements[chatInput].Value) == "", nil
			})
			if timedOut {
				err = fmt.Errorf("the page did not accept the message within %s", chatAcceptTimeout)
			}
		}
		if err != nil {
			return opened, fmt.Errorf("send a chat message: %w", err)
		}
	}
	return opened, nil
}

// openChat waits until the chat's input accepts text. opened reports whether the
// panel was closed before.
func (s *site) openChat(ctx context.Context, page Page) (opened bool, err error) {
	return s.toggleChat(ctx, page, "open", func(snapshot Snapshot) bool { return snapshot.clickable(chatInput) })
}

// closeChat closes the chat panel.
func (s *site) closeChat(ctx context.Context, page Page) error {
	_, err := s.toggleChat(ctx, page, "close", func(snapshot Snapshot) bool { return !snapshot.Visible(chatInput) })
	return err
}

// toggleChat presses the chat button until the panel is in the wanted state.
func (s *site) toggleChat(ctx context.Context, page Page, action string, done func(Snapshot) bool) (pressed bool, err error) {
	var pressedAt time.Time
	err = s.poll(ctx, page, func(snapshot Snapshot) (bool, error) {
		switch {
		case done(snapshot):
			return true, nil
		case time.Since(pressedAt) < pressTimeout:
			return false, nil
		case snapshot.clickable(chatButton):
			pressedAt, pressed = time.Now(), true
			return false, s.click(ctx, page, chatButton)
		default:
			return false, s.uncover(ctx, page, snapshot)
		}
	})
	if err != nil {
		return pressed, fmt.Errorf("%s the chat: %w", action, err)
	}
	return pressed, nil
}
