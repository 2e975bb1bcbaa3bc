package recording

import (
	"errors"
	"fmt"
)

// NotFoundError reports a missing object.
type NotFoundError struct {
	What string // the manifest, or a media name
}

func (e *NotFoundError) Error() string { return e.What + " is not in storage" }

// IsNotFound reports whether an error says that a recording, or a file of it, does not exist.
func IsNotFound(err error) bool { return errors.As(err, new(*NotFoundError)) }

// NameError reports an invalid name of an upload or a media file.
type NameError struct {
	Name string
}

func (e *NameError) Error() string { return fmt.Sprintf("%q is no media name", e.Name) }

// ChecksumError reports a body whose checksum differs from the declared one.
type ChecksumError struct {
	Declared string
	Actual   string // empty when Declared is not a SHA-256 in hex
}

func (e *ChecksumError) Error() string {
	if e.Actual == "" {
		return fmt.Sprintf("%q is no SHA-256 in hex", e.Declared)
	}
	return fmt.Sprintf("the body's SHA-256 is %s, not %s as declared", e.Actual, e.Declared)
}

// TooLargeError reports a body that exceeds the size limit.
type TooLargeError struct {
	MaxBytes int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the body is longer than %d bytes", e.MaxBytes)
}

// ConflictError reports that an upload with the same name has other content.
type ConflictError struct {
	Name string
}

func (e *ConflictError) Error() string {
	return e.Name + " was uploaded before with another content"
}

// QuotaError reports an upload that exceeds its job's quota.
type QuotaError struct{ Quota UploadQuota }

func (e *QuotaError) Error() string {
	return fmt.Sprintf("the bots of this job may upload %d files with %d bytes in all", e.Quota.Files, e.Quota.Bytes)
}
