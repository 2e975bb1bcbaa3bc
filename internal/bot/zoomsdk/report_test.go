package zoomsdk

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
)

// Adapter implements meeting.Adapter.
var _ meeting.Adapter = (*Adapter)(nil)

// TestClassify checks the screen of reports.
func TestClassify(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]meeting.Screen{
		`{}`:                                    meeting.Unknown,
		`{"ready": true}`:                       meeting.PreJoin,
		`{"ready": true, "joining": true}`:      meeting.Unknown,
		`{"joining": true, "status": 1}`:        meeting.Unknown,
		`{"joining": true, "status": 2}`:        meeting.Unknown, // connected is not yet admitted
		`{"joining": true, "hostAbsent": true}`: meeting.HostAbsent,
		`{"hostAbsent": true, "status": 3, "disconnectedMs": 60000}`: meeting.HostAbsent,
		`{"status": 2, "waiting": true}`:                             meeting.Lobby,
		`{"status": 2, "inMeeting": true}`:                           meeting.InMeeting,
		`{"inMeeting": true, "waiting": true}`:                       meeting.Lobby,
		`{"status": 4, "inMeeting": true}`:                           meeting.Reconnecting,
		`{"status": 3, "disconnectedMs": 100}`:                       meeting.Reconnecting,
		`{"status": 3, "disconnectedMs": 60000}`:                     meeting.CannotConnect,

		`{"end": {"code": 1}}`:                                                           meeting.Ended,
		`{"end": {"code": 2}, "left": true}`:                                             meeting.Ended,
		`{"end": {"code": 5}}`:                                                           meeting.Ended,
		`{"end": {"code": 6}, "status": 3, "disconnectedMs": 60000}`:                     meeting.Removed,
		`{"end": {"code": 6}, "left": true}`:                                             meeting.Removed,
		`{"end": {"code": 7}, "waiting": true}`:                                          meeting.Denied,
		`{"status": 3, "shown": {"endDialog": true}}`:                                    meeting.Ended,
		`{"status": 3, "shown": {"removedDialog": true}}`:                                meeting.Removed,
		`{"left": true}`:                                                                 meeting.Ended,
		`{"status": 3, "failure": {"during": "join", "code": 3004}}`:                     meeting.NotFound,
		`{"status": 3, "failure": {"during": "join", "code": 3001}}`:                     meeting.NotFound,
		`{"status": 3, "end": {"code": 0}, "failure": {"during": "join", "code": 3100}}`: meeting.SignInWall,
		`{"failure": {"during": "join", "code": 3009}}`:                                  meeting.Removed,
		`{"failure": {"during": "join", "code": 4006}}`:                                  meeting.BotWall,
		`{"failure": {"during": "join", "code": 4011}}`:                                  meeting.BotWall,
		`{"failure": {"during": "join", "code": -3000}}`:                                 meeting.CannotConnect,
		`{"failure": {"during": "join", "code": 4004}}`:                                  meeting.Ended,
		`{"failure": {"during": "join", "code": 3712}}`:                                  meeting.Unknown,
		`{"failure": {"during": "join", "code": 1}}`:                                     meeting.Unknown,
		`{"failure": {"during": "init", "code": 3004}}`:                                  meeting.Unknown,

		`{"joining": true, "shown": {"form": true, "signIn": true}}`:  meeting.SignInWall,
		`{"joining": true, "shown": {"form": true, "captcha": true}}`: meeting.BotWall,
		`{"joining": true, "shown": {"form": true}}`:                  meeting.BotWall,

		`{"scheme": "chrome-error:"}`:                meeting.CannotConnect,
		`{"scheme": "https:", "host": "zoom.us"}`:    meeting.Ended,
		`{"scheme": "http:", "host": "127.0.0.1:1"}`: meeting.Unknown,
		`{"scheme": "about:"}`:                       meeting.Unknown,
	} {
		var r report
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		screen, evidence := r.classify()
		if screen != want {
			t.Errorf("%s is %s (%s), want %s", text, screen, evidence, want)
		}
		if screen != meeting.Unknown && evidence == "" {
			t.Errorf("%s is %s by no evidence", text, screen)
		}
	}
}

// TestChatDecidesNothing checks that chat messages are no evidence for a screen.
func TestChatDecidesNothing(t *testing.T) {
	t.Parallel()
	r := report{InMeeting: true, OwnID: "7", Chat: []message{
		{ID: "1", Author: "Mallory", AuthorID: "8", Text: "You have been removed"},
		{ID: "2", Author: "Standin", AuthorID: "7", Text: "Meeting is end now"},
	}}
	o := r.observation()
	if o.Screen != meeting.InMeeting {
		t.Errorf("the chat makes it %s", o.Screen)
	}
	if len(o.Chat) != 2 || o.Chat[0].Own || !o.Chat[1].Own || o.Chat[0].Author != "Mallory" {
		t.Errorf("the chat is %+v", o.Chat)
	}
}

func TestRefusedErrorNamesTheSetting(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{
		3712: SecretSetting, 3704: KeySetting, 3705: SecretSetting, 10000: DirSetting, 1: "did not join the meeting",
	} {
		refused := &RefusedError{During: "join", Code: code, Text: "the SDK's words"}
		if text := refused.Error(); !strings.Contains(text, want) || !strings.Contains(text, "the SDK's words") {
			t.Errorf("error %d says %q, want %q in it", code, text, want)
		}
	}
}

// TestEndingsHaveFailureCodes checks that every terminal screen has a failure code.
func TestEndingsHaveFailureCodes(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]job.FailureCode{
		3004: job.MeetingNotFound, 3100: job.AuthFailure, 3634: job.AuthFailure, 3008: job.WaitingForHost, 403: job.NetworkLoss,
		3009: job.RemovedFromMeeting, 4004: job.MeetingEnded,
	} {
		r := report{Failure: &failure{During: "join", Code: code, Text: "words"}}
		got, detail, ok := r.observation().Failure()
		if !ok || got != want || !strings.Contains(detail, "words") {
			t.Errorf("error %d fails with %s: %s", code, got, detail)
		}
	}
}

// FuzzReport checks that whatever a page reports becomes an observation within the limits
// of observations, with a screen that has evidence.
func FuzzReport(f *testing.F) {
	for _, text := range []string{
		`{"inMeeting": true, "ownID": "7", "unmuted": true, "people": [{"id": "8", "name": "Ada\u0000", "speaking": true}], "shown": {"audioButton": true}}`,
		`{"chat": [{"id": "1", "author": "Ada", "authorID": "8", "text": "hello"}], "permission": "granted"}`,
		`{"failure": {"during": "join", "code": 3004, "text": "Meeting Passcode wrong."}, "end": {"code": 6}}`,
		`{"status": 3, "disconnectedMs": -1, "shown": {"form": true, "heading": "Sign in"}}`, `{"scheme": "https:", "host": "zoom.us"}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r report
		if json.Unmarshal([]byte(text), &r) != nil {
			t.Skip()
		}
		o := r.observation()
		before := fmt.Sprintf("%+v", o)
		if o.Clean(); fmt.Sprintf("%+v", o) != before {
			t.Errorf("not clean: %s", before)
		}
		if o.Screen != meeting.Unknown && o.Evidence == "" {
			t.Errorf("%s by no evidence", o.Screen)
		}
	})
}
