package job

import "errors"

// ErrorCode is a stable machine code, as it stands in error bodies
// (specification, Errors; contract, Errors and limits).
type ErrorCode string

// The codes that the domain itself gives. Anything that carries none is an
// internal error: logged, and never shown.
const (
	InvalidInput ErrorCode = "invalid_input"
	Unauthorized ErrorCode = "unauthorized"
	NotFound     ErrorCode = "not_found"
	InvalidState ErrorCode = "invalid_state"
)

// Error is an error meant for the caller: a code for programs and a sentence
// for people.
type Error struct {
	Code    ErrorCode
	Message string
	Path    []any // of InvalidInput: the field at fault, names and array places
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// ErrorIs reports whether err is, or wraps, an Error of that code.
func ErrorIs(err error, code ErrorCode) bool {
	var own *Error
	return errors.As(err, &own) && own.Code == code
}
