package recording

import (
	"fmt"
	"strings"
)

// NotFoundError says that storage does not hold what was asked for.
type NotFoundError struct {
	What string // the manifest, or a media name
}

func (e *NotFoundError) Error() string { return e.What + " is not in storage" }

// NameError says that a name may not be given to an upload or a media file.
type NameError struct {
	Name string
}

func (e *NameError) Error() string { return fmt.Sprintf("%q is no media name", e.Name) }

// ChecksumError says that a body is not the one whose sum was declared.
type ChecksumError struct {
	Declared string
	Actual   string // empty when what was declared is no SHA-256 in hex
}

func (e *ChecksumError) Error() string {
	if e.Actual == "" {
		return fmt.Sprintf("%q is no SHA-256 in hex", e.Declared)
	}
	return fmt.Sprintf("the body's SHA-256 is %s, not %s as declared", e.Actual, e.Declared)
}

// TooLargeError says that a body is longer than allowed.
type TooLargeError struct {
	MaxBytes int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the body is longer than %d bytes", e.MaxBytes)
}

// ConflictError says that an upload of this name holds other bytes already.
type ConflictError struct {
	Name string
}

func (e *ConflictError) Error() string {
	return e.Name + " was uploaded before with another content"
}

// MissingToolError says that a program is not installed.
type MissingToolError struct {
	Tool string // ffmpeg or ffprobe
}

func (e *MissingToolError) Error() string {
	return e.Tool + " was not found on PATH; it is part of ffmpeg: install that " +
		"(Debian, Ubuntu: apt-get install ffmpeg; Fedora: dnf install ffmpeg-free; Alpine: apk add ffmpeg; macOS: brew install ffmpeg)"
}

// NothingSavedError says that no usable media is there to make a recording of.
type NothingSavedError struct {
	Reasons []string // what was wrong with each part; empty when there was none
}

func (e *NothingSavedError) Error() string {
	if len(e.Reasons) == 0 {
		return "no media was saved"
	}
	return "no usable media was saved: " + strings.Join(e.Reasons, "; ")
}

// MediaMismatchError says that a bot's report names a finished file that was
// not uploaded as the report says.
type MediaMismatchError struct {
	Name   string
	Reason string
}

func (e *MediaMismatchError) Error() string {
	return fmt.Sprintf("the report's media file %q: %s", e.Name, e.Reason)
}
