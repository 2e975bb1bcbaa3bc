package api_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"standin/internal/base/text"
)

// TestDecode checks what encoding/json alone would not decode: numbers that are
// integers in another form, other forms of times, and null. Names in another case are
// unknown fields.
func TestDecode(t *testing.T) {
	t.Parallel()
	type request struct {
		ExternalID string          `json:"externalId"`
		MeetingURL string          `json:"meetingUrl"`
		JoinAt     time.Time       `json:"joinAt"`
		Metadata   json.RawMessage `json:"metadata"`
		AutoLeave  struct {
			AfterSoloSeconds int `json:"afterSoloSeconds"`
			AfterMaxSeconds  int `json:"afterMaxSeconds"`
		} `json:"autoLeave"`
	}
	checked := description(t).CheckRequest("createJob", []byte(`{`+goodJob+`,"joinAt":"20261120T130000+0100",
		"EXTERNALID":"b\u0000","meetingurl":"javascript:1","metadata":{"B":60.0,"a":["<\n"]},
		"autoLeave":{"afterSoloSeconds":60.0,"afterMaxSeconds":6e1,"AFTERMAXSECONDS":-1,"more":{"x":1}},"webhooks":{"onstatuschange":1}}`))
	if len(checked.Issues) > 0 {
		t.Fatal(checked.Issues)
	}
	if want := []string{
		"EXTERNALID", "autoLeave.AFTERMAXSECONDS", "autoLeave.more", "meetingurl", "webhooks.onstatuschange",
	}; !reflect.DeepEqual(checked.Ignored, want) {
		t.Errorf("ignored %q, want %q", checked.Ignored, want)
	}
	var got, want request
	if err := checked.Decode(&got); err != nil {
		t.Fatal(err)
	}
	want.ExternalID, want.MeetingURL = "a", "https://meet.google.com/abc-defg-hij"
	want.JoinAt = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	want.Metadata = json.RawMessage(`{"B":60.0,"a":["<\n"]}`)
	want.AutoLeave.AfterSoloSeconds, want.AutoLeave.AfterMaxSeconds = 60, 60
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestTextsOfConsumers checks that a control character or a lone surrogate in any
// text of a consumer is an issue of that field.
func TestTextsOfConsumers(t *testing.T) {
	t.Parallel()
	d := description(t)
	for name, test := range map[string]struct {
		operation, body string
		want            []string
	}{
		"NUL":               {"createJob", `{"externalId":"a\u0000",` + goodURL + `}`, []string{"[externalId] format"}},
		"lone surrogate":    {"createJob", `{"externalId":"\ud800",` + goodURL + `}`, []string{"[externalId] format"}},
		"surrogate pair":    {"createJob", `{"externalId":"\ud83d\ude00",` + goodURL + `}`, nil},
		"line break":        {"createJob", `{"externalId":"a\nb",` + goodURL + `}`, []string{"[externalId] format"}},
		"URL, one issue":    {"createJob", `{"externalId":"a","meetingUrl":"https://a.example/\u0000"}`, []string{"[meetingUrl] format"}},
		"display name":      {"createJob", `{` + goodJob + `,"displayName":"a\u001b"}`, []string{"[displayName] format"}},
		"display name, tab": {"createJob", `{` + goodJob + `,"displayName":"a\tb"}`, nil},
		"metadata, value":   {"createJob", `{` + goodJob + `,"metadata":{"a":[{"b":"\u0000"}]}}`, []string{"[metadata a 0 b] format"}},
		"metadata, key":     {"createJob", `{` + goodJob + `,"metadata":{"a":{"\u0000":1}}}`, []string{"[metadata a \x00] format"}},
		"metadata, lines":   {"createJob", `{` + goodJob + `,"metadata":{"a":"b\r\n\tc"}}`, nil},
		"unknown field":     {"createJob", `{` + goodJob + `,"more":"\u0000"}`, nil},
		"direction":         {"createJob", `{"externalId":"\u202ea",` + goodURL + `}`, nil},
		"patch":             {"patchJob", `{"metadata":{"a":"\u0000"}}`, []string{"[metadata a] format"}},
		"chat":              {"sendChatMessage", `{"text":"a\n\u0007"}`, []string{"[text] format"}},
		"subject": {"intakeInvite", `{"organizerEmail":"a@b.example",` + goodURL +
			`,"platform":"meet","joinAt":"2026-11-20T13:00:00Z","subject":"\u0000","icalUid":"\u0000"}`,
			[]string{"[icalUid] format", "[subject] format"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := flat(d.CheckRequest(test.operation, []byte(test.body)).Issues); !reflect.DeepEqual(got, append([]string{}, test.want...)) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	many := d.CheckRequest("createJob", []byte(`{`+goodJob+`,"metadata":{"a":[`+strings.Repeat(`"\u0000",`, 100_000)+`1]}}`))
	if n := len(many.Issues); n != 100 {
		t.Errorf("%d issues are reported", n)
	}
}

// TestTextsOfBots checks that free text of a bot is cleaned and cut, and that its
// identifiers are refused.
func TestTextsOfBots(t *testing.T) {
	t.Parallel()
	d := description(t)
	event := func(data string) string {
		return `{` + goodBot + `,"kind":"lifecycle.exited","emittedAt":"2026-11-20T13:00:00Z","data":` + data + `}`
	}
	long := strings.Repeat("a", 20_000)
	for name, test := range map[string]struct {
		operation, body, want string // want is an issue, or part of the decoded body
	}{
		"detail":       {"ingestEvent", event(`{"failureDetail":"a\u0000\ud800b\n"}`), `"failureDetail":"ab\n"`},
		"long detail":  {"ingestEvent", event(`{"detail":"` + long + `"}`), `"detail":"` + long[:10_000] + `"`},
		"name":         {"ingestEvent", event(`{"detectedBotName":"a\n\u202eb"}`), `"detectedBotName":"a b"`},
		"other keys":   {"ingestEvent", event(`{"x\u0000":[{"y":"\u001bz"}]}`), `"x":[{"y":"z"}]`},
		"wrong types":  {"ingestEvent", event(`{"failureDetail":7,"manifestUri":[]}`), `"failureDetail":7,"manifestUri":[]`},
		"manifest URI": {"ingestEvent", event(`{"manifestUri":"https://a.example/x\u0000y"}`), "[data manifestUri] format"},
		"long URI":     {"ingestEvent", event(`{"manifestUri":"` + long + `"}`), "[data manifestUri] maxLength"},
		"failure code": {"ingestEvent", event(`{"failureCode":"\ud800"}`), "[data failureCode] format"},
		"roster, name": {
			"heartbeat", `{` + goodBot + `,"stats":{"roster":{"participants":[{"id":"p","name":"a\u0000` + long + `"}]}}}`,
			`"name":"` + long[:200] + `"`,
		},
		"roster, id": {
			"heartbeat", `{` + goodBot + `,"stats":{"roster":{"participants":[{"id":"\u0000","name":"a"}]}}}`,
			"[stats roster participants 0 id] format",
		},
		"caption":          {"ingestTexts", texts(`"text":"a\u0000` + long + `","author":"b\u0000"`), `"author":"b"`},
		"caption's author": {"ingestTexts", texts(`"text":"a","participantId":"\u0000"`), "[texts 0 participantId] format"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checked := d.CheckRequest(test.operation, []byte(test.body))
			var decoded any
			if err := checked.Decode(&decoded); err != nil {
				t.Fatal(err)
			}
			encoded, err := text.EncodeJSON(decoded)
			if err != nil {
				t.Fatal(err)
			}
			if issues := strings.Join(flat(checked.Issues), "; "); issues != test.want &&
				(issues != "" || !strings.Contains(string(encoded), test.want)) {
				t.Errorf("got issues %q and %.300s, want %.100s", issues, encoded, test.want)
			}
		})
	}
}

// texts returns a message with one text that has some fields.
func texts(fields string) string {
	return fmt.Sprintf(`{%s,"texts":[{"id":"c1","kind":"caption","startedAt":"2026-11-20T13:00:00Z","endedAt":"2026-11-20T13:00:00Z",%s}]}`, goodBot, fields)
}
