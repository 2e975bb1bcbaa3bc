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
	// observeInterval is how often a bot observes its page.
	observeInterval = 250 * time.Millisecond
	// staleTime is how long a page may still show the previous state.
	staleTime = 10 * time.Second
	// scenarioTimeout limits one scenario.
	scenarioTimeout = 90 * time.Second
)

// TestRandomMeetings visits random meetings and checks that no observation of
// their pages is ever wrong. STANDIN_TEST_MEETINGS sets the number of meetings and
// STANDIN_TEST_SEED the seed.
func TestRandomMeetings(t *testing.T) {
	if testing.Short() {
		t.Skip("make check-long runs it")
	}
	t.Parallel()
	meetings := number(t, "STANDIN_TEST_MEETINGS", 3)
	seed := number(t, "STANDIN_TEST_SEED", rand.Uint64N(1_000_000)+1)
	t.Logf("to repeat these meetings: STANDIN_TEST_SEED=%d STANDIN_TEST_MEETINGS=%d", seed, meetings)
	ctx, running := launchBrowserFor(t, browserTestTimeout+time.Duration(meetings)*scenarioTimeout/pagesAtOnce)
	var delays latencies
	pages := newPagePool(running)
	positions := make(chan struct{}, pagesAtOnce)
	var visits sync.WaitGroup
	began := time.Now()
	for n := range int(meetings) {
		positions <- struct{}{}
		visits.Go(func() {
			defer func() { <-positions }()
			drawn := draw(seed, n+1)
			t.Run(fmt.Sprint(n+1), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(ctx, scenarioTimeout)
				defer cancel()
				visit := &scenarioVisit{env: newEnv(t, ctx, pages, drawn.platform), scenario: drawn, delays: &delays}
				visit.run(t)
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

// scenarioVisit is a bot's visit in a scenario.
type scenarioVisit struct {
	env
	scenario scenario
	delays   *latencies
	meeting  *replica.Meeting
	page     *browser.Page
}

// run visits the scenario's meeting.
func (v *scenarioVisit) run(t *testing.T) {
	var address Address
	v.meeting, v.page, address = v.visit(t, v.scenario.settings)
	defer func() {
		if t.Failed() {
			t.Logf("%s: %+v", v.scenario, v.scenario.settings)
			v.report(t, v.page)
			for _, event := range v.meeting.Events() {
				t.Logf("  %s %s %s", event.At.Format("05.000"), event.Kind, event.Text)
			}
		}
	}()
	err := v.site.Join(v.ctx, v.page, JoinOptions{Name: v.scenario.botName, Passcode: address.Passcode})
	limits := map[outcome]Screen{notFoundOutcome: NotFound, signInOutcome: SignInWall, captchaOutcome: BotWall}
	if err == nil && notFoundOnZoom(v.replicaPlatform, v.scenario.settings.Refusal) {
		return
	}
	if wall, walled := limits[v.scenario.outcome]; walled {
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
	if v.scenario.settings.HostAbsent {
		v.waitFor(t, HostAbsent)
		if v.scenario.outcome == absentOutcome {
			v.leave(t)
			return
		}
		v.meeting.HostArrives()
	}
	if !v.scenario.settings.NoLobby {
		v.waitFor(t, Lobby)
		if v.applyOutcome(t, true) {
			return
		}
		v.meeting.Admit()
	}
	v.waitFor(t, InMeeting)
	v.chat(t)
	v.applyOutcome(t, false)
}

// applyOutcome causes the scenario's outcome, in the lobby or in the meeting, and
// reports whether the visit is over.
func (v *scenarioVisit) applyOutcome(t *testing.T, lobby bool) (over bool) {
	blocked := CannotConnect
	if v.replicaPlatform == replica.Meet {
		blocked = BotWall
	}
	early := lobby && v.scenario.inLobby
	switch o := v.scenario.outcome; {
	case lobby && o == deniedOutcome:
		v.meeting.Deny()
		v.waitFor(t, Denied)
	case lobby && o == timeoutOutcome:
		v.meeting.LobbyTimeout()
		v.waitFor(t, LobbyTimedOut)
	case o == endedOutcome && lobby == early:
		v.meeting.End()
		v.waitFor(t, Ended)
	case o == blockedOutcome && lobby == early:
		v.meeting.Block()
		v.waitFor(t, blocked)
	case lobby:
		return false
	case o == removedOutcome:
		v.meeting.Remove()
		v.waitFor(t, Removed)
	case o == offlineOutcome:
		v.meeting.Disconnect()
		v.waitFor(t, Reconnecting)
		v.meeting.Reconnect()
		v.waitFor(t, InMeeting)
		v.leave(t)
	default:
		v.leave(t)
	}
	return true
}

// chat has the participants write texts of pages, while the bot observes.
func (v *scenarioVisit) chat(t *testing.T) {
	if v.scenario.openChat {
		if _, err := v.site.openChat(v.ctx, v.page); err != nil {
			t.Errorf("opening the chat: %v", err)
			return
		}
	}
	for _, text := range v.scenario.chatter {
		if err := v.meeting.Say(v.scenario.settings.Participants[0].Name, text); err != nil {
			t.Error(err)
		}
	}
	distinct := v.distinct()
	others := len(v.scenario.settings.Participants)
	if v.replicaPlatform == replica.Teams {
		others = distinct // its page shows no number
	}
	v.watch(t, "everyone", func(o Observation) bool {
		return o.Screen == InMeeting && o.Others == others && len(o.Participants) == distinct && len(o.Notices) == 0 &&
			(!v.scenario.openChat || len(o.Chat) == len(v.scenario.chatter))
	})
	looks := 0
	v.watch(t, "more observations", func(Observation) bool { looks++; return looks > 6 })
}

// distinct returns the number of participants that the page tells apart: without
// ids, participants with equal names count once.
func (v *scenarioVisit) distinct() int {
	if v.replicaPlatform == replica.Meet {
		return len(v.scenario.settings.Participants)
	}
	names := make(map[string]bool)
	for _, participant := range v.scenario.settings.Participants {
		names[participant.Name] = true
	}
	return len(names)
}

// leave leaves and checks that no tile stays.
func (v *scenarioVisit) leave(t *testing.T) {
	if err := v.site.Leave(v.ctx, v.page); err != nil {
		t.Errorf("leaving: %v", err)
		return
	}
	if state := v.meeting.Guests()[0].State; state != replica.StateLeft {
		t.Errorf("after leaving the guest's state is %s", state)
	}
}

// waitFor waits until a screen is observed, and records how long that took from
// the event at the replica.
func (v *scenarioVisit) waitFor(t *testing.T, screen Screen) {
	t.Helper()
	observation := v.watch(t, string(screen), on(screen))
	if observation.Screen != screen {
		return
	}
	if kind, measured := map[Screen]replica.EventKind{
		Lobby: replica.EventKind(replica.StateLobby), InMeeting: replica.EventKind(replica.StateAdmitted), Removed: replica.EventKind(replica.StateRemoved),
	}[screen]; measured {
		if at, happened := v.first(kind); happened && !slices.ContainsFunc(v.meeting.Events(), func(e replica.Event) bool { return e.Kind == replica.EventReconnected }) {
			v.delays.add(screen, time.Since(at))
		}
	}
}

// first returns the time of the first event of a kind.
func (v *scenarioVisit) first(kind replica.EventKind) (time.Time, bool) {
	for _, event := range v.meeting.Events() {
		if event.Kind == kind {
			return event.At, true
		}
	}
	return time.Time{}, false
}

// watch observes and tidies the page like a bot until a condition holds, and
// checks every observation.
func (v *scenarioVisit) watch(t *testing.T, what string, wanted func(Observation) bool) Observation {
	t.Helper()
	again := time.NewTicker(observeInterval)
	defer again.Stop()
	var last Observation
	for {
		began := time.Now()
		observation, err := v.site.Observe(v.ctx, v.page)
		switch {
		case err != nil && v.ctx.Err() != nil:
			t.Errorf("timeout waiting for %s; the page showed %s by %s, with %d others, %d participants, notices %v", what,
				last.Screen, last.Evidence, last.Others, len(last.Participants), last.Notices)
			return Observation{}
		case err != nil && !Transient(err):
			t.Errorf("waiting for %s: %v", what, err)
			return Observation{}
		case err == nil:
			last = observation
			v.check(t, observation, began)
			if wanted(observation) {
				return observation
			}
			if err := v.site.HandleNotices(v.ctx, v.page, observation); err != nil && v.ctx.Err() == nil {
				t.Errorf("handling notices while waiting for %s: %v", what, err)
			}
		}
		select {
		case <-v.ctx.Done():
		case <-again.C:
		}
	}
}

// check compares an observation with the states of the guest until then, and up to
// staleTime before, which the page may still show.
func (v *scenarioVisit) check(t *testing.T, seen Observation, began time.Time) {
	t.Helper()
	if seen.Screen == Unknown {
		return
	}
	since := replica.StatePreJoin
	var possible []replica.State
	offline := false
	for _, event := range v.meeting.Events() {
		switch state := replica.State(event.Kind); {
		case event.Kind == replica.EventDisconnected:
			offline = true
		case shows(v.replicaPlatform, state) == "":
		case event.At.Before(began.Add(-staleTime)):
			since = state
		default:
			possible = append(possible, state)
		}
	}
	for _, state := range append(possible, since) {
		if shows(v.replicaPlatform, state) == seen.Screen {
			return
		}
	}
	if offline && seen.Screen == Reconnecting {
		return
	}
	t.Errorf("%s: the page was classified as %s by %s; the guest was %s, %v", v.scenario, seen.Screen, seen.Evidence, since, possible)
}

// shows returns the screen of a guest's state.
func shows(replicaPlatform replica.Platform, state replica.State) Screen {
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
		if replicaPlatform == replica.Meet {
			return BotWall
		}
		return CannotConnect
	}
	return ""
}

// latencies records how long it took until events were observed.
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

// log logs the median and the maximum per screen.
func (l *latencies) log(t *testing.T) {
	var lines []string
	for screen, taken := range l.taken {
		slices.Sort(taken)
		lines = append(lines, fmt.Sprintf("%s was observed after %s (median of %d), at most %s", screen,
			taken[len(taken)/2].Round(time.Millisecond), len(taken), taken[len(taken)-1].Round(time.Millisecond)))
	}
	slices.Sort(lines)
	t.Log(strings.Join(lines, "; "))
}
