package browser

import (
	"errors"
	"fmt"
)

// GoneError is returned by every call on a browser that has exited or whose
// control pipe is broken.
type GoneError struct {
	// Cause is why the browser ended, or nil if that is unknown.
	Cause error
}

// Error includes the cause.
func (e *GoneError) Error() string {
	if e.Cause == nil {
		return "the browser is gone"
	}
	return "the browser is gone: " + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *GoneError) Unwrap() error { return e.Cause }

var (
	// ErrClosed is the cause in a GoneError after Close.
	ErrClosed = errors.New("closed by Close")

	// ErrPageCrashed is returned by every call on a page whose renderer process
	// has crashed.
	ErrPageCrashed = errors.New("the page has crashed")

	// ErrPageClosed is returned by every call on a closed page.
	ErrPageClosed = errors.New("the page is closed")
)

// NavigationError reports that a page did not load. It does not contain the
// address, because meeting addresses contain passcodes.
type NavigationError struct {
	// Reason is Chromium's error code, for example net::ERR_NAME_NOT_RESOLVED.
	Reason string
}

// Error includes the reason.
func (e *NavigationError) Error() string { return "the page did not load: " + e.Reason }

// ScriptError is an exception or a promise rejection of an evaluated script.
type ScriptError struct {
	// Description is the text of the exception, with its stack if it has one.
	Description string
}

// Error includes the description.
func (e *ScriptError) Error() string { return "script failed: " + e.Description }

// InterruptedError reports that a command had no result. An evaluation is
// interrupted when the page navigates; the error says nothing about the page.
type InterruptedError struct {
	Cause error
}

// Error includes the cause.
func (e *InterruptedError) Error() string {
	return "the page returned no result: " + e.Cause.Error()
}

// Unwrap returns the browser's error.
func (e *InterruptedError) Unwrap() error { return e.Cause }

// ElementError reports that an element is not on the page, is not visible, or is
// covered by another one.
type ElementError struct {
	// Locator is the selector or expression of the element.
	Locator string
	// Hidden means that all matching elements are invisible.
	Hidden bool
	// Covered means that another element was at that place when the mouse button
	// went down. That element received no event.
	Covered bool
}

// Error includes the locator.
func (e *ElementError) Error() string {
	if e.Covered {
		return fmt.Sprintf("another element covers element %s", e.Locator)
	}
	if e.Hidden {
		return fmt.Sprintf("element %s is not visible", e.Locator)
	}
	return fmt.Sprintf("no element %s on the page", e.Locator)
}
