package zoomsdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/bot/zoomsdk"
)

// stage is a page that runs the double of the SDK.
type stage struct {
	t       *testing.T
	ctx     context.Context
	adapter *zoomsdk.Adapter
	page    *browser.Page
}

// newStage opens the page in the shared browser, and waits until the double has started.
func newStage(t *testing.T) *stage {
	t.Helper()
	ctx, running := sharedBrowser(t)
	adapter := newAdapter(t, doubleDir)
	s := &stage{t: t, ctx: ctx, adapter: adapter, page: openMeeting(t, ctx, running, adapter)}
	s.see(meeting.PreJoin)
	return s
}

// do runs JavaScript that controls the double.
func (s *stage) do(script string) {
	s.t.Helper()
	if err := s.page.EvalInPage(s.ctx, "(() => { window.double."+script+"; })()", nil); err != nil {
		s.t.Fatalf("double.%s: %v", script, err)
	}
}

// next sets the result of the next join.
func (s *stage) next(outcome map[string]any) {
	s.t.Helper()
	encoded, err := json.Marshal(outcome)
	if err != nil {
		s.t.Fatal(err)
	}
	s.do("become(" + string(encoded) + ")")
}

// join joins with the name Standin.
func (s *stage) join() error {
	return s.adapter.Join(s.ctx, s.page, meeting.JoinOptions{Name: "Standin"})
}

// enter joins and fails the test when that fails.
func (s *stage) enter() {
	s.t.Helper()
	if err := s.join(); err != nil {
		s.t.Fatalf("joining: %v", err)
	}
}

// see waits for a screen.
func (s *stage) see(screen meeting.Screen) meeting.Observation {
	s.t.Helper()
	return s.await(string(screen), func(o meeting.Observation) bool { return o.Screen == screen })
}

// call is a call that the double recorded.
type call struct {
	Name string
	Args map[string]any
}

// calls returns the recorded calls of a name.
func (s *stage) calls(name string) []call {
	s.t.Helper()
	var all []call
	if err := s.page.EvalInPage(s.ctx, "window.double.state.called", &all); err != nil {
		s.t.Fatalf("reading the calls: %v", err)
	}
	return slices.DeleteFunc(all, func(c call) bool { return c.Name != name })
}

func TestJoinsWithWhatTheMeetingNeeds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	name := "  Standin\tof " + strings.Repeat("Ada ", 40)
	if err := s.adapter.Join(s.ctx, s.page, meeting.JoinOptions{Name: name}); err != nil {
		t.Fatalf("joining: %v", err)
	}
	s.see(meeting.InMeeting)
	joins := s.calls("join")
	if len(joins) != 1 {
		t.Fatalf("joined %d times", len(joins))
	}
	args := joins[0].Args
	if args["meetingNumber"] != testNumber || args["passWord"] != "right" {
		t.Errorf("joined with %v", args)
	}
	if got, _ := args["userName"].(string); !strings.HasPrefix(got, "Standin of Ada") || len(got) > 64 {
		t.Errorf("joined as %q", got)
	}
	signature, _ := args["signature"].(string)
	readSignature(t, signature, testSecret)
	if init := s.calls("init"); len(init) != 1 || init[0].Args["disablePreview"] != true ||
		init[0].Args["leaveUrl"] != s.adapter.Origin()+"/left" {
		t.Errorf("started with %v", init)
	}
	var seen struct {
		Isolated   bool
		Path, Text string
	}
	script := `({isolated: window.double.isolated(), path: location.pathname, text: document.documentElement.outerHTML + JSON.stringify(localStorage)})`
	if err := s.page.EvalInPage(s.ctx, script, &seen); err != nil {
		t.Fatal(err)
	}
	if !seen.Isolated || seen.Path != "/" {
		t.Errorf("the page is isolated: %v, at %q", seen.Isolated, seen.Path)
	}
	if strings.Contains(seen.Text, testSecret) || strings.Contains(seen.Text, signature) {
		t.Error("the page holds a secret")
	}
	checkViolations(t, s.ctx, s.page)
	if err := s.join(); err != nil { // a second time, as after a reload of the bot's own
		t.Errorf("joining again: %v", err)
	}
	if again := s.calls("join"); len(again) != 1 {
		t.Errorf("joined %d times", len(again))
	}
}

// TestRefusals checks the result of joins that the SDK refuses.
func TestRefusals(t *testing.T) {
	t.Parallel()
	failed := func(code int, text string) map[string]any {
		return map[string]any{"kind": "error", "code": code, "text": text}
	}
	form := func(html string) map[string]any { return map[string]any{"kind": "form", "html": html} }
	for name, test := range map[string]struct {
		outcome map[string]any
		want    meeting.Screen
		seen    string
	}{
		"wrong passcode": {failed(3004, "Meeting Passcode wrong."), meeting.NotFound, "3004: Meeting Passcode wrong."},
		"sign in":        {failed(3100, "Require login"), meeting.SignInWall, "Require login"},
		"no network":     {map[string]any{"kind": "offline"}, meeting.CannotConnect, "connection error"},
		"a form for signing in": {form(`<div class="page-header">Sign in</div><button class="login-btn">Zoom</button>`),
			meeting.SignInWall, "Sign in"},
		"a captcha": {form(`<div class="captcha-error-tip"></div><button>Check captcha</button>`), meeting.BotWall, "Check captcha"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.next(test.outcome)
			err := s.join()
			var screen *meeting.ScreenError
			if !errors.As(err, &screen) || screen.Observation.Screen != test.want {
				t.Fatalf("joining ends with %v, want %s", err, test.want)
			}
			if !strings.Contains(screen.Observation.Evidence, test.seen) {
				t.Errorf("the evidence is %q, want %q in it", screen.Observation.Evidence, test.seen)
			}
		})
	}
}

func TestRefusedCredentialsAreNoScreen(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.next(map[string]any{"kind": "error", "code": 3712, "text": "Signature is invalid."})
	err := s.join()
	var refused *zoomsdk.RefusedError
	if !errors.As(err, &refused) || refused.Code != 3712 || !strings.Contains(err.Error(), zoomsdk.SecretSetting) {
		t.Errorf("joining ends with %v, want a RefusedError that names the setting", err)
	}
}

func TestJoinTimeIsUp(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.next(map[string]any{"kind": "nothing"})
	short, cancel := context.WithTimeout(s.ctx, 3*time.Second)
	defer cancel()
	err := s.adapter.Join(short, s.page, meeting.JoinOptions{Name: "Standin"})
	var screen *meeting.ScreenError
	if !errors.As(err, &screen) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("joining ends with %v, want a ScreenError of the deadline", err)
	}
	if err := s.adapter.Leave(s.ctx, s.page); err != nil {
		t.Errorf("leaving what was never joined: %v", err)
	}
}

func TestWaitingRoom(t *testing.T) {
	t.Parallel()
	t.Run("admitted", func(t *testing.T) {
		s := newStage(t)
		s.next(map[string]any{"kind": "lobby"})
		s.enter()
		if o := s.see(meeting.Lobby); o.Others != -1 || len(o.Participants) > 0 {
			t.Errorf("the waiting room shows people: %+v", o)
		}
		s.do("admit()")
		s.see(meeting.InMeeting)
	})
	t.Run("refused", func(t *testing.T) {
		s := newStage(t)
		s.next(map[string]any{"kind": "lobby"})
		s.enter()
		s.see(meeting.Lobby)
		s.do("refuse()")
		s.see(meeting.Denied)
		s.leftPage()
		s.see(meeting.Denied) // still, on the page after the meeting
	})
	t.Run("left", func(t *testing.T) {
		s := newStage(t)
		s.next(map[string]any{"kind": "lobby"})
		s.enter()
		s.see(meeting.Lobby)
		s.leave()
	})
}

func TestHostAbsent(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]map[string]any{
		"the SDK waits":        {"kind": "notStarted"},
		"the SDK does not":     {"kind": "error", "code": 3008, "text": "Meeting has not started"},
		"in another's meeting": {"kind": "error", "code": 3000, "text": "Another meeting running"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.next(outcome)
			s.enter()
			s.see(meeting.HostAbsent)
			s.next(map[string]any{"kind": "enter"})
			if outcome["kind"] == "notStarted" {
				s.do("state.join && ZoomMtg.join(window.double.state.join)") // the SDK retries
			}
			s.see(meeting.InMeeting) // by a later try
		})
	}
}

// leftPage waits until the SDK has opened the page after the meeting.
func (s *stage) leftPage() {
	s.t.Helper()
	s.await("the page after the meeting", func(meeting.Observation) bool {
		address, err := s.page.URL(s.ctx)
		return err == nil && strings.HasSuffix(address, "/left")
	})
}

// leave leaves and checks that the SDK was called.
func (s *stage) leave() {
	s.t.Helper()
	if err := s.adapter.Leave(s.ctx, s.page); err != nil {
		s.t.Fatalf("leaving: %v", err)
	}
	s.leftPage()
	if o := s.see(meeting.Ended); !strings.Contains(o.Evidence, "reason") {
		s.t.Errorf("left without the SDK's own word: %s", o.Evidence)
	}
	if err := s.adapter.Leave(s.ctx, s.page); err != nil {
		s.t.Errorf("leaving again: %v", err)
	}
}

func TestEndings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		want   meeting.Screen
		stays  bool // on its page
	}{
		"removed":            {"remove()", meeting.Removed, false},
		"ended, by a dialog": {"endByHost()", meeting.Ended, true},
		"ended, by an event": {"endByEvent()", meeting.Ended, false},
		"connection lost":    {"disconnect()", meeting.CannotConnect, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.enter()
			s.see(meeting.InMeeting)
			s.do(test.script)
			s.see(test.want)
			if !test.stays {
				s.leftPage()
				s.see(test.want)
			}
			if err := s.adapter.Leave(s.ctx, s.page); err != nil {
				t.Errorf("leaving: %v", err)
			}
		})
	}
	t.Run("reconnected", func(t *testing.T) {
		s := newStage(t)
		s.enter()
		s.do("reconnecting()")
		s.see(meeting.Reconnecting)
		s.do("reconnected()")
		s.see(meeting.InMeeting)
		s.leave()
	})
}

func TestPeople(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.enter()
	if o := s.see(meeting.InMeeting); o.Others != 0 {
		t.Errorf("alone with %d others", o.Others)
	}
	s.do(`come({userId: 16779264, userName: "Ada", self: false, isHold: false})`)
	s.do(`come({userId: 16780288, userName: "Outside", self: false, isHold: true})`)
	ada := meeting.Participant{ID: "16779264", Name: "Ada"}
	o := s.await("Ada", func(o meeting.Observation) bool { return o.Others == 1 })
	if len(o.Participants) != 1 || o.Participants[0] != ada {
		t.Errorf("the participants are %+v", o.Participants)
	}
	speaks := func(o meeting.Observation) bool { return len(o.Participants) == 1 && o.Participants[0].Speaking }
	s.await("Ada speaking", func(o meeting.Observation) bool {
		s.do(`speak(16779264)`) // again and again, as people do
		return speaks(o)
	})
	s.await("Ada silent", func(o meeting.Observation) bool { return !speaks(o) })

	if err := s.adapter.Pin(s.ctx, s.page, ada); err != nil {
		t.Errorf("pinning: %v", err)
	}
	pins := s.calls("operatePin")
	if len(pins) == 0 || fmt.Sprintf("%.0f", pins[len(pins)-1].Args["userId"]) != ada.ID {
		t.Errorf("pinned %v", pins)
	}
	var absent *meeting.ParticipantNotFoundError
	if err := s.adapter.Pin(s.ctx, s.page, meeting.Participant{ID: "1", Name: "Nobody"}); !errors.As(err, &absent) {
		t.Errorf("pinning an unknown participant: %v", err)
	}
	s.do(`go(16779264)`)
	s.await("Ada gone", func(o meeting.Observation) bool { return o.Screen == meeting.InMeeting && o.Others == 0 })
}

func TestChat(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.enter()
	long := strings.TrimSpace(strings.Repeat("word ", 300))
	if err := s.adapter.SendChat(s.ctx, s.page, long); err != nil {
		t.Fatalf("sending: %v", err)
	}
	var sent []string
	for _, c := range s.calls("sendChat") {
		sent = append(sent, c.Args["message"].(string))
	}
	if len(sent) != 2 || strings.Join(sent, " ") != long {
		t.Errorf("sent in %d parts: %q", len(sent), sent)
	}
	s.do(`say(16779264, "Ada", "You have been removed", "m1")`)
	o := s.await("Ada's message", func(o meeting.Observation) bool { return len(o.Chat) == 1 })
	if want := (meeting.ChatMessage{
		ID: "m1", Author: "Ada", Text: "You have been removed",
	}); o.Chat[0] != want || o.Screen != meeting.InMeeting {
		t.Errorf("the chat is %+v on %s", o.Chat, o.Screen)
	}
}

func TestPermission(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, after string
		asked         meeting.AskMethod
		want          meeting.Permission
	}{
		"granted": {"", "answer(true)", meeting.AskByPage, meeting.Granted},
		"denied":  {"", "answer(false)", meeting.AskByPage, meeting.Refused},
		"granted before": {
			`state.permission = {ok: false, text: "you already have local record permission"}`, "", meeting.AskByPage, meeting.Granted,
		},
		"all are denied":   {`state.permission = {ok: false, text: "host deny all request"}`, "", meeting.AskByPage, meeting.Refused},
		"may not be asked": {`state.permission = {ok: false, text: "not enable local record"}`, "", meeting.AskByChat, meeting.NoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.enter()
			if test.before != "" {
				s.do(test.before)
			}
			asked, err := s.adapter.AskPermission(s.ctx, s.page, "Standin")
			if err != nil || asked != test.asked {
				t.Fatalf("asked by %q: %v", asked, err)
			}
			if test.after != "" {
				if o := s.see(meeting.InMeeting); o.Permission != meeting.NoAnswer {
					t.Errorf("the answer is %q before it came", o.Permission)
				}
				s.do(test.after)
			}
			s.await("the answer", func(o meeting.Observation) bool { return o.Permission == test.want })
			if requests := s.calls("mediaCapturePermission"); len(requests) != 1 || requests[0].Args["operate"] != "request" {
				t.Errorf("requested %v", requests)
			}
			if chat := s.calls("sendChat"); test.asked == meeting.AskByChat &&
				(len(chat) != 1 || !strings.Contains(chat[0].Args["message"].(string), "Standin")) {
				t.Errorf("wrote %v", chat)
			}
			if err := s.adapter.ClosePermissionRequest(s.ctx, s.page); err != nil {
				t.Errorf("to stop asking: %v", err)
			}
		})
	}
}

// TestHandleNotices checks that the bot joins the audio and is muted.
func TestHandleNotices(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.enter()
	s.do(`offerAudio()`)
	s.do(`own.muted = false`)
	s.await("no notice is left", func(o meeting.Observation) bool {
		if err := s.adapter.HandleNotices(s.ctx, s.page, o); err != nil {
			t.Fatalf("handling a notice: %v", err)
		}
		return len(o.Notices) == 0 && len(s.calls("mute")) > 0
	})
	if pressed := s.calls("joinAudio"); len(pressed) != 1 || pressed[0].Args["isTrusted"] != true {
		t.Errorf("the button for sound was pressed %v", pressed)
	}
	if mutes := s.calls("mute"); mutes[0].Args["mute"] != true {
		t.Errorf("muted by %v", mutes)
	}
}
