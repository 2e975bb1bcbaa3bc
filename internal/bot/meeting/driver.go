package meeting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"standin/internal/base/retry"
	"standin/internal/bot/browser"
)

const (
	// pollInterval is the time between snapshots while waiting for something.
	pollInterval = 100 * time.Millisecond
	// pressTimeout is how long a pressed element may take to disappear.
	pressTimeout = time.Second
)

// driver takes snapshots of a page and acts on its elements.
type driver struct {
	probe probe
}

// maxScriptFailures limits how often in a row the probe may fail: it may run while
// the page's document is being replaced.
const maxScriptFailures = 20

// poll takes snapshots until act is done or fails, or until ctx ends. Transient
// errors do not end it, and the probe may fail some times.
func (d driver) poll(ctx context.Context, page Page, act func(Snapshot) (done bool, err error)) error {
	for failures := 0; ; {
		snapshot, err := d.probe.snapshot(ctx, page)
		done := false
		if failures++; err == nil {
			failures = 0
			done, err = act(snapshot)
		}
		mayPass := Transient(err) || errors.As(err, new(*browser.ScriptError)) && failures < maxScriptFailures
		switch {
		case done:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !mayPass:
			return err
		}
		if err := retry.Sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}

// pollFor is poll for a limited time. timedOut reports that the time was up, which is no
// error.
func (d driver) pollFor(
	ctx context.Context, page Page, timeout time.Duration, act func(context.Context, Snapshot) (done bool, err error),
) (timedOut bool, err error) {
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = d.poll(waiting, page, func(snapshot Snapshot) (bool, error) { return act(waiting, snapshot) })
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return true, nil
	}
	return false, err
}

// press clicks an element and waits up to pressTimeout for it to disappear, so
// that a toggle is not pressed twice. An element that stays is no error.
func (d driver) press(ctx context.Context, page Page, element string) error {
	if err := d.click(ctx, page, element); err != nil {
		return err
	}
	_, err := d.pollFor(ctx, page, pressTimeout, func(_ context.Context, snapshot Snapshot) (bool, error) {
		return !snapshot.Visible(element), nil
	})
	return err
}

// click clicks an element.
func (d driver) click(ctx context.Context, page Page, element string) error {
	return page.ClickElement(ctx, d.probe.find(element))
}

// clickScript clicks the element that an expression yields.
func clickScript(ctx context.Context, page Page, element, expression string) error {
	if err := page.Eval(ctx, "(element => { if (element) element.click(); })("+expression+")", nil); err != nil {
		return fmt.Errorf("click %s by script: %w", element, err)
	}
	return nil
}

// reload loads the page again.
func reload(ctx context.Context, page Page) error {
	if err := page.Eval(ctx, "location.reload()", nil); err != nil && !Transient(err) {
		return fmt.Errorf("reload the page: %w", err)
	}
	return nil
}

// pressKey presses a key in the focused element. The Escape key closes dialogs and menus.
func pressKey(ctx context.Context, page Page, name, key string) error {
	if err := page.Press(ctx, key); err != nil {
		return fmt.Errorf("press %s: %w", name, err)
	}
	return nil
}

// uncover makes a button reachable: it answers the dialog that covers the page,
// or else shows hidden toolbars.
func (d driver) uncover(ctx context.Context, page Page, snapshot Snapshot) error {
	for _, element := range dismissals() {
		if snapshot.clickable(element) {
			return d.click(ctx, page, element)
		}
	}
	return d.showToolbars(ctx, page, snapshot)
}

// showToolbars moves the mouse in the middle of the page, which shows hidden
// toolbars.
func (d driver) showToolbars(ctx context.Context, page Page, snapshot Snapshot) error {
	const distance = 40 // pixels; enough to count as a movement
	x, y := snapshot.Width/2, snapshot.Height/2
	if x <= distance || y <= distance {
		x, y = 640, 360
	}
	for _, x := range []float64{x - distance, x} {
		if err := page.MoveMouse(ctx, x, y); err != nil {
			return fmt.Errorf("move the mouse: %w", err)
		}
	}
	return nil
}

// Transient reports whether an error comes from a page that changed during the
// call, so that the next call may succeed.
func Transient(err error) bool {
	return errors.As(err, new(*browser.InterruptedError)) || errors.As(err, new(*browser.ElementError))
}

// stepKind is the kind of the next action on the way in or out.
type stepKind int

const (
	stepWait   stepKind = iota
	stepPress           // the element
	stepClick           // the element, by script: a click with the mouse has no effect
	stepType            // the text into the element
	stepEnter           // the Enter key, in the field that was typed into
	stepReveal          // show what is hidden or covered
	stepReload          // load the page again
	stepDone
	stepFail // it cannot succeed
)

// step is the next action and its element.
type step struct {
	kind     stepKind
	element  string
	text     string // text to type
	evidence string // why joining cannot succeed, where no screen shows it
}

// pressStep returns the step that presses an element.
func pressStep(element string) step { return step{kind: stepPress, element: element} }
