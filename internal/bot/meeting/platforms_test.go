package meeting

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/replica"
)

// obstacles returns settings with every dialog and notice of a platform.
func obstacles(replicaPlatform replica.Platform) replica.Settings {
	switch replicaPlatform {
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

// usualRows visits a meeting from joining to leaving, with every dialog and
// notice of the platform.
func usualRows(replica.Platform) []row {
	return []row{{"", func(t *testing.T, s env) {
		long := "Zoë's notetaker \U0001F469\u200D\U0001F4BB " + strings.Repeat("very ", 20) + "long"
		settings := obstacles(s.replicaPlatform)
		meeting, page, address := s.visit(t, settings)
		if address.Passcode != settings.Passcode {
			t.Errorf("the address carries the passcode %q, want %q", address.Passcode, settings.Passcode)
		}
		if err := s.site.Join(s.ctx, page, JoinOptions{Name: long, Passcode: address.Passcode}); err != nil {
			s.report(t, page)
			t.Fatalf("joining: %v", err)
		}
		s.await(t, page, "the lobby", on(Lobby))
		guest := meeting.Guests()[0]
		if want := Truncate(long, s.site.profile.Limits.Name); withoutFormatting(guest.Name) != withoutFormatting(want) {
			t.Errorf("the guest is called %q, want %q", guest.Name, want)
		}
		if guest.Microphone || guest.Camera {
			t.Errorf("in the lobby the guest's microphone is %t and its camera %t", guest.Microphone, guest.Camera)
		}

		meeting.Admit()
		inside := func(o Observation) bool { return o.Screen == InMeeting }
		s.await(t, page, "the meeting", inside)
		observation := s.await(t, page, "nothing in the way any more", func(o Observation) bool {
			return inside(o) && len(o.Notices) == 0 && !o.Captured.Snapshot.Visible(dialog) &&
				countEvents(meeting, replica.EventNoticeAccepted) == len(settings.Notices)
		})
		wantPeople(t, observation, 2, "Ada Quill", "Ben Okafor")
		s.wantTrackOwner(t, page)

		if err := meeting.Join(replica.Participant{Name: "Cy Lind"}); err != nil {
			t.Fatal(err)
		}
		wantPeople(t, s.await(t, page, "a third", func(o Observation) bool { return o.Others == 3 }), 3, "Ada Quill", "Ben Okafor", "Cy Lind")
		if err := meeting.Leave(""); err != nil {
			t.Fatal(err)
		}
		wantPeople(t, s.await(t, page, "nobody else", func(o Observation) bool { return o.Others == 0 }), 0)

		began := time.Now()
		if err := s.site.Leave(s.ctx, page); err != nil {
			s.report(t, page)
			t.Fatalf("leaving: %v", err)
		}
		t.Logf("leaving took %s", time.Since(began).Round(time.Millisecond))
		if state := meeting.Guests()[0].State; state != replica.StateLeft {
			t.Errorf("the guest's state is %q, want %q", state, replica.StateLeft)
		}
		if err := s.site.Leave(s.ctx, page); err != nil {
			t.Errorf("leaving again: %v", err)
		}
	}}}
}

// outcomeRows changes the state of a guest who requested to join, and checks each
// screen that is observed.
func outcomeRows(replicaPlatform replica.Platform) (rows []row) {
	blocked := CannotConnect
	if replicaPlatform == replica.Meet {
		blocked = BotWall
	}
	type change struct {
		move func(*replica.Meeting) int
		want Screen
	}
	end := change{func(m *replica.Meeting) int { return m.End() }, Ended}
	otherWords := map[replica.Platform]string{
		replica.Meet: "The call ended", replica.Teams: "Call ended", replica.Zoom: "Meeting is end now",
	}[replicaPlatform]
	for name, c := range map[string]struct {
		settings replica.Settings
		from     Screen
		changes  []change
	}{
		"denied":               {replica.Settings{}, Lobby, []change{{func(m *replica.Meeting) int { return m.Deny() }, Denied}}},
		"lobby timed out":      {replica.Settings{}, Lobby, []change{{func(m *replica.Meeting) int { return m.LobbyTimeout() }, LobbyTimedOut}}},
		"ended in the lobby":   {replica.Settings{}, Lobby, []change{end}},
		"blocked in the lobby": {replica.Settings{}, Lobby, []change{{func(m *replica.Meeting) int { return m.Block() }, blocked}}},
		"host arrives, admitted, ended": {replica.Settings{
			HostAbsent: true, Texts: map[replica.State]string{replica.StateEnded: otherWords},
		}, HostAbsent, []change{
			{func(m *replica.Meeting) int { return m.HostArrives() }, Lobby}, {func(m *replica.Meeting) int { return m.Admit() }, InMeeting}, end,
		}},
		"connection lost, removed": {replica.Settings{NoLobby: true, NoTips: true}, InMeeting, []change{
			{func(m *replica.Meeting) int { return m.Disconnect() }, Reconnecting},
			{func(m *replica.Meeting) int { return m.Reconnect() }, InMeeting},
			{func(m *replica.Meeting) int { return m.Remove() }, Removed},
		}},
	} {
		rows = append(rows, row{name, func(t *testing.T, s env) {
			meeting, page := s.joined(t, c.settings)
			s.await(t, page, string(c.from), on(c.from))
			from := c.from
			for _, change := range c.changes {
				if moved := change.move(meeting); moved != 1 {
					t.Fatalf("%d guests changed state from %s", moved, from)
				}
				observation := s.await(t, page, string(change.want)+" after "+string(from), func(o Observation) bool {
					return o.Screen != from && o.Screen != Unknown
				})
				if from = change.want; observation.Screen != from {
					s.report(t, page)
					t.Fatalf("screen = %s by %s, want %s", observation.Screen, observation.Evidence, from)
				}
			}
		}})
	}
	return rows
}

// wallRows checks that a join that cannot succeed fails with the reason.
func wallRows(replicaPlatform replica.Platform) (rows []row) {
	blocked := CannotConnect
	if replicaPlatform == replica.Meet {
		blocked = BotWall
	}
	for wall, want := range map[replica.Refusal]Screen{
		replica.RefusalNotFound: NotFound, replica.RefusalSignIn: SignInWall, replica.RefusalCaptcha: BotWall, replica.RefusalBlocked: blocked,
	} {
		rows = append(rows, row{string(wall), func(t *testing.T, s env) {
			_, page, _ := s.visit(t, replica.Settings{Refusal: wall})
			err := s.site.Join(s.ctx, page, JoinOptions{Name: "Standin"})
			if err == nil && notFoundOnZoom(s.replicaPlatform, wall) {
				s.await(t, page, "a meeting that may not have started", on(HostAbsent))
				return
			}
			var stopped *ScreenError
			if !errors.As(err, &stopped) || stopped.Observation.Screen != want || stopped.Cause != nil {
				s.report(t, page)
				t.Errorf("joining: %v; want a ScreenError with %s", err, want)
			}
		}})
	}
	return rows
}

// notFoundOnZoom reports whether a page cannot tell an unknown meeting from one that
// has not started.
func notFoundOnZoom(platform replica.Platform, refusal replica.Refusal) bool {
	return platform == replica.Zoom && refusal == replica.RefusalNotFound
}

// passcodeRows checks that a passcode is typed where the page asks for it, and
// that an unknown or wrong passcode means that the meeting was not found.
func passcodeRows(replicaPlatform replica.Platform) (rows []row) {
	if replicaPlatform == replica.Meet {
		return nil // it has no passcodes
	}
	for name, c := range map[string]struct{ inAddress, typed, evidence string }{
		"unknown":          {evidence: "asks for a passcode"},
		"typed wrong":      {typed: "k3Yq7b", evidence: "text"},
		"wrong in address": {inAddress: "wrong1", typed: "wrong1", evidence: "text"},
		"right in address": {inAddress: "k3Yq7a"},
		"typed":            {typed: " k3Yq7a\n"},
	} {
		rows = append(rows, row{name, func(t *testing.T, s env) {
			meeting, err := s.server.Open(replica.Settings{Platform: s.replicaPlatform, Passcode: "k3Yq7a"})
			if err != nil {
				t.Fatal(err)
			}
			parameter := map[replica.Platform]string{replica.Teams: "p", replica.Zoom: "pwd"}[s.replicaPlatform]
			address, _, _ := strings.Cut(meeting.URL(), "?")
			if c.inAddress != "" {
				address += "?" + parameter + "=" + c.inAddress
			}
			page := s.open(t, address)
			err = s.site.Join(s.ctx, page, JoinOptions{Name: "Standin", Passcode: c.typed})
			if c.evidence == "" && err == nil {
				s.await(t, page, "the lobby", on(Lobby))
				return
			}
			if err == nil { // the page shows it only after the join button was pressed
				observation := s.await(t, page, "the end", func(o Observation) bool { return o.Screen.Terminal() })
				err = &ScreenError{Observation: observation}
			}
			var stopped *ScreenError
			if !errors.As(err, &stopped) || c.evidence == "" || stopped.Observation.Screen != NotFound ||
				!strings.Contains(stopped.Observation.Evidence, c.evidence) {
				s.report(t, page)
				t.Errorf("joining: %v; want NotFound with evidence %q", err, c.evidence)
			}
		}})
	}
	return rows
}

// testChat checks that messages are no evidence for a screen, as bubbles and in the
// open chat, and that the open chat is read.
func testChat(t *testing.T, s env, meeting *replica.Meeting, page *browser.Page) {
	t.Helper()
	phrases := terminalPhrases()
	for _, text := range phrases {
		if err := meeting.Say("Ada Quill", text); err != nil {
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
		return len(o.Chat) >= len(phrases) && o.Chat[len(o.Chat)-1].Text == last
	})
	newest := observation.Chat[len(observation.Chat)-1]
	if newest.Text != last || newest.Author != "Ada Quill" || newest.Own || newest.ID == "" {
		t.Errorf("the last message is %+v", newest)
	}
	if observation.Others != 2 {
		t.Errorf("%d others are in the meeting, want 2", observation.Others)
	}
}

// terminalPhrases returns texts that pages show when a visit is over or has not
// started. Participants write them in the chat.
func terminalPhrases() []string {
	return []string{
		"You've been removed from the meeting", "You've been removed from this meeting", "You have been removed",
		"The call ended", "Meeting ended", "Call ended", "Your host ended the meeting for everyone", "This meeting has been ended by host",
		"Someone in the call denied your request to join", "Sorry, but you were denied access to the meeting",
		"The host has removed you from the waiting room",
		"Asking to be let in", "Someone will let you in shortly", "Please wait, the meeting host will let you in soon.",
		"Waiting for the host to join", "Waiting for the host to start this meeting",
		"Check your meeting code", "Looks like the meeting URL is incorrect", "This meeting link is invalid (3,001)", "Passcode wrong",
		"You can't join this video call", "Sign in to join this meeting", "Automated bots aren't allowed", "Verify you're a real person",
		"You lost your network connection. Trying to reconnect", "Reconnecting...", "Got it", "Return to home",
	}
}

// sendRows sends from a meeting with a hidden toolbar.
func sendRows(replica.Platform) []row {
	return []row{{"", func(t *testing.T, s env) {
		meeting, page := s.inside(t, replica.Settings{NoTips: true})
		hidden := func(Observation) bool {
			snapshot, err := s.site.probe.snapshot(s.ctx, page)
			return err == nil && snapshot.present(leaveButton) && !snapshot.Visible(leaveButton)
		}
		s.await(t, page, "the toolbar hides itself", hidden)

		const limit = 40 // shorter than the platforms' limits, to keep the test fast
		s.site.profile.Limits.Chat = limit
		long := strings.TrimSpace(strings.Repeat("word ", limit/5+8))
		for _, text := range []string{"Recording \U0001F534 för\nall", long} {
			if err := s.site.SendChat(s.ctx, page, text); err != nil {
				s.report(t, page)
				t.Fatalf("sending %.20q: %v", text, err)
			}
		}
		want := append([]string{"Recording \U0001F534 för all"}, SplitText(long, limit)...)
		s.until(t, page, "the messages at the replica", func() bool { return len(meeting.Messages()) >= len(want) })
		var got []string
		for _, message := range meeting.Messages() {
			got = append(got, message.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("messages = %.80q, want %.80q", got, want)
		}
		if snapshot, err := s.site.probe.snapshot(s.ctx, page); err != nil || snapshot.Visible(chatInput) {
			t.Errorf("the chat stays open (%v)", err)
		}

		s.await(t, page, "the toolbar hides itself again", hidden)
		if err := s.site.Leave(s.ctx, page); err != nil {
			t.Errorf("leaving with a hidden toolbar: %v", err)
		}
	}}}
}
