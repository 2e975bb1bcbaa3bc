package browser

import (
	"errors"
	"fmt"
)

// GoneError is the error of every call on a browser whose process has ended or
// whose control pipe is broken.
type GoneError struct {
	// Cause tells how the browser ended, as far as it is known.
	Cause error
}

// Error tells how the browser ended.
func (e *GoneError) Error() string {
	if e.Cause == nil {
		return "the browser is gone"
	}
	return "the browser is gone: " + e.Cause.Error()
}

// Unwrap returns how the browser ended.
func (e *GoneError) Unwrap() error { return e.Cause }

var (
	// ErrClosed is the cause in a GoneError when the browser was ended by Close.
	ErrClosed = errors.New("closed by its owner")

	// ErrPageCrashed is the error of every call on a page whose renderer
	// process has crashed.
	ErrPageCrashed = errors.New("the page has crashed")

	// ErrPageClosed is the error of every call on a closed page.
	ErrPageClosed = errors.New("the page is closed")
)

// NavigationError says that a page did not load. The address is left out of
// the text because meeting addresses carry passcodes.
type NavigationError struct {
	// Reason is Chromium's name of the failure, such as
	// net::ERR_NAME_NOT_RESOLVED.
	Reason string
}

// Error tells why the page did not load.
func (e *NavigationError) Error() string { return "the page did not load: " + e.Reason }

// ScriptError is an exception thrown, or a rejection returned, by an evaluated
// script.
type ScriptError struct {
	// Description is the exception as the page describes it, with its stack
	// where there is one.
	Description string
}

// Error repeats the exception.
func (e *ScriptError) Error() string { return "script failed: " + e.Description }

// InterruptedError says that the browser gave a command no result: in an
// evaluation this happens when the page navigates away under the script. It is
// no evidence about the page.
type InterruptedError struct {
	Cause error
}

// Error tells what the browser answered instead of a result.
func (e *InterruptedError) Error() string {
	return "the page gave no result: " + e.Cause.Error()
}

// Unwrap returns the browser's own answer.
func (e *InterruptedError) Unwrap() error { return e.Cause }

// ElementError says that an element to act on is not on the page, or is there
// but cannot be seen.
type ElementError struct {
	// Locator is the selector or expression that was looked for.
	Locator string
	// Hidden tells that matches exist, all of them invisible.
	Hidden bool
	// Covered tells that something else lay there when it was to be clicked,
	// which was left alone.
	Covered bool
}

// Error names the element.
func (e *ElementError) Error() string {
	if e.Covered {
		return fmt.Sprintf("something else lies over element %s", e.Locator)
	}
	if e.Hidden {
		return fmt.Sprintf("element %s is not visible", e.Locator)
	}
	return fmt.Sprintf("no element %s on the page", e.Locator)
}
