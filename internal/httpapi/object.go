package httpapi

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"time"

	"standin/api"
)

// object is a JSON object that was checked against its schema, so that every
// field that is there has its type. Fields are read by their exact names,
// which encoding/json would not do.
type object map[string]any

func asObject(value any) object {
	fields, _ := value.(map[string]any)
	return fields
}

// has reports whether a field is there.
func (o object) has(name string) bool {
	_, ok := o[name]
	return ok
}

// text returns a string, empty when the field is omitted.
func (o object) text(name string) string {
	text, _ := o[name].(string)
	return text
}

// whole returns an integer, or the fallback when the field is omitted. The
// schema's bounds keep it within int64.
func (o object) whole(name string, fallback int64) int64 {
	number, ok := o[name].(json.Number)
	if !ok {
		return fallback
	}
	if whole, err := strconv.ParseInt(string(number), 10, 64); err == nil {
		return whole
	}
	exact, ok := new(big.Rat).SetString(string(number)) // 60.0 and 6e1 are integers too
	if !ok {
		return fallback
	}
	return exact.Num().Int64()
}

// number returns a number, 0 when the field is omitted. One that is beyond the
// range of a float64 does not come past the parser.
func (o object) number(name string) float64 {
	number, _ := o[name].(json.Number)
	value, err := number.Float64()
	if err != nil {
		return 0
	}
	return value
}

// flag returns a boolean, or false when the field is omitted.
func (o object) flag(name string) bool {
	flag, _ := o[name].(bool)
	return flag
}

// inner returns an object, empty when the field is omitted.
func (o object) inner(name string) object { return asObject(o[name]) }

// texts returns an array of strings.
func (o object) texts(name string) []string {
	values, _ := o[name].([]any)
	var texts []string
	for _, value := range values {
		if text, ok := value.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// time returns a date-time, or the zero time when the field is omitted.
func (o object) time(name string) (time.Time, error) {
	text, ok := o[name].(string)
	if !ok {
		return time.Time{}, nil
	}
	parsed, err := api.ParseDateTime(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("read %s: %w", name, err)
	}
	return parsed, nil
}

// raw returns a field as JSON, or the fallback when it is omitted.
func (o object) raw(name, fallback string) (json.RawMessage, error) {
	value, ok := o[name]
	if !ok {
		return json.RawMessage(fallback), nil
	}
	text, err := encode(value)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return text[:len(text)-1], nil // the line break that Encode adds
}
