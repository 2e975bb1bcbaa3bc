package simulator

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzParseOptions checks that the options of a job are within their limits, or refused with a
// short reason.
func FuzzParseOptions(f *testing.F) {
	for _, metadata := range []string{
		`{"simulate":"lobby"}`, `{"simulate":{"outcome":"slow_meeting","seconds":65.4,"speed":100,"permission":"denied"}}`, `{"simulate":null}`,
		`{"simulate":{"seconds":1e308}}`, `{"simulate":{"speed":-0}}`, `{"simulate":{"outcome":"\ud800"}}{}`, `[{"simulate":17}]`,
	} {
		f.Add(metadata)
	}
	f.Fuzz(func(t *testing.T, metadata string) {
		o, err := parseOptions(nil, json.RawMessage(metadata))
		if err != nil && utf8.RuneCountInString(err.Error()) > 1000 {
			t.Errorf("the reason is %.2000s", err)
		}
		if err == nil && (o.name == "" || o.speed < 1 || o.speed > maxSpeed || o.duration < 0 || o.duration.Seconds() > maxSeconds ||
			o.permission == "") {
			t.Errorf("options %+v", o)
		}
	})
}
