package meeting

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/replica"
)

// seenTime is how soon a change of the page must be seen, on a machine that
// runs other tests at the same time.
const seenTime = 5 * time.Second

// obstacles are what a platform's page puts in a bot's way.
func obstacles(stand replica.Platform) replica.Settings {
	switch stand {
	case replica.Teams:
		return replica.Settings{Passcode: "k3Yq7a", DevicesBeforeJoin: true, DevicesAfterJoin: true,
			Notices: []replica.Notice{replica.NoticeRecorded, replica.NoticeTranscribed}}
	case replica.Zoom:
		return replica.Settings{Passcode: "k3Yq7a", CookieBanner: true, DeviceDialog: true,
			Notices: []replica.Notice{replica.NoticeRecorded}}
	default:
		return replica.Settings{DeviceDialog: true,
			Notices: []replica.Notice{replica.NoticeRecorded, replica.NoticeTranscribed, replica.NoticeGemini}}
	}
}

// usualRows is the usual life of a bot in a meeting, with
// everything that a page puts in its way.
func usualRows(replica.Platform) []row {
	return []row{{"", func(t *testing.T, s scene) {
		long := "Zoë's notetaker \U0001F469\u200D\U0001F4BB " + strings.Repeat("very ", 20) + "long"
		settings := obstacles(s.stand)
		held, page, address := s.visit(t, settings)
		if address.Passcode != settings.Passcode {
			t.Errorf("the address carries the passcode %q, want %q", address.Passcode, settings.Passcode)
		}
		if err := s.site.Join(s.ctx, page, JoinOptions{Name: long, Passcode: address.Passcode}); err != nil {
			s.report(t, page)
			t.Fatalf("joining: %v", err)
		}
		s.await(t, page, "the lobby", on(Lobby))
		guest := held.Guests()[0]
		if want := cut(long, s.site.profile.Limits.Name); seen(guest.Name) != seen(want) {
			t.Errorf("the guest is called %q, want %q", guest.Name, want)
		}
		if guest.Microphone || guest.Camera {
			t.Errorf("in the lobby the guest's microphone is %t and its camera %t", guest.Microphone, guest.Camera)
		}

		held.Admit()
		s.await(t, page, "the meeting", on(InMeeting))
		recorded := false
		observation := s.await(t, page, "nothing in the way any more", func(o Observation) bool {
			recorded = recorded || o.Recorded
			return o.Screen == InMeeting && len(o.Notices) == 0 && o.Dialog == "" && countEvents(held, replica.EventNoticeAccepted) == len(settings.Notices)
		})
		if !recorded {
			t.Error("the platform's notice that it records was not observed")
		}
		wantPeople(t, observation, 2, "Ada Quill", "Ben Okafor")
		s.wantPlayed(t, page)

		if err := held.Join(replica.Participant{Name: "Cy Lind"}); err != nil {
			t.Fatal(err)
		}
		wantPeople(t, s.await(t, page, "a third", func(o Observation) bool { return o.Others == 3 }), 3, "Ada Quill", "Ben Okafor", "Cy Lind")
		if err := held.Leave(""); err != nil {
			t.Fatal(err)
		}
		wantPeople(t, s.await(t, page, "nobody else", func(o Observation) bool { return o.Others == 0 }), 0)

		began := time.Now()
		if err := s.site.Leave(s.ctx, page); err != nil {
			s.report(t, page)
			t.Fatalf("leaving: %v", err)
		}
		t.Logf("leaving took %s", time.Since(began).Round(time.Millisecond))
		if state := held.Guests()[0].State; state != replica.StateLeft {
			t.Errorf("the guest's state is %q, want %q", state, replica.StateLeft)
		}
		if err := s.site.Leave(s.ctx, page); err != nil {
			t.Errorf("leaving again: %v", err)
		}
	}}}
}

// outcomeRows moves a guest who has asked to join, and holds which screen each
// move is seen as.
func outcomeRows(stand replica.Platform) (rows []row) {
	blocked := CannotConnect
	if stand == replica.Meet {
		blocked = BotWall
	}
	for _, c := range []struct {
		name     string
		settings replica.Settings
		from     Screen
		move     func(*replica.Meeting) int
		want     Screen
	}{
		{"admitted", replica.Settings{}, Lobby, func(m *replica.Meeting) int { return m.Admit() }, InMeeting},
		{"denied", replica.Settings{}, Lobby, func(m *replica.Meeting) int { return m.Deny() }, Denied},
		{"lobby timed out", replica.Settings{}, Lobby, func(m *replica.Meeting) int { return m.LobbyTimeout() }, LobbyTimedOut},
		{"host arrives", replica.Settings{HostAbsent: true}, HostAbsent, func(m *replica.Meeting) int { return m.HostArrives() }, Lobby},
		{"ended in the lobby", replica.Settings{}, Lobby, func(m *replica.Meeting) int { return m.End() }, Ended},
		{"blocked in the lobby", replica.Settings{}, Lobby, func(m *replica.Meeting) int { return m.Block() }, blocked},
		{"removed", replica.Settings{NoLobby: true}, InMeeting, func(m *replica.Meeting) int { return m.Remove() }, Removed},
		{"ended", replica.Settings{NoLobby: true}, InMeeting, func(m *replica.Meeting) int { return m.End() }, Ended},
		{"connection lost", replica.Settings{NoLobby: true}, InMeeting, func(m *replica.Meeting) int { return m.Disconnect() }, Reconnecting},
	} {
		rows = append(rows, row{c.name, func(t *testing.T, s scene) {
			held, page := s.joined(t, c.settings)
			s.await(t, page, string(c.from), on(c.from))
			began := time.Now()
			if moved := c.move(held); moved != 1 {
				t.Fatalf("the move moved %d guests", moved)
			}
			observation := s.await(t, page, "another screen", func(o Observation) bool { return o.Screen != c.from && o.Screen != Unknown })
			if observation.Screen != c.want {
				s.report(t, page)
				t.Errorf("screen = %s by %s, want %s", observation.Screen, observation.Evidence, c.want)
			}
			if took := time.Since(began); took > seenTime {
				t.Errorf("the move was seen after %s, later than %s", took, seenTime)
			}
			if c.want == Reconnecting {
				held.Reconnect()
				s.await(t, page, "the meeting again", on(InMeeting))
			}
		}})
	}
	return rows
}

// wallRows holds that a join that cannot succeed says why.
func wallRows(stand replica.Platform) (rows []row) {
	blocked := CannotConnect
	if stand == replica.Meet {
		blocked = BotWall
	}
	for wall, want := range map[replica.Refusal]Screen{
		replica.RefusalNotFound: NotFound, replica.RefusalSignIn: SignInWall, replica.RefusalCaptcha: BotWall, replica.RefusalBlocked: blocked,
	} {
		rows = append(rows, row{string(wall), func(t *testing.T, s scene) {
			_, page, _ := s.visit(t, replica.Settings{Refusal: wall})
			err := s.site.Join(s.ctx, page, JoinOptions{Name: "Standin"})
			var stopped *ScreenError
			if !errors.As(err, &stopped) || stopped.Observation.Screen != want || stopped.Cause != nil {
				s.report(t, page)
				t.Errorf("joining: %v; want a ScreenError with %s", err, want)
			}
		}})
	}
	return rows
}

// launcherRows holds that a launcher is passed in the browser, also on a page
// that nobody has kept from starting programs.
func launcherRows(stand replica.Platform) []row {
	if stand == replica.Meet {
		return nil // it has no launcher
	}
	return []row{{"", func(t *testing.T, s scene) {
		held, err := s.server.Open(replica.Settings{Platform: s.stand, CookieBanner: s.stand == replica.Zoom})
		if err != nil {
			t.Fatal(err)
		}
		page, err := s.browser.NewPage(s.ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(page.Close)
		if err := page.Navigate(s.ctx, held.URL()); err != nil {
			t.Fatal(err)
		}
		if err := s.site.Join(s.ctx, page, JoinOptions{Name: "Standin"}); err != nil {
			s.report(t, page)
			t.Fatalf("joining: %v", err)
		}
		s.await(t, page, "the lobby", on(Lobby))
	}}}
}

// passcodeRows holds that a passcode is typed where it is asked for, and that
// one that is unknown or wrong is no meeting found.
func passcodeRows(stand replica.Platform) (rows []row) {
	if stand == replica.Meet {
		return nil // it has no passcodes
	}
	for name, c := range map[string]struct{ inAddress, typed, evidence string }{
		"unknown":          {evidence: "asks for a passcode"},
		"typed wrong":      {typed: "k3Yq7b", evidence: "text"},
		"wrong in address": {inAddress: "wrong1", typed: "wrong1", evidence: "text"},
		"right in address": {inAddress: "k3Yq7a"},
		"typed":            {typed: " k3Yq7a\n"},
	} {
		rows = append(rows, row{name, func(t *testing.T, s scene) {
			held, err := s.server.Open(replica.Settings{Platform: s.stand, Passcode: "k3Yq7a"})
			if err != nil {
				t.Fatal(err)
			}
			parameter := map[replica.Platform]string{replica.Teams: "p", replica.Zoom: "pwd"}[s.stand]
			address, _, _ := strings.Cut(held.URL(), "?")
			if c.inAddress != "" {
				address += "?" + parameter + "=" + c.inAddress
			}
			page := s.open(t, address)
			err = s.site.Join(s.ctx, page, JoinOptions{Name: "Standin", Passcode: c.typed})
			if c.evidence == "" && err == nil {
				s.await(t, page, "the lobby", on(Lobby))
				return
			}
			if err == nil { // the page told only after the join button was pressed
				observation := s.await(t, page, "the end", func(o Observation) bool { return o.Screen.Terminal() })
				err = &ScreenError{Observation: observation}
			}
			var stopped *ScreenError
			if !errors.As(err, &stopped) || c.evidence == "" || stopped.Observation.Screen != NotFound || !strings.Contains(stopped.Observation.Evidence, c.evidence) {
				s.report(t, page)
				t.Errorf("joining: %v; want no meeting found, by %q", err, c.evidence)
			}
		}})
	}
	return rows
}

// chatRows holds that what people write is no evidence, with the chat
// closed, as bubbles, and open; and that an open chat is read.
func chatRows(replica.Platform) []row {
	return []row{{"", func(t *testing.T, s scene) {
		held, page := s.inside(t, replica.Settings{})
		phrases := endings()
		for _, text := range phrases {
			if err := held.Say("Ada Quill", text); err != nil {
				t.Fatal(err)
			}
		}
		last := phrases[len(phrases)-1]
		stillIn := func(where string, shown func(Observation) bool) Observation {
			t.Helper()
			observation := s.await(t, page, "the messages, "+where, func(o Observation) bool {
				if o.Screen != InMeeting && o.Screen != Unknown {
					s.report(t, page)
					t.Fatalf("with messages %s the screen is %s by %s", where, o.Screen, o.Evidence)
				}
				return shown(o)
			})
			return observation
		}
		began := time.Now()
		stillIn("as bubbles", func(o Observation) bool { return o.Screen == InMeeting && time.Since(began) > 2*time.Second })
		if _, err := s.site.openChat(s.ctx, page); err != nil {
			t.Fatalf("opening the chat: %v", err)
		}
		tries := 0
		observation := stillIn("in the open chat", func(o Observation) bool {
			if tries++; tries == 60 {
				s.report(t, page)
				t.Fatalf("%d messages are read", len(o.Chat))
			}
			return len(o.Chat) >= len(phrases)
		})
		newest := observation.Chat[len(observation.Chat)-1]
		if newest.Text != last || newest.Author != "Ada Quill" || newest.Own || newest.ID == "" {
			t.Errorf("the last message is %+v", newest)
		}
		if observation.Others != 2 {
			t.Errorf("%d others are in the meeting, want 2", observation.Others)
		}
	}}}
}

// endings are phrases by which pages say that a visit is over, or is not yet a
// meeting.
func endings() []string {
	return []string{
		"You've been removed from the meeting", "You've been removed from this meeting", "You have been removed",
		"The call ended", "Meeting ended", "Call ended", "Your host ended the meeting for everyone", "This meeting has been ended by host",
		"Someone in the call denied your request to join", "Sorry, but you were denied access to the meeting", "The host has removed you from the waiting room",
		"Asking to be let in", "Someone will let you in shortly", "Please wait, the meeting host will let you in soon.",
		"Waiting for the host to join", "Waiting for the host to start this meeting",
		"Check your meeting code", "Looks like the meeting URL is incorrect", "This meeting link is invalid (3,001)", "Passcode wrong",
		"You can't join this video call", "Sign in to join this meeting", "Automated bots aren't allowed", "Verify you're a real person",
		"You lost your network connection. Trying to reconnect", "Reconnecting...", "Got it", "Return to home",
	}
}

// sendRows sends from a meeting whose toolbar has hidden itself.
func sendRows(replica.Platform) []row {
	return []row{{"", func(t *testing.T, s scene) {
		held, page := s.inside(t, replica.Settings{NoTips: true})
		hidden := func(Observation) bool {
			snapshot, err := s.site.probe.look(s.ctx, page)
			return err == nil && snapshot.there(leaveButton) && !snapshot.Visible(leaveButton)
		}
		s.await(t, page, "the toolbar hides itself", hidden)

		const limit = 40 // fewer than the platforms', because each is a key to press
		s.site.profile.Limits.Chat = limit
		long := strings.TrimSpace(strings.Repeat("word ", limit/5+8))
		for _, text := range []string{"Recording \U0001F534 för\nall", long} {
			if err := s.site.SendChat(s.ctx, page, text); err != nil {
				s.report(t, page)
				t.Fatalf("sending %.20q: %v", text, err)
			}
		}
		want := append([]string{"Recording \U0001F534 för all"}, split(long, limit)...)
		s.until(t, page, "the messages at the replica", func() bool { return len(held.Messages()) >= len(want) })
		var got []string
		for _, message := range held.Messages() {
			got = append(got, message.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("messages = %.80q, want %.80q", got, want)
		}
		if snapshot, err := s.site.probe.look(s.ctx, page); err != nil || snapshot.Visible(chatInput) {
			t.Errorf("the chat stays open (%v)", err)
		}

		s.await(t, page, "the toolbar hides itself again", hidden)
		if err := s.site.Leave(s.ctx, page); err != nil {
			t.Errorf("leaving with a hidden toolbar: %v", err)
		}
	}}}
}

// leavingRows holds that a bot that gives up waiting, or that notices keep from
// the buttons, leaves no ghost.
func leavingRows(replica.Platform) (rows []row) {
	for name, c := range map[string]struct {
		settings replica.Settings
		from     replica.State
	}{
		"the lobby":         {replica.Settings{}, replica.StateLobby},
		"the absent host":   {replica.Settings{HostAbsent: true}, replica.StateWaitingForHost},
		"under notices":     {replica.Settings{NoLobby: true, Notices: []replica.Notice{replica.NoticeRecorded, replica.NoticeTranscribed}}, replica.StateAdmitted},
		"without questions": {replica.Settings{NoLobby: true, LeaveAtOnce: true}, replica.StateAdmitted},
	} {
		rows = append(rows, row{name, func(t *testing.T, s scene) {
			held, page := s.joined(t, c.settings)
			if _, err := held.Wait(s.ctx, replica.EventKind(c.from)); err != nil {
				t.Fatal(err)
			}
			if err := s.site.Leave(s.ctx, page); err != nil {
				s.report(t, page)
				t.Fatalf("leaving: %v", err)
			}
			if _, err := held.Wait(s.ctx, replica.EventKind(replica.StateLeft)); err != nil {
				t.Errorf("the guest's state is %q: %v", held.Guests()[0].State, err)
			}
		}})
	}
	return rows
}
