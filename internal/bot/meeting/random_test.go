package meeting

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/replica"
)

const (
	// observeInterval is how often a bot looks at its page.
	observeInterval = 250 * time.Millisecond
	// drawnTime is how long a page may go on showing what was before.
	drawnTime = 10 * time.Second
	// storyTime bounds one story.
	storyTime = 90 * time.Second
)

// TestRandomMeetings visits meetings that are drawn by chance, and holds that
// no look at any of their pages is ever taken for what it is not. How many
// there are says STANDIN_TEST_MEETINGS, which ones STANDIN_TEST_SEED.
func TestRandomMeetings(t *testing.T) {
	t.Parallel()
	meetings := number(t, "STANDIN_TEST_MEETINGS", 18)
	seed := number(t, "STANDIN_TEST_SEED", rand.Uint64N(1_000_000)+1)
	t.Logf("to see these meetings again: STANDIN_TEST_SEED=%d STANDIN_TEST_MEETINGS=%d", seed, meetings)
	ctx, running := launchBrowserFor(t, browserTestTime+time.Duration(meetings)*storyTime/pagesAtOnce)
	var delays latencies
	places := make(chan struct{}, pagesAtOnce)
	var visits sync.WaitGroup
	began := time.Now()
	for n := range int(meetings) {
		places <- struct{}{}
		visits.Go(func() {
			defer func() { <-places }()
			told := draw(seed, n+1)
			t.Run(fmt.Sprint(n+1), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(ctx, storyTime)
				defer cancel()
				visit := &storyVisit{scene: newScene(t, ctx, running, told.platform), story: told, delays: &delays}
				visit.tell(t)
			})
		})
	}
	visits.Wait()
	t.Logf("%d meetings in %s", meetings, time.Since(began).Round(time.Second))
	delays.log(t)
}

// number reads a number from the environment.
func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	value, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return value
}

// storyVisit is a bot's visit in a story.
type storyVisit struct {
	scene
	story  story
	delays *latencies
	held   *replica.Meeting
	page   *browser.Page
}

// tell visits the story's meeting.
func (v *storyVisit) tell(t *testing.T) {
	var address Address
	v.held, v.page, address = v.visit(t, v.story.settings)
	defer v.page.Close()
	defer func() {
		if t.Failed() {
			t.Logf("%s: %+v", v.story, v.story.settings)
			v.report(t, v.page)
			for _, event := range v.held.Events() {
				t.Logf("  %s %s %s", event.At.Format("05.000"), event.Kind, event.Text)
			}
		}
	}()
	err := v.site.Join(v.ctx, v.page, JoinOptions{Name: v.story.botName, Passcode: address.Passcode})
	walls := map[outcome]Screen{notFoundOutcome: NotFound, signInOutcome: SignInWall, captchaOutcome: BotWall}
	if wall, walled := walls[v.story.outcome]; walled {
		var stopped *ScreenError
		if !errors.As(err, &stopped) || stopped.Observation.Screen != wall {
			t.Errorf("joining: %v; want %s", err, wall)
		}
		return
	}
	if err != nil {
		t.Errorf("joining: %v", err)
		return
	}
	if v.story.settings.HostAbsent {
		v.see(t, HostAbsent)
		if v.story.outcome == absentOutcome {
			v.leave(t)
			return
		}
		v.held.HostArrives()
	}
	if !v.story.settings.NoLobby {
		v.see(t, Lobby)
		if v.fate(t, true) {
			return
		}
		v.held.Admit()
	}
	v.see(t, InMeeting)
	v.talk(t)
	v.fate(t, false)
}

// fate brings the story's outcome about, in the lobby or in the meeting, and
// reports whether the visit is over.
func (v *storyVisit) fate(t *testing.T, lobby bool) (over bool) {
	blocked := CannotConnect
	if v.stand == replica.Meet {
		blocked = BotWall
	}
	early := lobby && v.story.inLobby
	switch o := v.story.outcome; {
	case lobby && o == deniedOutcome:
		v.held.Deny()
		v.see(t, Denied)
	case lobby && o == timeoutOutcome:
		v.held.LobbyTimeout()
		v.see(t, LobbyTimedOut)
	case o == endedOutcome && lobby == early:
		v.held.End()
		v.see(t, Ended)
	case o == blockedOutcome && lobby == early:
		v.held.Block()
		v.see(t, blocked)
	case lobby:
		return false
	case o == removedOutcome:
		v.held.Remove()
		v.see(t, Removed)
	case o == offlineOutcome:
		v.held.Disconnect()
		v.see(t, Reconnecting)
		v.held.Reconnect()
		v.see(t, InMeeting)
		v.leave(t)
	default:
		v.leave(t)
	}
	return true
}

// talk has the participants write what pages say, while the bot looks on.
func (v *storyVisit) talk(t *testing.T) {
	if v.story.openChat {
		if _, err := v.site.openChat(v.ctx, v.page); err != nil {
			t.Errorf("opening the chat: %v", err)
			return
		}
	}
	for _, text := range v.story.chatter {
		if err := v.held.Say(v.story.settings.Participants[0].Name, text); err != nil {
			t.Error(err)
		}
	}
	distinct := v.distinct()
	others := len(v.story.settings.Participants)
	if v.stand == replica.Teams {
		others = distinct // its page tells no number
	}
	v.watch(t, "everyone", func(o Observation) bool {
		return o.Screen == InMeeting && o.Others == others && len(o.Participants) == distinct && len(o.Notices) == 0 &&
			(!v.story.openChat || len(o.Chat) == len(v.story.chatter))
	})
	looks := 0
	v.watch(t, "some more looks", func(Observation) bool { looks++; return looks > 6 })
}

// distinct is how many participants the page tells apart: those of one name are
// one where it gives them no ids.
func (v *storyVisit) distinct() int {
	if v.stand == replica.Meet {
		return len(v.story.settings.Participants)
	}
	names := make(map[string]bool)
	for _, participant := range v.story.settings.Participants {
		names[participant.Name] = true
	}
	return len(names)
}

// leave leaves, and holds that no ghost stays.
func (v *storyVisit) leave(t *testing.T) {
	if err := v.site.Leave(v.ctx, v.page); err != nil {
		t.Errorf("leaving: %v", err)
		return
	}
	if state := v.held.Guests()[0].State; state != replica.StateLeft {
		t.Errorf("after leaving the guest's state is %s", state)
	}
}

// see watches until the page is seen as a screen, and notes how long that took
// from the event at the replica.
func (v *storyVisit) see(t *testing.T, screen Screen) {
	t.Helper()
	observation := v.watch(t, string(screen), on(screen))
	if observation.Screen != screen {
		return
	}
	if kind, measured := map[Screen]replica.EventKind{
		Lobby: replica.EventKind(replica.StateLobby), InMeeting: replica.EventKind(replica.StateAdmitted), Removed: replica.EventKind(replica.StateRemoved),
	}[screen]; measured {
		if at, happened := v.first(kind); happened && !slices.ContainsFunc(v.held.Events(), func(e replica.Event) bool { return e.Kind == replica.EventReconnected }) {
			v.delays.add(screen, time.Since(at))
		}
	}
}

// first returns when something first happened.
func (v *storyVisit) first(kind replica.EventKind) (time.Time, bool) {
	for _, event := range v.held.Events() {
		if event.Kind == kind {
			return event.At, true
		}
	}
	return time.Time{}, false
}

// watch observes and tidies the page like a bot until something is seen, and
// checks every look.
func (v *storyVisit) watch(t *testing.T, what string, wanted func(Observation) bool) Observation {
	t.Helper()
	again := time.NewTicker(observeInterval)
	defer again.Stop()
	var last Observation
	for {
		began := time.Now()
		observation, err := v.site.Observe(v.ctx, v.page)
		switch {
		case err != nil && v.ctx.Err() != nil:
			t.Errorf("never seen: %s; the page showed %s by %s, with %d others, %d participants, notices %v", what,
				last.Screen, last.Evidence, last.Others, len(last.Participants), last.Notices)
			return Observation{}
		case err != nil && !passing(err):
			t.Errorf("looking for %s: %v", what, err)
			return Observation{}
		case err == nil:
			last = observation
			v.check(t, observation, began)
			if wanted(observation) {
				return observation
			}
			if err := v.site.Tidy(v.ctx, v.page, observation); err != nil && v.ctx.Err() == nil {
				t.Errorf("tidying while looking for %s: %v", what, err)
			}
		}
		select {
		case <-v.ctx.Done():
		case <-again.C:
		}
	}
}

// check holds one look against what had happened at the replica by then, or was
// so a moment before and may still have been on the page.
func (v *storyVisit) check(t *testing.T, seen Observation, began time.Time) {
	t.Helper()
	if seen.Screen == Unknown {
		return
	}
	since := replica.StatePreJoin
	var possible []replica.State
	offline := false
	for _, event := range v.held.Events() {
		switch state := replica.State(event.Kind); {
		case event.Kind == replica.EventDisconnected:
			offline = true
		case shows(v.stand, state) == "":
		case event.At.Before(began.Add(-drawnTime)):
			since = state
		default:
			possible = append(possible, state)
		}
	}
	for _, state := range append(possible, since) {
		if shows(v.stand, state) == seen.Screen {
			return
		}
	}
	if offline && seen.Screen == Reconnecting {
		return
	}
	t.Errorf("%s: the page is seen as %s by %s; the guest was %s, %v", v.story, seen.Screen, seen.Evidence, since, possible)
}

// shows is the screen on which a guest's state is drawn.
func shows(stand replica.Platform, state replica.State) Screen {
	switch state {
	case replica.StatePreJoin:
		return PreJoin
	case replica.StateWaitingForHost:
		return HostAbsent
	case replica.StateLobby:
		return Lobby
	case replica.StateAdmitted:
		return InMeeting
	case replica.StateDenied:
		return Denied
	case replica.StateLobbyTimeout:
		return LobbyTimedOut
	case replica.StateRemoved:
		return Removed
	case replica.StateEnded, replica.StateLeft:
		return Ended
	case replica.StateBlocked:
		if stand == replica.Meet {
			return BotWall
		}
		return CannotConnect
	}
	return ""
}

// latencies gathers how long it took until events were seen.
type latencies struct {
	mu    sync.Mutex
	taken map[Screen][]time.Duration
}

func (l *latencies) add(screen Screen, taken time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken == nil {
		l.taken = make(map[Screen][]time.Duration)
	}
	l.taken[screen] = append(l.taken[screen], taken)
}

// log tells the median and the longest of each.
func (l *latencies) log(t *testing.T) {
	var lines []string
	for screen, taken := range l.taken {
		slices.Sort(taken)
		lines = append(lines, fmt.Sprintf("%s was seen after %s in the median of %d, %s at most", screen,
			taken[len(taken)/2].Round(time.Millisecond), len(taken), taken[len(taken)-1].Round(time.Millisecond)))
	}
	slices.Sort(lines)
	t.Log(strings.Join(lines, "; "))
}
