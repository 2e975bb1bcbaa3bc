package api_test

import (
	"testing"

	"standin/api"
)

// matched are valid bodies that need no schema, and unmatched are valid ones that do.
var matched, unmatched = map[string][]string{
	"createJob": {
		`{` + goodJob + `}`,
		`{` + goodJob + `,"joinAt":"2026-11-20T13:00:00Z","metadata":{"customer":"ada","room":7}}`,
		`{` + goodJob + `,"platform":"zoom-web","displayName":"","webhooks":{"onFinalize":"https://example.com/"},"unknown":[]}`,
		`{` + goodJob + `,"autoLeave":{"afterEntryDelaySeconds":1,"afterSilenceSeconds":86400,"onBotDetected":true}}`,
	},
	"ingestEvent": {`{` + goodBot + `,"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z","data":{"failureCode":7}}`},
}, map[string][]string{
	"createJob": {`{` + goodJob + `,"autoLeave":{"afterEntryDelaySeconds":6e2}}`},
	"heartbeat": {`{` + goodBot + `,"acked":["0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80"]}`},
}

func TestMatcher(t *testing.T) {
	t.Parallel()
	d := description(t)
	for want, bodies := range map[bool]map[string][]string{true: matched, false: unmatched} {
		for operation, texts := range bodies {
			for _, text := range texts {
				if matches, valid := d.Compare(operation, parse(t, text)); matches != want || !valid {
					t.Errorf("%s: %s matches %t, want %t; its schema: %t, want true", operation, text, matches, want, valid)
				}
			}
		}
	}
}

// FuzzMatcher checks that a matcher accepts no value that its schema does not.
func FuzzMatcher(f *testing.F) {
	for _, bodies := range []map[string][]string{matched, unmatched} {
		for _, texts := range bodies {
			for _, text := range texts {
				f.Add([]byte(text))
			}
		}
	}
	for _, text := range []string{
		`null`, `[]`, `""`, `{"externalId":"","meetingUrl":"https://a.example"}`, `{` + goodJob + `,"platform":"webex"}`,
		`{` + goodJob + `,"joinAt":"tomorrow"}`, `{` + goodJob + `,"webhooks":{"onFinalize":"x"}}`, `{` + goodJob + `,"metadata":[]}`,
		`{` + goodJob + `,"displayName":null}`, `{` + goodJob + `,"displayName":true}`, `{` + goodJob + `,"autoLeave":{"afterSoloSeconds":0}}`,
		`{` + goodJob + `,"autoLeave":{"afterSoloSeconds":86401,"onBotDetected":0}}`,
		`{"jobId":"x","attempt":2147483648,"kind":"lifecycle.done","emittedAt":0}`,
	} {
		f.Add([]byte(text))
	}
	d := description(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		value, issues := api.Parse(body)
		if issues != nil {
			return
		}
		for _, operation := range d.Bodies() {
			if matches, valid := d.Compare(operation, value); matches && !valid {
				t.Errorf("%s: the matcher accepts %s, but the schema does not", operation, body)
			}
		}
	})
}

func BenchmarkCheckValue(b *testing.B) {
	d := description(b)
	value := parse(b, matched["createJob"][1])
	for b.Loop() {
		d.CheckValue("createJob", value)
	}
}

func parse(t testing.TB, text string) any {
	t.Helper()
	value, issues := api.Parse([]byte(text))
	if issues != nil {
		t.Fatalf("parse %s: %v", text, issues)
	}
	return value
}
