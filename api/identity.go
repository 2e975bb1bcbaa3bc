package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// FindIdentity reads and checks jobId and attempt of a bot's message, to which its
// token is bound. It only scans the rest of the message, so that a message without a
// valid token costs little memory. It does not apply the bounds of Parse to the rest.
//
// The check is of the top-level fields jobId and attempt. One that cannot be valid is an
// empty list, and so is a message that is not an object.
func (d *Description) FindIdentity(message []byte) Checked {
	if problem := textProblem(message); problem != "" {
		return unreadable(problem)
	}
	var identity any = []any{}
	decoder := json.NewDecoder(bytes.NewReader(message))
	if bytes.TrimLeft(message, " \t\r\n")[0] == '{' {
		fields := make(map[string]any)
		identity = fields
		_, _ = decoder.Token() // the brace
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return unreadable(syntaxMessage(err))
			}
			value := identityValue{wanted: name == "jobId" || name == "attempt"}
			if err := decoder.Decode(&value); err != nil {
				return unreadable(syntaxMessage(err))
			}
			if value.wanted {
				fields[name.(string)] = value.parsed
			}
		}
		if _, err := decoder.Token(); err != nil {
			return unreadable(syntaxMessage(err))
		}
	} else if err := decoder.Decode(new(identityValue)); err != nil {
		return unreadable(syntaxMessage(err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return unreadable(trailingText)
	}
	return d.identity.check(identity)
}

// identityValue is the value of a field, which is parsed only if it is wanted.
type identityValue struct {
	wanted bool
	parsed any
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *identityValue) UnmarshalJSON(value []byte) error {
	if !v.wanted {
		return nil
	}
	if v.parsed = []any{}; len(value) <= 1024 { // a valid one has fewer bytes
		if parsed, issues := Parse(value); len(issues) == 0 {
			v.parsed = parsed
		}
	}
	return nil
}

// textProblem returns why a text cannot be JSON; "" if it may be.
func textProblem(body []byte) string {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return "the body is empty"
	case !utf8.Valid(body):
		return "the body is not valid UTF-8"
	}
	return ""
}

const trailingText = "the body has text after the JSON value"

// unreadable returns the result of the check of a body that is not JSON.
func unreadable(message string) Checked {
	return Checked{Issues: []Issue{{Path: []any{}, Message: message, Code: CodeInvalidJSON}}}
}
