package meeting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"standin/internal/bot/browser"
)

const (
	// lookInterval paces the looks at the page while something is awaited.
	lookInterval = 100 * time.Millisecond
	// pressedTime is how long a pressed element may take to go away.
	pressedTime = time.Second
)

// press clicks an element and gives it a moment to go away, so that a switch is
// not pressed twice.
func (s *site) press(ctx context.Context, page Page, element string) error {
	if err := page.ClickElement(ctx, s.probe.element(element)); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, pressedTime)
	defer cancel()
	err := s.repeat(waiting, page, func(snapshot Snapshot) (bool, error) {
		return !snapshot.Visible(element), nil
	})
	if ctx.Err() == nil && waiting.Err() != nil {
		return nil // still there: whoever asked looks again
	}
	return err
}

// enter presses the Enter key in whatever has the focus.
func (s *site) enter(ctx context.Context, page Page) error {
	if err := page.Press(ctx, browser.KeyEnter); err != nil {
		return fmt.Errorf("pressing Enter: %w", err)
	}
	return nil
}

// uncover brings a button into reach that is not: it answers the dialog that
// lies over the page, and else wakes the toolbars.
func (s *site) uncover(ctx context.Context, page Page, snapshot Snapshot) error {
	for _, element := range dismissals() {
		if snapshot.clickable(element) {
			return page.ClickElement(ctx, s.probe.element(element))
		}
	}
	return s.wake(ctx, page, snapshot)
}

// wake moves the mouse in the middle of the page, which brings hidden toolbars
// back.
func (s *site) wake(ctx context.Context, page Page, snapshot Snapshot) error {
	const span = 40 // pixels; enough to count as a movement
	x, y := snapshot.Width/2, snapshot.Height/2
	if x <= span || y <= span {
		x, y = 640, 360
	}
	for _, place := range []float64{x - span, x} {
		if err := page.MoveMouse(ctx, place, y); err != nil {
			return fmt.Errorf("moving the mouse: %w", err)
		}
	}
	return nil
}

// repeat looks at the page at once and then again and again until act is done,
// fails, or ctx ends. Errors that pass are no failure.
func (s *site) repeat(ctx context.Context, page Page, act func(Snapshot) (done bool, err error)) error {
	again := time.NewTicker(lookInterval)
	defer again.Stop()
	for {
		snapshot, err := s.probe.look(ctx, page)
		done := false
		if err == nil {
			done, err = act(snapshot)
		}
		switch {
		case done:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !passing(err):
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

// passing reports whether an error comes from a page that changed under the
// call, so that the next look may well succeed.
func passing(err error) bool {
	var interrupted *browser.InterruptedError
	var element *browser.ElementError
	return errors.As(err, &interrupted) || errors.As(err, &element)
}
