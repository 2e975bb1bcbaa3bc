package api

import (
	"cmp"
	"errors"
	"net/mail"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// formats returns the formats that this package checks. Each error completes the
// sentence "the field must be …".
func formats() []*jsonschema.Format {
	check := func(name string, valid func(string) error) *jsonschema.Format {
		return &jsonschema.Format{Name: name, Validate: func(value any) error {
			if text, ok := value.(string); ok {
				return valid(text)
			}
			return nil // the type keyword checks other values
		}}
	}
	return []*jsonschema.Format{
		check("uuid", checkUUID),
		check("uri", checkURI),
		check("date-time", func(text string) error { _, err := parseDateTime(text); return err }),
		check("email", checkEmail),
		check(textFormat, anyText), // see preparation.text
		check(nameFormat, anyText),
	}
}

// anyText accepts every text.
func anyText(string) error { return nil }

var (
	errUUID     = errors.New("a UUID, for example 0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80")
	errURI      = errors.New("an absolute http or https URL with a host")
	errDateTime = errors.New("an ISO 8601 date-time with an offset, for example 2026-11-20T13:00:00Z")
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

// checkURI accepts an absolute http or https URI with a host. Like browsers, it also
// accepts letters outside ASCII.
func checkURI(text string) error {
	if strings.ContainsFunc(text, invalidInURL) {
		return errURI
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Hostname() == "" {
		return errURI
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" { // url.Parse converts the scheme to lower case
		return errURI
	}
	if port := parsed.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return errURI
		}
	}
	return nil
}

// invalidInURL reports characters that are invalid in every part of a URL, but that
// url.Parse accepts in some.
func invalidInURL(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune("<>\"\\`", r)
}

func checkEmail(text string) error {
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text {
		return errEmail
	}
	return nil
}

// dateTimeForm is a date-time of ISO 8601 with an offset: the extended form of RFC
// 3339, section 5.6, and the basic form without separators. Seconds and the
// minutes of the offset are optional.
var dateTimeForm = regexp.MustCompile(
	`^(\d{4})(?:-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(\.\d+)?)?|(\d\d)(\d\d)[Tt](\d\d)(\d\d)(?:(\d\d)(\.\d+)?)?)` +
		`(?:[Zz]|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)$`)

// parseDateTime parses a date-time of ISO 8601 with an offset, for example
// 2026-11-20T13:00:00Z, 2026-11-20T13:00+0100 or 20261120T130000Z. A leap second is
// the start of the next minute. The result is in UTC, with a year from 0 to 9999.
func parseDateTime(text string) (time.Time, error) {
	part := dateTimeForm.FindStringSubmatch(text)
	if part == nil {
		return time.Time{}, errDateTime
	}
	at := func(i int) string { return part[i] + part[i+6] } // extended or basic form
	seconds, leap := cmp.Or(at(6), "00"), time.Duration(0)
	if seconds == "60" {
		seconds, leap = "59", time.Second
	}
	offset := "Z"
	if part[14] != "" {
		offset = part[14] + part[15] + ":" + cmp.Or(part[16], "00")
	}
	parsed, err := time.Parse(time.RFC3339Nano,
		part[1]+"-"+at(2)+"-"+at(3)+"T"+at(4)+":"+at(5)+":"+seconds+at(7)+offset)
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
