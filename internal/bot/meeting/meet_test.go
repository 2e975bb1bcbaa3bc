package meeting

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/replica"
)

// seenTime is how soon a change of the page must be seen, on a machine that
// runs other tests at the same time.
const seenTime = 2 * time.Second

// visit opens a meeting of the replica in a page of its own.
func visit(t *testing.T, ctx context.Context, running *browser.Browser, settings replica.Settings) (*replica.Meeting, *browser.Page) {
	t.Helper()
	server, err := replica.Start(ctx, replica.Options{})
	if err != nil {
		t.Fatalf("starting the replica: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("closing the replica: %v", err)
		}
	})
	held, err := server.Open(settings)
	if err != nil {
		t.Fatalf("opening a meeting: %v", err)
	}
	page := openPage(t, ctx, running)
	address, err := meetAdapter(t).Address(held.URL())
	if err != nil {
		t.Fatalf("the replica's address %q: %v", held.URL(), err)
	}
	if err := page.Navigate(ctx, address); err != nil {
		t.Fatalf("opening %q: %v", address, err)
	}
	return held, page
}

// joined visits a meeting and asks to join it as Standin.
func joined(t *testing.T, ctx context.Context, running *browser.Browser, settings replica.Settings) (*replica.Meeting, *browser.Page) {
	t.Helper()
	held, page := visit(t, ctx, running, settings)
	if err := meetAdapter(t).Join(ctx, page, "Standin"); err != nil {
		t.Fatalf("joining: %v", err)
	}
	return held, page
}

// TestMeetFromLobbyToLeaving is the usual life of a bot in a meeting, with
// everything that a page puts in its way.
func TestMeetFromLobbyToLeaving(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	adapter := meetAdapter(t)
	long := "Zoë's notetaker \U0001F469\u200D\U0001F4BB " + strings.Repeat("very ", 20) + "long"
	held, page := visit(t, ctx, running, replica.Settings{
		DeviceDialog: true,
		Notices:      []replica.Notice{replica.NoticeRecorded, replica.NoticeTranscribed, replica.NoticeGemini},
	})
	if err := adapter.Join(ctx, page, long); err != nil {
		t.Fatalf("joining: %v", err)
	}

	await(t, ctx, adapter, page, "the lobby", on(Lobby))
	guest := held.Guests()[0]
	if want := cut(long, 60); seen(guest.Name) != seen(want) {
		t.Errorf("the guest is called %q, want %q", guest.Name, want)
	}
	if guest.Microphone || guest.Camera {
		t.Errorf("in the lobby the guest's microphone is %t and its camera %t", guest.Microphone, guest.Camera)
	}

	held.Admit()
	await(t, ctx, adapter, page, "the meeting", on(InMeeting))
	observation := await(t, ctx, adapter, page, "nothing in the way any more", func(o Observation) bool {
		return o.Screen == InMeeting && len(o.Notices) == 0 && o.Dialog == ""
	})
	if accepted := countEvents(held, replica.EventNoticeAccepted); accepted != 3 {
		t.Errorf("%d notices were accepted, want 3", accepted)
	}
	wantPeople(t, observation, 2, "Ada Quill", "Ben Okafor")

	if err := held.Join(replica.Participant{Name: "Cy Lind"}); err != nil {
		t.Fatal(err)
	}
	wantPeople(t, await(t, ctx, adapter, page, "a third", func(o Observation) bool { return o.Others == 3 }), 3, "Ada Quill", "Ben Okafor", "Cy Lind")
	if err := held.Leave(""); err != nil {
		t.Fatal(err)
	}
	wantPeople(t, await(t, ctx, adapter, page, "nobody else", func(o Observation) bool { return o.Others == 0 }), 0)

	began := time.Now()
	if err := adapter.Leave(ctx, page); err != nil {
		t.Fatalf("leaving: %v", err)
	}
	t.Logf("leaving took %s", time.Since(began).Round(time.Millisecond))
	if state := held.Guests()[0].State; state != replica.StateLeft {
		t.Errorf("the guest's state is %q, want %q", state, replica.StateLeft)
	}
	if err := adapter.Leave(ctx, page); err != nil {
		t.Errorf("leaving again: %v", err)
	}
}

// TestMeetOutcomes moves a guest who has asked to join, and holds which screen
// each move is seen as.
func TestMeetOutcomes(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	adapter := meetAdapter(t)
	for _, c := range []struct {
		name     string
		settings replica.Settings
		path     []Screen // seen before the move
		move     func(*replica.Meeting) int
		want     Screen
	}{
		{"admitted", replica.Settings{}, []Screen{Lobby}, func(m *replica.Meeting) int { return m.Admit() }, InMeeting},
		{"denied", replica.Settings{}, []Screen{Lobby}, func(m *replica.Meeting) int { return m.Deny() }, Denied},
		{"lobby timed out", replica.Settings{}, []Screen{Lobby}, func(m *replica.Meeting) int { return m.LobbyTimeout() }, LobbyTimedOut},
		{"host arrives", replica.Settings{HostAbsent: true}, []Screen{HostAbsent}, func(m *replica.Meeting) int { return m.HostArrives() }, Lobby},
		{"ended in the lobby", replica.Settings{}, []Screen{Lobby}, func(m *replica.Meeting) int { return m.End() }, Ended},
		{"blocked in the lobby", replica.Settings{}, []Screen{Lobby}, func(m *replica.Meeting) int { return m.Block() }, BotWall},
		{"removed", replica.Settings{NoLobby: true}, []Screen{InMeeting}, func(m *replica.Meeting) int { return m.Remove() }, Removed},
		{"ended", replica.Settings{NoLobby: true}, []Screen{InMeeting}, func(m *replica.Meeting) int { return m.End() }, Ended},
		{"another join label", replica.Settings{JoinLabel: "Join anyway"}, []Screen{Lobby}, func(m *replica.Meeting) int { return m.Admit() }, InMeeting},
	} {
		t.Run(c.name, func(t *testing.T) {
			held, page := joined(t, ctx, running, c.settings)
			for _, screen := range c.path {
				await(t, ctx, adapter, page, string(screen), on(screen))
			}
			began := time.Now()
			if moved := c.move(held); moved != 1 {
				t.Fatalf("the move moved %d guests", moved)
			}
			observation := await(t, ctx, adapter, page, "another screen", func(o Observation) bool {
				return o.Screen != c.path[len(c.path)-1] && o.Screen != Unknown
			})
			if observation.Screen != c.want {
				t.Errorf("screen = %s by %s, want %s", observation.Screen, observation.Evidence, c.want)
			}
			if took := time.Since(began); took > seenTime {
				t.Errorf("the move was seen after %s, later than %s", took, seenTime)
			}
		})
	}
}

// TestMeetWalls holds that a join that cannot succeed says why.
func TestMeetWalls(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	for wall, want := range map[replica.Wall]Screen{
		replica.WallNotFound: NotFound,
		replica.WallSignIn:   SignInWall,
		replica.WallCaptcha:  BotWall,
		replica.WallBlocked:  BotWall,
	} {
		t.Run(string(wall), func(t *testing.T) {
			_, page := visit(t, ctx, running, replica.Settings{Wall: wall})
			err := meetAdapter(t).Join(ctx, page, "Standin")
			var stopped *ScreenError
			if !errors.As(err, &stopped) || stopped.Observation.Screen != want || stopped.Cause != nil {
				t.Errorf("joining: %v; want a ScreenError with %s", err, want)
			}
		})
	}
}

// TestMeetChatOfEnds holds that what people write is no evidence, with the chat
// closed, as bubbles, and open.
func TestMeetChatOfEnds(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	adapter := meetAdapter(t)
	held, page := joined(t, ctx, running, replica.Settings{NoLobby: true})
	await(t, ctx, adapter, page, "the meeting", on(InMeeting))
	for _, text := range []string{
		"You've been removed from the meeting", "The call ended", "Asking to be let in", "Check your meeting code",
		"Someone in the call denied your request to join", "You can't join this video call", "Got it", "Return to home",
	} {
		if err := held.Say("Ada Quill", text); err != nil {
			t.Fatal(err)
		}
	}
	stillIn := func(where string) {
		t.Helper()
		present := func() bool {
			var shown bool
			if err := page.Eval(ctx, `[...document.querySelectorAll("p")].some(p => p.textContent === "Return to home")`, &shown); err != nil {
				t.Fatal(err)
			}
			return shown
		}
		observation := await(t, ctx, adapter, page, "the messages, "+where, func(Observation) bool { return present() })
		if observation.Screen != InMeeting || observation.Others != 2 {
			t.Errorf("with messages %s the screen is %s by %s, with %d others", where, observation.Screen, observation.Evidence, observation.Others)
		}
	}
	stillIn("as bubbles")
	if _, err := adapter.openChat(ctx, page); err != nil {
		t.Fatalf("opening the chat: %v", err)
	}
	stillIn("in the open chat")
}

// TestMeetSendChat sends from a meeting whose toolbar has hidden itself.
func TestMeetSendChat(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	adapter := meetAdapter(t)
	held, page := joined(t, ctx, running, replica.Settings{NoLobby: true, NoTips: true})
	await(t, ctx, adapter, page, "the meeting", on(InMeeting))
	hidden := func(Observation) bool {
		snapshot, err := adapter.probe.look(ctx, page)
		return err == nil && slices.Contains(snapshot.Hidden, leaveButton)
	}
	await(t, ctx, adapter, page, "the toolbar hides itself", hidden)

	long := strings.TrimSpace(strings.Repeat("word ", 120)) // 599 characters
	for _, text := range []string{"Recording \U0001F534 för\nall", long} {
		if err := adapter.SendChat(ctx, page, text); err != nil {
			t.Fatalf("sending %.20q: %v", text, err)
		}
	}
	want := []string{"Recording \U0001F534 för all", long[:499], long[500:]}
	await(t, ctx, adapter, page, "the messages at the replica", func(Observation) bool { return len(held.Messages()) >= len(want) })
	var got []string
	for _, message := range held.Messages() {
		got = append(got, message.Text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("messages = %q, want %q", got, want)
	}
	if snapshot, err := adapter.probe.look(ctx, page); err != nil || snapshot.Visible(chatInput) {
		t.Errorf("the chat stays open (%v)", err)
	}

	await(t, ctx, adapter, page, "the toolbar hides itself again", hidden)
	if err := adapter.Leave(ctx, page); err != nil {
		t.Errorf("leaving with a hidden toolbar: %v", err)
	}
}

// TestMeetLeavesTheLobby holds that a bot that gives up waiting leaves no ghost.
func TestMeetLeavesTheLobby(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	adapter := meetAdapter(t)
	held, page := joined(t, ctx, running, replica.Settings{})
	await(t, ctx, adapter, page, "the lobby", on(Lobby))
	if err := adapter.Leave(ctx, page); err != nil {
		t.Fatalf("leaving: %v", err)
	}
	if state := held.Guests()[0].State; state != replica.StateLeft {
		t.Errorf("the guest's state is %q, want %q", state, replica.StateLeft)
	}
}

// TestMeetLeavesUnderNotices holds that a notice over the page does not keep the
// bot in the meeting.
func TestMeetLeavesUnderNotices(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	adapter := meetAdapter(t)
	held, page := joined(t, ctx, running, replica.Settings{
		NoLobby: true, Notices: []replica.Notice{replica.NoticeRecorded, replica.NoticeGemini},
	})
	if _, err := held.Wait(ctx, replica.EventKind(replica.StateAdmitted)); err != nil {
		t.Fatal(err)
	}
	if err := adapter.Leave(ctx, page); err != nil {
		t.Fatalf("leaving: %v", err)
	}
	if state := held.Guests()[0].State; state != replica.StateLeft {
		t.Errorf("the guest's state is %q, want %q", state, replica.StateLeft)
	}
}

// TestMeetJoinTimeIsUp holds that a page that never becomes a meeting ends with
// what it showed.
func TestMeetJoinTimeIsUp(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	page := openDocument(t, ctx, running, "<main><h1>Under construction</h1></main>")
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	err := meetAdapter(t).Join(short, page, "Standin")
	var stopped *ScreenError
	if !errors.As(err, &stopped) || stopped.Observation.Screen != Unknown || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("joining: %v; want a ScreenError with an unknown page and the deadline", err)
	}
}

// TestMeetBrowserGone holds that a lost browser is told at once, not waited for.
func TestMeetBrowserGone(t *testing.T) {
	t.Parallel()
	ctx, running := launchBrowser(t)
	page := openDocument(t, ctx, running, "")
	page.Close()
	if err := meetAdapter(t).Join(ctx, page, "Standin"); !errors.Is(err, browser.ErrPageClosed) {
		t.Errorf("joining on a closed page: %v, want %v", err, browser.ErrPageClosed)
	}
	if _, err := meetAdapter(t).Observe(ctx, page); !errors.Is(err, browser.ErrPageClosed) {
		t.Errorf("observing a closed page: %v, want %v", err, browser.ErrPageClosed)
	}
}

func countEvents(held *replica.Meeting, kind replica.EventKind) int {
	count := 0
	for _, event := range held.Events() {
		if event.Kind == kind {
			count++
		}
	}
	return count
}

// wantPeople holds who is seen, in any order.
func wantPeople(t *testing.T, observation Observation, others int, names ...string) {
	t.Helper()
	var got []string
	for _, one := range observation.Participants {
		got = append(got, one.Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, names) || observation.Others != others {
		t.Errorf("people = %q, %d others; want %q, %d", got, observation.Others, names, others)
	}
}
