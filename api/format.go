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
	check := func(name, want string, valid func(string) bool) *jsonschema.Format {
		return &jsonschema.Format{Name: name, Validate: func(value any) error {
			if text, ok := value.(string); ok && !valid(text) { // the type keyword checks other values
				return errors.New(want)
			}
			return nil
		}}
	}
	anyText := func(string) bool { return true }
	return []*jsonschema.Format{
		check("uuid", "a UUID, for example 0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80", uuidForm.MatchString),
		check("uri", "an absolute http or https URL with a host", isURI),
		check("date-time", "an ISO 8601 date-time with an offset, for example 2026-11-20T13:00:00Z", func(text string) bool {
			_, ok := parseDateTime(text)
			return ok
		}),
		check("email", "an e-mail address", isEmail),
		check(textFormat, "", anyText), // see preparation.text
		check(nameFormat, "", anyText),
	}
}

// uuidForm is the text form of RFC 9562, section 4, in either case.
var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// isURI accepts an absolute http or https URI with a host. Like browsers, it also
// accepts letters outside ASCII.
func isURI(text string) bool {
	// These are invalid in every part of a URL, but url.Parse accepts them in some.
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("<>\"\\`", r) }) {
		return false
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Hostname() == "" || parsed.Scheme != "http" && parsed.Scheme != "https" { // it is in lower case
		return false
	}
	_, err = strconv.ParseUint(cmp.Or(parsed.Port(), "0"), 10, 16)
	return err == nil
}

func isEmail(text string) bool {
	address, err := mail.ParseAddress(text)
	return err == nil && address.Address == text
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
func parseDateTime(text string) (at time.Time, ok bool) {
	part := dateTimeForm.FindStringSubmatch(text)
	if part == nil {
		return at, false
	}
	of := func(i int) string { return part[i] + part[i+6] } // extended or basic form
	seconds, leap := cmp.Or(of(6), "00"), time.Duration(0)
	if seconds == "60" {
		seconds, leap = "59", time.Second
	}
	offset := "Z"
	if part[14] != "" {
		offset = part[14] + part[15] + ":" + cmp.Or(part[16], "00")
	}
	parsed, err := time.Parse(time.RFC3339Nano,
		part[1]+"-"+of(2)+"-"+of(3)+"T"+of(4)+":"+of(5)+":"+seconds+of(7)+offset)
	parsed = parsed.UTC()
	// Leap seconds are inserted before midnight UTC only (RFC 3339, appendix D).
	if err != nil || leap > 0 && (parsed.Hour() != 23 || parsed.Minute() != 59) {
		return at, false
	}
	if leap > 0 {
		parsed = parsed.Truncate(time.Second).Add(leap)
	}
	return parsed, parsed.Year() >= 0 && parsed.Year() <= 9999
}
