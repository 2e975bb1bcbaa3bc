package payment

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// maxText is the maximum length of a text in an event, in bytes. The provider's
// identifiers have at most 255 characters.
const maxText = 320

// lastSecond is the last second of the year 9999.
const lastSecond = 253402300799

// object is a JSON object. A field of an unexpected type is treated as missing,
// so that no event fails because of its content.
type object map[string]json.RawMessage

// parseObject returns nil when data is not a JSON object.
func parseObject(data []byte) object {
	var o object
	if json.Unmarshal(data, &o) != nil {
		return nil
	}
	return o // null is nil too
}

// object returns the object at a path, nil when there is none.
func (o object) object(path ...string) object {
	for _, key := range path {
		o = parseObject(o[key])
	}
	return o
}

// list returns the objects in the array with that key.
func (o object) list(key string) []object {
	var elements []json.RawMessage
	if json.Unmarshal(o[key], &elements) != nil {
		return nil
	}
	objects := make([]object, 0, len(elements))
	for _, element := range elements {
		if inner := parseObject(element); inner != nil {
			objects = append(objects, inner)
		}
	}
	return objects
}

// text returns the string with that key, "" when it is too long or contains
// control characters.
func (o object) text(key string) string {
	var s string
	if json.Unmarshal(o[key], &s) != nil || len(s) > maxText || strings.ContainsFunc(s, isControl) {
		return ""
	}
	return strings.TrimSpace(s)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// first returns the first non-empty text of the keys.
func (o object) first(keys ...string) string {
	for _, key := range keys {
		if s := o.text(key); s != "" {
			return s
		}
	}
	return ""
}

// id returns the ID in a reference, which is either the ID or the expanded
// object.
func (o object) id(key string) string {
	if s := o.text(key); s != "" {
		return s
	}
	return o.object(key).text("id")
}

// seconds returns the Unix time with that key, zero when it is invalid.
func (o object) seconds(key string) time.Time {
	n, err := strconv.ParseInt(string(o[key]), 10, 64)
	if err != nil || n <= 0 || n > lastSecond {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}
