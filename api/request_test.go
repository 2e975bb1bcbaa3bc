package api_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"standin/api"
)

// description loads the embedded documents.
func description(t testing.TB) *api.Description {
	t.Helper()
	d, err := api.Load()
	if err != nil {
		t.Fatalf("load the description: %v", err)
	}
	return d
}

// flat formats issues as "path code", the stable part of an issue.
func flat(issues []api.Issue) []string {
	lines := make([]string, 0, len(issues))
	for _, issue := range issues {
		path := fmt.Sprint(issue.Path)
		lines = append(lines, path+" "+issue.Code)
	}
	return lines
}

const (
	goodURL = `"meetingUrl":"https://meet.google.com/abc-defg-hij"`
	goodJob = `"externalId":"a",` + goodURL
	goodBot = `"jobId":"0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80","attempt":0`
)

func TestCheckRequestIssues(t *testing.T) {
	t.Parallel()
	d, long := description(t), strings.Repeat("a", 10_000)
	for _, test := range []struct {
		name      string
		operation string
		body      string
		want      []string
	}{
		{"minimal", "createJob", `{` + goodJob + `}`, nil},
		{"unknown fields", "createJob", `{` + goodJob + `,"more":{"x":[1]},"platforms":null}`, nil},
		{"everything missing", "createJob", `{}`, []string{"[externalId] required", "[meetingUrl] required"}},
		{"field names are case-sensitive", "createJob", `{"ExternalId":"a","MEETINGURL":"https://a.example"}`, []string{
			"[externalId] required", "[meetingUrl] required",
		}},
		{"last of two equal keys wins", "createJob", `{"externalId":1,` + goodJob + `}`, nil},
		{"an array", "createJob", `[]`, []string{"[] type"}},
		{"null", "createJob", `null`, []string{"[] type"}},
		{"null for every field", "createJob",
			`{"externalId":null,"meetingUrl":null,"platform":null,"joinAt":null,"displayName":null,"webhooks":null,"metadata":null,"autoLeave":null}`,
			[]string{
				"[autoLeave] type", "[displayName] type", "[externalId] type", "[joinAt] type", "[meetingUrl] type", "[metadata] type",
				"[platform] type", "[webhooks] type",
			}},
		{"null in objects", "createJob", `{` + goodJob + `,"webhooks":{"onStatusChange":null,"onFinalize":null},"autoLeave":{"afterSoloSeconds":null,"onBotDetected":null}}`,
			[]string{
				"[autoLeave afterSoloSeconds] type", "[autoLeave onBotDetected] type", "[webhooks onFinalize] type",
				"[webhooks onStatusChange] type",
			}},
		{"null in metadata", "createJob", `{` + goodJob + `,"metadata":{"a":null}}`, nil},
		{"empty externalId", "createJob", `{"externalId":"",` + goodURL + `}`, []string{"[externalId] minLength"}},
		{"long texts", "createJob", `{"externalId":"` + long + `","meetingUrl":"https://meet.google.com/` + long +
			`","webhooks":{"onFinalize":"https://a.example/` + long + `"}}`,
			[]string{"[externalId] maxLength", "[meetingUrl] maxLength", "[webhooks onFinalize] maxLength"}},
		{"every kind of issue at once", "createJob",
			`{"externalId":"","meetingUrl":"nope","platform":"webex","joinAt":"tomorrow","displayName":1,"webhooks":{"onFinalize":"x"},"metadata":[],"autoLeave":{"afterEntryDelaySeconds":0,"afterSilenceSeconds":86401,"afterSoloSeconds":1.5,"afterMaxSeconds":"60","onBotDetected":"yes"}}`,
			[]string{
				"[autoLeave afterEntryDelaySeconds] minimum", "[autoLeave afterMaxSeconds] type",
				"[autoLeave afterSilenceSeconds] maximum", "[autoLeave afterSoloSeconds] type",
				"[autoLeave onBotDetected] type", "[displayName] type", "[externalId] minLength",
				"[joinAt] format", "[meetingUrl] format", "[metadata] type", "[platform] enum",
				"[webhooks onFinalize] format",
			}},
		{"bounds", "createJob", `{` + goodJob + `,"autoLeave":{"afterEntryDelaySeconds":1,"afterSilenceSeconds":86400,"afterSoloSeconds":60.0,"afterMaxSeconds":6e2}}`, nil},
		{"a large number", "createJob", `{` + goodJob +
			`,"autoLeave":{"afterSoloSeconds":1e300}}`, []string{"[autoLeave afterSoloSeconds] maximum"}},
		{"a small number", "createJob", `{` + goodJob +
			`,"autoLeave":{"afterSoloSeconds":1e-300}}`, []string{"[autoLeave afterSoloSeconds] type"}},
		{"empty objects", "createJob", `{` + goodJob + `,"webhooks":{},"metadata":{},"autoLeave":{}}`, nil},

		{"event", "ingestEvent", `{` + goodBot + `,"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z","data":{"failureCode":7}}`, nil},
		{"empty event", "ingestEvent", `{}`, []string{"[attempt] required", "[emittedAt] required", "[jobId] required", "[kind] required"}},
		{"bad event", "ingestEvent", `{"jobId":"x","attempt":-1,"kind":"lifecycle.done","emittedAt":0,"data":"x"}`,
			[]string{"[attempt] minimum", "[data] type", "[emittedAt] type", "[jobId] format", "[kind] enum"}},
		{"attempt above the maximum", "ingestEvent", `{"jobId":"0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80","attempt":2147483648,"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z"}`, []string{"[attempt] maximum"}},

		{"heartbeat", "heartbeat", `{` + goodBot + `}`, nil},
		{"array indexes are numbers", "heartbeat", `{` + goodBot + `,"acked":["0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80",3,"x"]}`,
			[]string{"[acked 1] type", "[acked 2] format"}},
		{"stats", "heartbeat", `{` + goodBot +
			`,"stats":{"bytesRecorded":-1,"eventsWaiting":1.5,"mood":"good","coresUsed":-0.5,"memoryBytes":0.5}}`,
			[]string{"[stats bytesRecorded] minimum", "[stats coresUsed] minimum", "[stats eventsWaiting] type", "[stats memoryBytes] type"}},
		{"resource usage", "heartbeat", `{` + goodBot + `,"stats":{"coresUsed":1.604,"memoryBytes":734003200}}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			issues := d.CheckRequest(test.operation, []byte(test.body)).Issues
			if got := flat(issues); !reflect.DeepEqual(got, append([]string{}, test.want...)) {
				t.Errorf("issues of %s\n got %q\nwant %q", test.body, got, test.want)
			}
			for _, issue := range issues {
				if issue.Message == "" || strings.Contains(issue.Message, "schema's") {
					t.Errorf("%v has no readable message: %q", issue.Path, issue.Message)
				}
			}
		})
	}
}

func TestArrayIndexesAreNumbers(t *testing.T) {
	t.Parallel()
	issues := description(t).CheckRequest("heartbeat", []byte(`{`+goodBot+`,"acked":[true]}`)).Issues
	if want := []any{"acked", 0}; len(issues) != 1 || !reflect.DeepEqual(issues[0].Path, want) {
		t.Errorf("got %#v, want the path %v", issues, want)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	d := description(t)
	for body, want := range map[string]string{
		`{` + goodURL + `}`:                                         "is required",
		`{"externalId":7,` + goodURL + `}`:                          "must be a string, not a number",
		`{"externalId":"",` + goodURL + `}`:                         "must not be empty",
		`{"externalId":"a","meetingUrl":"ftp://a.example"}`:         "must be an absolute http or https URL with a host",
		`{` + goodJob + `,"platform":"webex"}`:                      "must be one of meet, teams, zoom-web, zoom-sdk",
		`{` + goodJob + `,"autoLeave":{"afterSoloSeconds":0}}`:      "must be at least 1",
		`{` + goodJob + `,"autoLeave":{"afterSoloSeconds":99999}}`:  "must be at most 86400",
		`{` + goodJob + `,"autoLeave":{"afterSoloSeconds":1.5}}`:    "must be an integer, not a number",
		`{` + goodJob + `,"joinAt":"2026-11-20 13:00"}`:             "must be an ISO 8601 date-time with an offset, for example 2026-11-20T13:00:00Z",
		`{` + goodJob + `,"metadata":[]}`:                           "must be an object, not an array",
		`{` + goodJob + `,"autoLeave":{"onBotDetected":null}}`:      "must be a boolean, not null",
		`{` + goodJob + `,"autoLeave":{"afterSilenceSeconds":"9"}}`: "must be an integer, not a string",
	} {
		issues := d.CheckRequest("createJob", []byte(body)).Issues
		if len(issues) != 1 || issues[0].Message != want {
			t.Errorf("%s\n got %+v\nwant %q", body, issues, want)
		}
	}
}

func TestInvalidJSON(t *testing.T) {
	t.Parallel()
	d := description(t)
	nested := func(depth int) string {
		return `{` + goodJob + `,"metadata":{"a":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}}`
	}
	for name, body := range map[string]string{
		"empty":                  "",
		"whitespace":             " \n\t",
		"text":                   "hello",
		"an incomplete object":   `{"externalId":`,
		"an incomplete string":   `{"externalId":"a`,
		"trailing comma":         `{"externalId":"a",}`,
		"trailing value":         `{` + goodJob + `} {}`,
		"trailing garbage":       `{` + goodJob + `}x`,
		"single quotes":          `{'externalId':'a'}`,
		"a comment":              `{} // job`,
		"a raw NUL":              "{\"externalId\":\"a\x00\"," + goodURL + "}",
		"a NUL after the value":  `{` + goodJob + "}\x00",
		"a raw line break":       "{\"externalId\":\"a\n\"," + goodURL + "}",
		"invalid UTF-8":          "{\"externalId\":\"\xff\"," + goodURL + "}",
		"UTF-16":                 "\xff\xfe{\x00}\x00",
		"NaN":                    `{` + goodJob + `,"metadata":{"a":NaN}}`,
		"a number above float64": `{` + goodJob + `,"metadata":{"a":1e400}}`,
		"an expensive number":    `{` + goodJob + `,"autoLeave":{"afterSoloSeconds":1e-999999999}}`,
		"a very long number":     `{` + goodJob + `,"metadata":{"a":` + strings.Repeat("9", 401) + `}}`,
		"too deep":               nested(256),
		"far too deep":           nested(100_000),
		"a form":                 "externalId=a&meetingUrl=https%3A%2F%2Fmeet.google.com",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			issues := d.CheckRequest("createJob", []byte(body)).Issues
			if len(issues) != 1 || issues[0].Code != api.CodeInvalidJSON || issues[0].Path == nil || len(issues[0].Path) != 0 {
				t.Errorf("got %+v, want one invalid_json issue of the whole body", issues)
			}
		})
	}
	for name, body := range map[string]string{
		"maximum depth":          nested(254),
		"surrounding whitespace": "\r\n\t {" + goodJob + "} \n",
		"a large number":         `{` + goodJob + `,"metadata":{"a":123456789012345678901234567890}}`,
	} {
		if issues := d.CheckRequest("createJob", []byte(body)).Issues; len(issues) > 0 {
			t.Errorf("%s: got %+v, want none", name, issues)
		}
	}
}

// TestManyIssues checks that only the first items of a list that is too long are checked.
func TestManyIssues(t *testing.T) {
	t.Parallel()
	const sender = `{"jobId":"0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80","attempt":0,`
	long := strings.Repeat("1,", 100_000) + `1]`
	for _, test := range []struct {
		operation, body string
		want            map[string]int
	}{
		{"heartbeat", sender + `"acked":[` + long + `}`, map[string]int{"maxItems": 1, "type": 1001}},
		{"heartbeat", sender + `"stats":{"roster":{"participants":[` + long + `}}}`, map[string]int{"maxItems": 1, "type": 101}},
		{"ingestTexts", sender + `"texts":[` + long + `}`, map[string]int{"maxItems": 1, "type": 101}},
	} {
		codes := map[string]int{}
		for _, issue := range description(t).CheckRequest(test.operation, []byte(test.body)).Issues {
			codes[issue.Code]++
		}
		delete(codes, "required")
		if !reflect.DeepEqual(codes, test.want) {
			t.Errorf("%s: got %v, want %v", test.body[:100], codes, test.want)
		}
	}
}

// TestFindIdentity checks the identity of messages whose rest is not valid. FuzzFindIdentity
// compares that of others with the check of the whole message.
func TestFindIdentity(t *testing.T) {
	t.Parallel()
	const id = `"0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80"`
	for message, want := range map[string][]string{
		`{"jobId":` + id + `,"attempt":0,"data":"\ud800"}`:                   nil,
		`{"jobId":[` + strings.Repeat("{},", 200) + `{}],"attempt":{"a":1}}`: {"[attempt] type", "[jobId] type"},
		"\xff":                              {"[] invalid_json"},
		`{"jobId":` + id + `,"attempt":0}}`: {"[] invalid_json"},
		`{"jobId":` + id + `,"attempt":0,"data":[1,]}`: {"[] invalid_json"},
		strings.Repeat("[", 20_000):                    {"[] invalid_json"},
	} {
		var got []string
		for _, issue := range description(t).FindIdentity([]byte(message)).Issues {
			got = append(got, fmt.Sprint(issue.Path, " ", issue.Code))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%.80s: got %v, want %v", message, got, want)
		}
	}
}

// FuzzFindIdentity checks that the identity of a message has the issues that the check of the
// whole message has with it.
func FuzzFindIdentity(f *testing.F) {
	for _, message := range []string{
		`{` + goodBot + `}`, ` {"a":[{"jobId":1}],"job\u0049d":7,"attempt":1e0} `, `{"attempt":"x","jobId":7,"attempt":2}`,
		`{"jobId":null,"attempt":-1}`, `[1]`, `null`, `{"jobId":"\ud800"}`,
	} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		var wanted []api.Issue
		whole := description(t).CheckRequest("heartbeat", []byte(message)).Issues
		for _, issue := range whole {
			if len(issue.Path) == 0 || issue.Path[0] == "jobId" || issue.Path[0] == "attempt" {
				wanted = append(wanted, issue)
			}
			if issue.Code == api.CodeInvalidJSON || len(whole) >= 100 { // only the whole message has bounds
				return
			}
		}
		got, want := flat(description(t).FindIdentity([]byte(message)).Issues), flat(wanted)
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestMeetingURLs(t *testing.T) {
	t.Parallel()
	d := description(t)
	for address, want := range map[string]bool{
		"https://meet.google.com/abc-defg-hij":                       true,
		"http://127.0.0.1:8080/room":                                 true,
		"https://[::1]:8443/":                                        true,
		"HTTPS://ZOOM.US/j/1":                                        true,
		"https://teams.microsoft.com/l/meetup-join/19%3ameeting/0":   true,
		"https://localhost":                                          true,
		"https://user:word@meet.example/x?pwd=a%20b&c=[d]#frag/ment": true,
		"https://münchen.example/büro":                               true,
		"https://a.example:65535/{x}|y^z":                            true,

		"":                             false,
		"not-a-url":                    false,
		"meet.google.com/abc":          false,
		"//meet.google.com/abc":        false,
		"/abc":                         false,
		"ftp://meet.google.com":        false,
		"javascript:alert(1)":          false,
		"mailto:a@b.example":           false,
		"https:":                       false,
		"https://":                     false,
		"https:///path":                false,
		"https://?x=1":                 false,
		"https://:443/":                false,
		"https:opaque":                 false,
		"https://a.example:99999/":     false,
		"https://a.example:port/":      false,
		"https://a b.example/":         false,
		"https://a.example/a b":        false,
		" https://a.example/":          false,
		"https://a.example/\n":         false,
		"https://a.example/%zz":        false,
		"https://[::1/":                false,
		"https://a.example/\"><script": false,
	} {
		body := fmt.Sprintf(`{"externalId":"a","meetingUrl":%q}`, address)
		issues := d.CheckRequest("createJob", []byte(body)).Issues
		if valid := len(issues) == 0; valid != want {
			t.Errorf("%q: valid is %v, want %v (%+v)", address, valid, want, issues)
		}
	}
}
