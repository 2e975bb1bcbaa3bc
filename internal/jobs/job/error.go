package job

import (
	"errors"
	"fmt"
)

// ErrorCode is the stable code of an error body (see docs/api.md).
type ErrorCode string

// The codes of the domain. An error without a code is an internal one: it is
// logged and never shown.
const (
	InvalidInput ErrorCode = "invalid_input"
	Unauthorized ErrorCode = "unauthorized"
	NotFound     ErrorCode = "not_found"
	InvalidState ErrorCode = "invalid_state"
	OverQuota    ErrorCode = "quota_exceeded"
	TooEarly     ErrorCode = "too_early"
	Unavailable  ErrorCode = "unavailable" // what the request needs is not configured, or does not answer
)

// Error is an error for the caller: a code for programs and a sentence for
// people.
type Error struct {
	Code    ErrorCode
	Message string
	Path    []any // of InvalidInput: the invalid field, as names and array indexes
}

// NewError returns an Error; path is that of an invalid field.
func NewError(code ErrorCode, message string, path ...any) *Error { return &Error{code, message, path} }

// NewInvalidInput returns the Error of an invalid field, whose path follows the message.
func NewInvalidInput(message string, path ...any) *Error {
	return NewError(InvalidInput, message, path...)
}

// NewInvalidState returns the Error of a request that does not fit what it is about, such as a job that has ended.
func NewInvalidState(format string, args ...any) *Error {
	return NewError(InvalidState, fmt.Sprintf(format, args...))
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// ErrorIs reports whether err is, or wraps, an Error of that code.
func ErrorIs(err error, code ErrorCode) bool {
	own, ok := errors.AsType[*Error](err)
	return ok && own.Code == code
}

// IsNotFound reports whether err is, or wraps, an Error with NotFound.
func IsNotFound(err error) bool { return ErrorIs(err, NotFound) }
