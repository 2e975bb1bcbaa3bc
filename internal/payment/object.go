package payment

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// maxText bounds every text that is taken from an event, in bytes. The
// provider's identifiers are at most 255 characters.
const maxText = 320

// lastSecond is the last second of the year 9999.
const lastSecond = 253402300799

// object is a JSON object read field by field. A field of another type than
// asked for counts as absent, so that no event can fail for its content.
type object map[string]json.RawMessage

// parseObject returns nil when data is no JSON object.
func parseObject(data []byte) object {
	var o object
	if json.Unmarshal(data, &o) != nil {
		return nil
	}
	return o // null gives nil too
}

// object returns the object at the path, nil when there is none.
func (o object) object(path ...string) object {
	for _, key := range path {
		o = parseObject(o[key])
	}
	return o
}

// list returns the objects of the array at the key.
func (o object) list(key string) []object {
	var places []json.RawMessage
	if json.Unmarshal(o[key], &places) != nil {
		return nil
	}
	objects := make([]object, 0, len(places))
	for _, place := range places {
		if inner := parseObject(place); inner != nil {
			objects = append(objects, inner)
		}
	}
	return objects
}

// text returns the string at the key; "" when it is too long or holds control
// characters, which no identifier, name or address does.
func (o object) text(key string) string {
	var s string
	if json.Unmarshal(o[key], &s) != nil || len(s) > maxText || strings.ContainsFunc(s, isControl) {
		return ""
	}
	return strings.TrimSpace(s)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// first returns the first of the keys' texts that is not empty.
func (o object) first(keys ...string) string {
	for _, key := range keys {
		if s := o.text(key); s != "" {
			return s
		}
	}
	return ""
}

// id returns what a reference points to: the provider writes an identifier,
// or, where it was told to expand it, the whole object.
func (o object) id(key string) string {
	if s := o.text(key); s != "" {
		return s
	}
	return o.object(key).text("id")
}

// seconds returns the time that the key gives in seconds since 1970, zero when
// it is none.
func (o object) seconds(key string) time.Time {
	n, err := strconv.ParseInt(string(o[key]), 10, 64)
	if err != nil || n <= 0 || n > lastSecond {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}
