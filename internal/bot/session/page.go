package session

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/capture"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/jobs/job"
)

// phase is how far a session has come.
type phase int

const (
	phaseJoining  phase = iota // the join button has not been pressed
	phaseWaiting               // waiting for admission
	phaseAdmitted              // admitted to the meeting
)

// meetingPage is the meeting's page in one browser: what it shows, and the work
// to be done on it.
type meetingPage struct {
	log         *slog.Logger
	timeouts    Timeouts
	displayName string
	layout      job.Layout

	adapter   meeting.Adapter
	way       way              // nil until it is open, like browser and tab
	browser   *browser.Browser // nil also without a page, like tab
	tab       *browser.Page
	phase     phase
	admission *meeting.AdmissionProof // nil unless the bot is in the meeting: nothing is recorded without it
	pageQueue taskQueue
	calls     chan func(context.Context) // from work beside the session's loop to the loop

	gone, crashed <-chan struct{} // closed when the browser has ended, and when the page has crashed; nil like them

	polling   sync.WaitGroup
	snapshots chan snapshot // nil until the page is polled
	last      snapshot      // the last readable one
	seen      capture.Log   // all, for captures
	home      string        // host of the meeting's page
	soundAt   time.Time     // when the page last received sound; zero if never
	health    pageHealth
}

// way is a way into meetings that was opened: a browser with the meeting's page, or the platform's own streams,
// whose adapter uses no page.
type way interface {
	// Record starts to record or, without a sink, to follow the sound only.
	Record(ctx context.Context, settings recorder.Settings, sink recorder.Sink) (recorder.Recording, error)
	Close() error
}

// browserWay records the meeting's page in a browser.
type browserWay struct {
	*browser.Browser
	tab   *browser.Page
	start startRecorder
}

// Record implements way.
func (w browserWay) Record(ctx context.Context, settings recorder.Settings, sink recorder.Sink) (recorder.Recording, error) {
	if sink == nil {
		return recorder.MonitorSound(ctx, w.Browser, w.tab, settings)
	}
	return w.start(ctx, w.Browser, w.tab, settings, sink)
}

func newMeetingPage(log *slog.Logger, timeouts Timeouts, displayName string, settle func(ingest.Command, error)) *meetingPage {
	return &meetingPage{
		log: log, timeouts: timeouts, displayName: displayName, pageQueue: taskQueue{settle: settle}, calls: make(chan func(context.Context)),
	}
}

// startWaiting starts to wait for admission. It starts polling the page if
// that has not happened yet.
func (p *meetingPage) startWaiting(ctx context.Context, now time.Time) {
	p.phase, p.admission, p.health, p.last.at = phaseWaiting, nil, pageHealth{}, now
	if p.snapshots == nil {
		p.snapshots = make(chan snapshot)
		p.polling.Go(func() { pollSnapshots(ctx, p.adapter, p.tab, p.layout, p.snapshots) })
	}
}

// update updates the page from a readable snapshot.
func (p *meetingPage) update(s snapshot) {
	if s.seen.Screen != p.last.seen.Screen {
		p.log.Info("the page shows another screen", "screen", s.seen.Screen, "evidence", s.seen.Evidence)
	}
	if s.arranged != nil {
		p.log.Debug("cannot arrange the page", "error", s.arranged)
	}
	p.last = s
	if s.inbound.ReceivesSound() {
		p.soundAt = s.at
	}
	p.seen.Add(s.seen)
	p.health = p.health.update(s.at, classify(s, p.home))
}

// handleNotices closes dialogs and the like, if no other work is waiting.
func (p *meetingPage) handleNotices(ctx context.Context) {
	if p.tab == nil || p.last.seen.Screen.Terminal() || !p.pageQueue.idle() {
		return
	}
	seen := p.last.seen
	p.pageQueue.add(ctx, task{
		timeout: snapshotTimeout,
		do:      func(ctx context.Context) error { return p.adapter.HandleNotices(ctx, p.tab, seen) },
		onDone:  logFailure(p.log.Debug, "cannot handle the notices of the page"),
	})
}

// overloaded is the share of a minute in which programs wait for a processor from which a slow page is the machine's fault.
const overloaded = 0.6

// checkResponsive ends a session whose page has not responded for too long, unless the machine is overloaded and the
// sound of the meeting still arrives.
func (p *meetingPage) checkResponsive(now time.Time, heard bool, waiting func() float64) *exitResult {
	if now.Sub(p.last.at) < p.timeouts.Unresponsive {
		return nil
	}
	end := disconnected(fmt.Sprintf("The page did not respond for %s.", p.timeouts.Unresponsive))
	if share := waiting(); share >= overloaded {
		end.code = job.InternalError
		end.detail += fmt.Sprintf(" This machine is overloaded: programs waited for a processor for %.0f%% of the last minute.", share*100)
		if heard {
			return nil
		}
	}
	return end
}

// showsNoMeeting reports whether the page has shown a screen without any sign of
// the meeting for the settle time: no participants, no connected call and no audio.
func (p *meetingPage) showsNoMeeting(now, lastAudio time.Time) bool {
	if p.health.state != stateUnknown && p.health.state != stateElsewhere {
		return false
	}
	return !p.last.connected && len(p.last.seen.Participants) == 0 &&
		now.Sub(p.health.since) >= p.timeouts.Settle && now.Sub(lastAudio) >= p.timeouts.Settle
}

// describeTrouble describes, for people, why the page has left the meeting.
func (p *meetingPage) describeTrouble(now time.Time) string {
	duration := now.Sub(p.health.since).Round(time.Second)
	switch p.health.state {
	case stateOffline:
		return fmt.Sprintf("The page had no connection for %s (%s).", duration, p.last.seen.Evidence)
	case stateElsewhere:
		return fmt.Sprintf("The page showed another screen for %s: %s (%s).", duration, p.last.seen.Screen, p.last.seen.Evidence)
	}
	return fmt.Sprintf("The page was not recognized for %s, and no media arrived from the meeting.", duration)
}

// leave leaves the meeting or its lobby by the page's own button, so that no
// ghost participant remains. It has half the time if the bot was still joining
// or the screen is unknown, and a quarter if the page has no connection to
// announce the departure.
func (p *meetingPage) leave(ctx context.Context) {
	timeout := p.timeouts.Leave
	switch {
	case p.last.seen.Screen == meeting.Reconnecting:
		timeout /= 4
	case p.phase == phaseJoining || p.last.seen.Screen == meeting.Unknown:
		timeout /= 2
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	started := time.Now()
	if err := p.adapter.Leave(ctx, p.tab); err != nil {
		p.log.Warn("cannot leave with the button of the page; closing the browser instead", "error", err)
		return
	}
	p.log.Info("left the meeting's page", "duration", time.Since(started))
}

// inLoop lets the session's loop call a function, unless ctx ends. It is called beside the loop.
func (p *meetingPage) inLoop(ctx context.Context, call func(context.Context)) {
	select {
	case p.calls <- call:
	case <-ctx.Done():
	}
}

// execute runs a command's work on the page.
func (p *meetingPage) execute(ctx context.Context, command ingest.Command, do func(context.Context) error) {
	p.pageQueue.add(ctx, task{timeout: p.timeouts.Command, command: &command, do: do})
}

const (
	pollInterval    = 250 * time.Millisecond
	snapshotTimeout = 5 * time.Second
)

// snapshot is the state of the meeting's page at one moment.
type snapshot struct {
	at        time.Time
	seen      meeting.Observation
	host      string // host of the page's address; empty if unknown
	connected bool   // a call is connected although the screen is unknown
	err       error  // the page was not readable: the rest is empty
	arranged  error  // why the page was not arranged for the recorded picture

	measured bool             // inbound is set
	inbound  recorder.Inbound // received since the last measurement
}

// pollSnapshots sends a snapshot every poll interval until ctx ends.
func pollSnapshots(ctx context.Context, adapter meeting.Adapter, page *browser.Page, layout job.Layout, snapshots chan<- snapshot) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var measuredAt time.Time
	for {
		s := takeSnapshot(ctx, adapter, page, layout)
		if page != nil && s.seen.Screen == meeting.InMeeting && s.at.Sub(measuredAt) >= inboundInterval {
			measuredAt = s.at
			measuring, cancel := context.WithTimeout(ctx, snapshotTimeout)
			var err error
			s.inbound, err = recorder.MeasureInbound(measuring, page)
			s.measured = err == nil // the page may be navigating
			cancel()
		}
		select {
		case snapshots <- s:
		case <-ctx.Done():
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func takeSnapshot(ctx context.Context, adapter meeting.Adapter, page *browser.Page, layout job.Layout) snapshot {
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	var s snapshot
	s.seen, s.err = adapter.Observe(ctx, page)
	s.at = time.Now()
	if s.err != nil || page == nil {
		return s
	}
	s.arranged = adapter.Arrange(ctx, page, s.seen, layout)
	if address, err := page.URL(ctx); err == nil {
		if parsed, err := url.Parse(address); err == nil {
			s.host = parsed.Host
		}
	}
	if s.seen.Screen == meeting.Unknown {
		s.connected, _ = recorder.Connected(ctx, page) // an unreadable page has no call
	}
	return s
}

// pageState classifies a snapshot for a bot that is, or wants to be, in the
// meeting.
type pageState int

const (
	stateInMeeting pageState = iota
	statePreJoin             // the page offers to join: it was reloaded
	stateLobby               // the bot was moved to the lobby
	stateOffline             // the page reports that it has no connection
	stateElsewhere           // the page navigated away, or shows a sign-in page or an end
	stateUnknown
)

// classify returns the state that a snapshot shows. home is the meeting's host,
// if known.
func classify(s snapshot, home string) pageState {
	switch s.seen.Screen {
	case meeting.InMeeting:
		return stateInMeeting
	case meeting.PreJoin:
		return statePreJoin
	case meeting.Lobby, meeting.HostAbsent:
		return stateLobby
	case meeting.Reconnecting, meeting.CannotConnect:
		return stateOffline
	case meeting.Unknown:
		if home != "" && s.host != "" && s.host != home {
			return stateElsewhere
		}
		return stateUnknown
	}
	return stateElsewhere
}

// pageHealth tracks how long the page has been in a state.
type pageHealth struct {
	state pageState
	since time.Time
}

// update returns the health after one more snapshot. A page that redraws while
// it is offline is still offline.
func (h pageHealth) update(now time.Time, state pageState) pageHealth {
	if state == stateUnknown && h.state == stateOffline || state == h.state && !h.since.IsZero() {
		return h
	}
	return pageHealth{state: state, since: now}
}

// recovery is how a session recovers from a page that left the meeting.
type recovery int

const (
	noRecovery       recovery = iota
	rejoinSamePage            // press join again
	waitInLobby               // wait to be admitted again
	rejoinNewBrowser          // join again with a new browser
)

// recovery returns what to do now. alive means that audio arrives or a call is
// connected: only the screen is not recognized.
func (h pageHealth) recovery(now time.Time, timeouts Timeouts, alive bool) recovery {
	duration := now.Sub(h.since)
	switch h.state {
	case statePreJoin:
		if duration >= timeouts.Settle {
			return rejoinSamePage
		}
	case stateLobby:
		if duration >= timeouts.Settle {
			return waitInLobby
		}
	case stateOffline, stateElsewhere:
		if duration >= timeouts.Connection {
			return rejoinNewBrowser
		}
	case stateUnknown:
		if duration >= timeouts.Unknown && !alive {
			return rejoinNewBrowser
		}
	}
	return noRecovery
}
