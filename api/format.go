package api

import (
	"errors"
	"net/mail"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// formats lists the formats that this package checks in its own way. Each
// error completes the sentence "the field must be …".
func formats() []*jsonschema.Format {
	check := func(name string, valid func(string) error) *jsonschema.Format {
		return &jsonschema.Format{Name: name, Validate: func(value any) error {
			if text, ok := value.(string); ok {
				return valid(text)
			}
			return nil // type says what else may stand here
		}}
	}
	return []*jsonschema.Format{
		check("uuid", checkUUID),
		check("uri", checkURI),
		check("date-time", func(text string) error { _, err := ParseDateTime(text); return err }),
		check("email", checkEmail),
	}
}

var (
	errUUID     = errors.New("a UUID, for example 0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80")
	errURI      = errors.New("an absolute http or https URL with a host")
	errDateTime = errors.New("an RFC 3339 date-time with an offset, for example 2026-11-20T13:00:00Z")
	errEmail    = errors.New("an e-mail address")
)

// uuidForm is the text form of RFC 9562, section 4, in either case.
var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func checkUUID(text string) error {
	if !uuidForm.MatchString(text) {
		return errUUID
	}
	return nil
}

// checkURI takes any absolute http or https URI with a host (contract, Jobs).
// Beyond RFC 3986 it takes letters outside ASCII, which browsers take too.
func checkURI(text string) error {
	if strings.ContainsFunc(text, neverInURL) {
		return errURI
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Hostname() == "" {
		return errURI
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" { // Parse lowers the scheme
		return errURI
	}
	if port := parsed.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return errURI
		}
	}
	return nil
}

// neverInURL reports the characters that can stand in no part of a URL and
// that url.Parse lets through in some.
func neverInURL(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune("<>\"\\`", r)
}

func checkEmail(text string) error {
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text {
		return errEmail
	}
	return nil
}

// dateTimeForm is date-time of RFC 3339, section 5.6, in either case.
var dateTimeForm = regexp.MustCompile(
	`^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d):(\d\d)(\.\d+)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$`)

// ParseDateTime reads a date-time as the description's schemas take it: RFC
// 3339 with any offset and any number of decimals. A leap second is read as
// the first moment of the next minute. The result is in UTC, and its year there is
// 0 to 9999 so that it can be written again.
func ParseDateTime(text string) (time.Time, error) {
	part := dateTimeForm.FindStringSubmatch(text)
	if part == nil {
		return time.Time{}, errDateTime
	}
	seconds, leap := part[3], time.Duration(0)
	if seconds == "60" {
		seconds, leap = "59", time.Second
	}
	parsed, err := time.Parse(time.RFC3339Nano,
		part[1]+"T"+part[2]+":"+seconds+part[4]+strings.ToUpper(part[5]))
	if err != nil {
		return time.Time{}, errDateTime
	}
	parsed = parsed.UTC()
	if leap > 0 {
		// Leap seconds are inserted before midnight UTC only (RFC 3339, appendix D).
		if parsed.Hour() != 23 || parsed.Minute() != 59 {
			return time.Time{}, errDateTime
		}
		parsed = parsed.Truncate(time.Second).Add(leap)
	}
	if parsed.Year() < 0 || parsed.Year() > 9999 {
		return time.Time{}, errDateTime
	}
	return parsed, nil
}
