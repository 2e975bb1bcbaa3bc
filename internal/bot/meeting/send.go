package meeting

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// chatTakenTime is how long the page may take to accept a chat message.
const chatTakenTime = 5 * time.Second

// SendChat is described at Adapter. Line breaks become spaces: in chat fields
// the Enter key sends. A chat panel that was closed is closed again, so that it
// is not in the picture.
func (s *site) SendChat(ctx context.Context, page Page, text string) error {
	opened, err := s.say(ctx, page, text)
	if err == nil && opened {
		err = s.closeChat(ctx, page)
	}
	return err
}

// say writes to everyone, and reports whether it opened the chat panel, which
// it leaves open.
func (s *site) say(ctx context.Context, page Page, text string) (opened bool, err error) {
	parts := split(plain(text), s.profile.Limits.Chat)
	if len(parts) == 0 {
		return false, nil
	}
	opened, err = s.openChat(ctx, page)
	if err != nil {
		return opened, fmt.Errorf("opening the chat: %w", err)
	}
	for _, part := range parts {
		if err := s.sendPart(ctx, page, part); err != nil {
			return opened, fmt.Errorf("sending a chat message: %w", err)
		}
	}
	return opened, nil
}

// openChat waits until the chat's field can be typed into, and reports whether
// the panel had to be opened for it.
func (s *site) openChat(ctx context.Context, page Page) (opened bool, err error) {
	var pressed time.Time
	err = s.repeat(ctx, page, func(snapshot Snapshot) (bool, error) {
		switch {
		case snapshot.clickable(chatInput):
			return true, nil
		case time.Since(pressed) < pressedTime:
			return false, nil
		case snapshot.clickable(chatButton):
			pressed, opened = time.Now(), true
			return false, page.ClickElement(ctx, s.probe.element(chatButton))
		default:
			return false, s.uncover(ctx, page, snapshot)
		}
	})
	return opened, err
}

// closeChat presses the chat's button until its field is gone.
func (s *site) closeChat(ctx context.Context, page Page) error {
	var pressed time.Time
	err := s.repeat(ctx, page, func(snapshot Snapshot) (bool, error) {
		switch {
		case !snapshot.Visible(chatInput):
			return true, nil
		case time.Since(pressed) < pressedTime:
			return false, nil
		case snapshot.clickable(chatButton):
			pressed = time.Now()
			return false, page.ClickElement(ctx, s.probe.element(chatButton))
		default:
			return false, s.uncover(ctx, page, snapshot)
		}
	})
	if err != nil {
		return fmt.Errorf("closing the chat: %w", err)
	}
	return nil
}

// sendPart sends one message and waits until the page has taken it, which
// empties the field.
func (s *site) sendPart(ctx context.Context, page Page, part string) error {
	if err := page.PasteInto(ctx, s.probe.element(chatInput), chatInput, part); err != nil {
		return err
	}
	if err := s.enter(ctx, page); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, chatTakenTime)
	defer cancel()
	err := s.repeat(waiting, page, func(snapshot Snapshot) (bool, error) {
		// The key that sends may leave its line break behind.
		return snapshot.Visible(chatInput) && strings.TrimSpace(snapshot.Elements[chatInput].Value) == "", nil
	})
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("the page did not take the message within %s", chatTakenTime)
	}
	return err
}
