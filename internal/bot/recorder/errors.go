package recorder

import (
	"errors"
	"time"
)

// ErrCaptureEnded means that the page was closed or crashed. All recorded chunks are
// stored.
var ErrCaptureEnded = errors.New("the recorded page is gone")

// ErrStopTimeout means that the context of Stop ended first. Chunks that were still
// in the browser are lost.
var ErrStopTimeout = errors.New("the recording did not stop in time")

// EncoderError means that the encoder failed. All recorded chunks are stored.
type EncoderError struct {
	Detail string
}

// Error includes the detail.
func (e *EncoderError) Error() string { return "the browser's encoder failed: " + e.Detail }

// StallError means that a recording produced no chunk for too long.
type StallError struct {
	// Since is when the last chunk was stored, or recording started or resumed.
	Since time.Time
	// Cause is the error of the sink, if the sink did not store the next chunk.
	Cause error
}

// Error includes the time and the cause.
func (e *StallError) Error() string {
	text := "nothing was recorded since " + e.Since.UTC().Format(time.RFC3339)
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the error of the sink.
func (e *StallError) Unwrap() error { return e.Cause }
