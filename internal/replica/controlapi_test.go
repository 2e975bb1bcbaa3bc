package replica

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// call sends a request and decodes the response.
func call(t *testing.T, method, url, body string, header http.Header) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var content bytes.Buffer
	if _, err := content.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	var decoded map[string]any
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(content.Bytes(), &decoded); err != nil {
			t.Fatalf("%s %s: %v in %s", method, url, err, content.String())
		}
	}
	return response.StatusCode, decoded
}

// The control API opens a meeting and controls a guest.
func TestControlOverHTTP(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	status, opened := call(t, "POST", s.URL()+"/control/meetings",
		`{"code":"abc-defg-hij","participants":[{"name":"Ada Quill","beeps":true}],"lobbyLimitSeconds":600}`, nil)
	if status != http.StatusCreated || opened["url"] != s.URL()+"/abc-defg-hij" {
		t.Fatalf("open: %d %v", status, opened)
	}
	meeting := s.URL() + "/control/meetings/abc-defg-hij"
	guest := visitor(t, s.Meeting("abc-defg-hij"))

	if status, events := call(t, "GET", meeting+"/events?after=1&wait=5", "", nil); status != http.StatusOK ||
		events["events"].([]any)[0].(map[string]any)["kind"] != "lobby" {
		t.Errorf("events: %d %v", status, events)
	}
	for _, test := range []struct {
		verb, body string
		status     int
		moved      float64
	}{
		{"admit", `{"guests":["` + guest + `"]}`, 200, 1},
		{"admit", "", 200, 0},
		{"say", `{"name":"Ada Quill","text":"Hello"}`, 200, 0},
		{"say", `{"name":"Ada Quill","text":""}`, 400, 0},
		{"join", `{"participant":{"name":"Cleo Marsh","muted":true}}`, 200, 0},
		{"unmute", `{"name":"Cleo Marsh"}`, 200, 0},
		{"unmute", `{"name":"Nobody"}`, 404, 0},
		{"camera-off", `{"name":"Cleo Marsh"}`, 200, 0},
		{"leave", `{"name":"Ada Quill"}`, 200, 0},
		{"notify", `{"notice":"gemini"}`, 200, 0},
		{"notify", `{"notice":"smoke"}`, 409, 0},
		{"disconnect", `{"guests":["` + guest + `"]}`, 200, 1},
		{"disconnect", "", 200, 0},
		{"reconnect", "", 200, 1},
		{"mute-all", "", 200, 1},
		{"silence", "", 200, 0},
		{"sound", "", 200, 0},
		{"reload", "", 200, 1},
		{"freeze", "", 200, 1},
		{"wander", `{"url":"http://127.0.0.1:1/"}`, 200, 1},
		{"wander", `{"url":"elsewhere"}`, 409, 0},
		{"answer-permission", `{"granted":true}`, 200, 0},
		{"unmute", `{"name":"Cleo Marsh"}`, 200, 0},
		{"dance", "", 404, 0},
		{"remove", "not JSON", 400, 0},
		{"remove", strings.Repeat(" ", maxBodyBytes+1), 413, 0},
		{"remove", "", 200, 1},
	} {
		status, answer := call(t, "POST", meeting+"/"+test.verb, test.body, nil)
		if moved, _ := answer["moved"].(float64); status != test.status || moved != test.moved {
			t.Errorf("%s %.40s: %d %v, want %d and %v moved", test.verb, test.body, status, answer, test.status, test.moved)
		}
	}

	status, report := call(t, "GET", meeting, "", nil)
	if status != http.StatusOK {
		t.Fatalf("report: %d", status)
	}
	reported := report["guests"].([]any)[0].(map[string]any)
	if reported["state"] != "removed" || reported["name"] != "Stand-in" {
		t.Errorf("the report shows the reported as %v", reported)
	}
	rest := report["participants"].([]any)
	if len(rest) != 1 || rest[0].(map[string]any)["cameraOff"] != true || rest[0].(map[string]any)["muted"] != false {
		t.Errorf("the report shows the participants as %v", rest)
	}
}

// Every field of the request is applied to the meeting.
func TestControlOpensAnyPlatform(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	for _, test := range []struct {
		body, path string
		want       Settings
	}{
		{
			`{"platform":"teams","code":"234567890123","passcode":"abc","noLauncher":true,"cookieBanner":true,
				"devicesBeforeJoin":true,"devicesAfterJoin":true,"signInCookie":true,"pageDelaySeconds":1.5}`,
			"/meet/234567890123?p=abc",
			Settings{
				Platform: Teams, Code: "234567890123", Passcode: "abc", NoLauncher: true, CookieBanner: true,
				DevicesBeforeJoin: true, DevicesAfterJoin: true, SignInCookie: true, PageDelay: 1500 * time.Millisecond,
			},
		},
		{
			`{"platform":"zoom","code":"9876543210","passcode":"abc","framed":true,"deviceDialog":true,"neverLoads":true,"hostile":true}`,
			"/j/9876543210?pwd=abc",
			Settings{
				Platform: Zoom, Code: "9876543210", Passcode: "abc", Framed: true, DeviceDialog: true, NeverLoads: true, Hostile: true,
			},
		},
	} {
		status, opened := call(t, "POST", s.URL()+"/control/meetings", test.body, nil)
		if status != http.StatusCreated || opened["url"] != s.URL()+test.path {
			t.Fatalf("open: %d %v", status, opened)
		}
		want, _, err := test.want.complete()
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Meeting(test.want.Code).settings; !reflect.DeepEqual(got, want) {
			t.Errorf("the meeting is\n%+v, want\n%+v", got, want)
		}
	}
}

func TestControlRefuses(t *testing.T) {
	t.Parallel()
	s := startServer(t, nil)
	m := openMeeting(t, s, Settings{})
	foreign := http.Header{"Origin": {"http://elsewhere.example"}}
	for _, test := range []struct {
		name, method, path, body string
		header                   http.Header
		status                   int
	}{
		{"unknown meeting", "GET", "/control/meetings/zzz-zzzz-zzz", "", nil, 404},
		{"wrong settings", "POST", "/control/meetings", `{"code":"x"}`, nil, 400},
		{"taken code", "POST", "/control/meetings", `{"code":"` + m.Code() + `"}`, nil, 409},
		{"a page elsewhere", "POST", "/control/meetings/" + m.Code() + "/end", "", foreign, 403},
		{"no number", "GET", "/control/meetings/" + m.Code() + "/events?after=x", "", nil, 400},
		{"unknown guest", "POST", "/stage/" + m.Code() + "/guests/g9/leave", "{}", nil, 404},
		{"unknown action", "POST", "/stage/" + m.Code() + "/guests/g9/fly", "{}", nil, 404},
	} {
		if status, answer := call(t, test.method, s.URL()+test.path, test.body, test.header); status != test.status {
			t.Errorf("%s: %d %v, want %d", test.name, status, answer, test.status)
		}
	}
}
