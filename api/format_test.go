package api

import (
	"testing"
	"time"
)

func TestParseDateTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-20T13:00:00Z":            "2026-11-20T13:00:00Z",
		"2026-11-20t13:00:00z":            "2026-11-20T13:00:00Z",
		"2026-11-20T14:00:00+01:00":       "2026-11-20T13:00:00Z",
		"2026-11-20T13:00:00-00:00":       "2026-11-20T13:00:00Z",
		"2026-11-20T13:00:00+00:00":       "2026-11-20T13:00:00Z",
		"2026-11-20T18:45:00.5+05:45":     "2026-11-20T13:00:00.5Z",
		"2026-11-20T13:00:00.123456789Z":  "2026-11-20T13:00:00.123456789Z",
		"2026-11-20T13:00:00.1234567899Z": "2026-11-20T13:00:00.123456789Z",
		"2024-02-29T00:00:00Z":            "2024-02-29T00:00:00Z",
		"1998-12-31T23:59:60Z":            "1999-01-01T00:00:00Z",
		"1998-12-31T15:59:60.123-08:00":   "1999-01-01T00:00:00Z",
		"0000-01-01T00:00:00Z":            "0000-01-01T00:00:00Z",
		"9999-12-31T23:59:59Z":            "9999-12-31T23:59:59Z",
		"":                                "",
		"2026-11-20":                      "",
		"13:00:00Z":                       "",
		"2026-11-20 13:00:00Z":            "",
		"2026-11-20T13:00Z":               "2026-11-20T13:00:00Z",
		"2026-11-20T13:00:00+0100":        "2026-11-20T12:00:00Z",
		"2026-11-20T13:00:00+01":          "2026-11-20T12:00:00Z",
		"20261120T130000Z":                "2026-11-20T13:00:00Z",
		"20261120t1300z":                  "2026-11-20T13:00:00Z",
		"20261120T130000.25-0330":         "2026-11-20T16:30:00.25Z",
		"20261120T240000Z":                "",
		"20261120T13:00:00Z":              "",
		"2026-11-20T130000Z":              "",
		"2026-11-20T13:00.5Z":             "",
		"2026-11-20T13:00:00":             "",
		"20261120T130000":                 "",
		"2026-11-20T13:00:00,5Z":          "",
		"2026-11-20T13:00:00.Z":           "",
		"2026-11-20T3:00:00Z":             "",
		"2026-13-20T13:00:00Z":            "",
		"2025-02-29T13:00:00Z":            "",
		"2026-11-20T24:00:00Z":            "",
		"2026-11-20T13:00:61Z":            "",
		"2026-11-20T13:00:60Z":            "",
		"2026-11-20T13:00:00+24:00":       "",
		"2026-11-20T13:00:00Z ":           "",
		"2026-11-20T13:00:00Z\n":          "",
		"12026-11-20T13:00:00Z":           "",
		"0000-01-01T00:00:00+01:00":       "", // year -1 in UTC
		"9999-12-31T23:59:59-01:00":       "", // year 10000 in UTC
		"۲۰۲۶-11-20T13:00:00Z":            "",
		"1763643600":                      "",
		"Fri, 20 Nov 2026 13:00:00 +0000": "",
	} {
		parsed, ok := parseDateTime(text)
		got := ""
		if ok {
			got = parsed.Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		check func(string) bool
		text  string
		valid bool
	}{
		{uuidForm.MatchString, "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80", true},
		{uuidForm.MatchString, "0192F5C8-5C1E-7A30-9A4F-3F1D2B6C7E80", true},
		{uuidForm.MatchString, "00000000-0000-0000-0000-000000000000", true},
		{uuidForm.MatchString, "0192f5c85c1e7a309a4f3f1d2b6c7e80", false},
		{uuidForm.MatchString, "{0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80}", false},
		{uuidForm.MatchString, "urn:uuid:0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80", false},
		{uuidForm.MatchString, "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e8g", false},
		{uuidForm.MatchString, "", false},
		{isEmail, "ada@example.com", true},
		{isEmail, "ada.l+notes@sub.example.com", true},
		{isEmail, "Ada <ada@example.com>", false},
		{isEmail, "ada", false},
		{isEmail, "ada@", false},
		{isEmail, "@example.com", false},
		{isEmail, "", false},
	} {
		if got := test.check(test.text); got != test.valid {
			t.Errorf("%q: got valid %v, want %v", test.text, got, test.valid)
		}
	}
}
