package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/browser"
	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/recording/build"
	"standin/internal/replica"
	"standin/internal/testing/ingesttest"
	"standin/internal/testing/logtail"
	"standin/internal/testing/mediacheck"
	"standin/internal/testing/testbrowser"
)

// replicaServer serves the meetings of all visits that are not hostile, which relax the
// content policy of their whole server.
var replicaServer = sync.OnceValues(startReplica)

// startReplica serves meetings with live media. The video is small, since no test here
// checks it, except in the full matrix.
func startReplica() (*replica.Server, error) {
	prepare := replica.PrepareSmallMedia
	if fullMatrix() {
		prepare = replica.PrepareMedia
	}
	media, err := prepare(context.Background(), replica.MediaFolder())
	if err != nil {
		return nil, err
	}
	return replica.Start(context.Background(), replica.Options{Media: media})
}

// scenario is a session in a meeting and its expected result.
type scenario struct {
	name            string
	lane            job.Platform   // the platform on which it runs with -short; empty: it is long
	only            []job.Platform // platforms that it applies to; empty: all
	meeting         replica.Settings
	configure       func(*Settings) // changes the usual settings; may be nil
	prepare         func(*harness)  // runs before the bot starts; may be nil
	during          func(*harness)  // runs during the session; may be nil
	code            job.FailureCode // of a failure
	reason          string          // of a success
	packedByService bool            // the bot leaves packing to the service
	outside         bool            // the bot is never admitted, so any browser will do
	early           bool            // it may end before anything is recorded, which is a failure
	beeps           int             // that the bot plays in the meeting
	detail          string          // a part of the detail for people
	check           func(*harness)  // checks after the end; may be nil
}

// harness runs a bot in a meeting of a replica, with a fake service of its own.
type harness struct {
	*testing.T
	scenario scenario
	platform job.Platform
	replica  *replica.Server
	meeting  *replica.Meeting
	service  *ingesttest.Service
	settings Settings
	log      *logBuffer
	commands int
	running  context.Context // done when the bot has ended; for awaitGuest
	ended    bool            // likewise, for await; guarded by the service's lock
	stop     func()          // stops the bot's process
	left     time.Time       // when the page left the meeting, if the scenario sets it

	exited ingest.EventData
	report build.FinalReport
}

// harnessTimeout is generous: the machine may be busy.
const harnessTimeout = 4 * time.Minute

// testLength returns the length of the meeting that STANDIN_TEST_SECONDS sets, or 0.
func testLength() time.Duration {
	seconds, _ := strconv.Atoi(os.Getenv("STANDIN_TEST_SECONDS"))
	return time.Duration(seconds) * time.Second
}

// visit sends the bot to a meeting, and checks the result. With -short, it skips what is
// not in the lane.
func visit(t *testing.T, platform job.Platform, s scenario) {
	t.Helper()
	t.Parallel()
	newHarness(t, platform, s).run()
}

// browserFor returns the browser of a visit, or skips the test.
func browserFor(t *testing.T, platform job.Platform, s scenario) string {
	t.Helper()
	find := testbrowser.Full
	switch lane, outside := s.lane == platform, s.outside && !fullMatrix(); {
	case lane && outside:
		find = testbrowser.VisitForPages
	case lane:
		find = testbrowser.Visit
	case outside:
		find = testbrowser.ForPages
	}
	path := find(t)
	switch err := errors.Join(browser.CheckMode(browser.Headed), mediacheck.Available()); {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
	return path
}

// newHarness opens a meeting and a service, and prepares a bot.
func newHarness(t *testing.T, platform job.Platform, s scenario) *harness {
	t.Helper()
	h := &harness{T: t, scenario: s, platform: platform, log: &logBuffer{}}
	path := browserFor(t, platform, s)
	start := replicaServer
	if s.meeting.Hostile {
		start = startReplica
	}
	var err error
	if h.replica, err = start(); err != nil {
		t.Fatal(err)
	}
	if s.meeting.Hostile {
		t.Cleanup(func() { _ = h.replica.Close() })
	}
	s.meeting.Platform = map[job.Platform]replica.Platform{
		job.Meet: replica.Meet, job.Teams: replica.Teams, job.ZoomWeb: replica.Zoom,
	}[platform]
	if h.meeting, err = h.replica.Open(s.meeting); err != nil {
		t.Fatal(err)
	}
	token := ingest.Token([]byte("a signing key"), testJob, 0)
	h.service = ingesttest.Start(t, testJob, 0, token)
	h.log.onWrite = func() { h.service.Set(func() {}) }
	h.settings = Settings{
		BotConfig: launch.BotConfig{
			Assignment: launch.Assignment{
				JobID: uuid.MustParse(testJob), Token: token, ServiceURL: h.service.URL(), MeetingURL: h.meeting.URL(), Platform: platform,
				DisplayName: "Standin for Eve",
				AutoLeave: job.AutoLeave{
					AfterEntryDelaySeconds: 60, AfterSilenceSeconds: 600, AfterSoloSeconds: 600, AfterMaxSeconds: 600 + int(testLength().Seconds()),
				},
				AllowedHosts: []string{strings.TrimPrefix(h.replica.URL(), "http://")}, LoopbackPeers: true,
			},
			BotSettings: launch.BotSettings{
				Browser: path, BrowserMode: string(browser.Headless),
				Recording: launch.Recording{Layout: job.LayoutPage, FrameRate: 5, VideoBitRate: 300_000, Output: s.beeps > 0},
			},
			Dir: t.TempDir(),
		},
		Timeouts: Timeouts{
			RejoinPause: 50 * time.Millisecond, MaxRejoins: 2, Settle: time.Second, Leave: 10 * time.Second, Command: harnessTimeout,
		},
		Version: "v9",
		Log:     slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if !fullMatrix() {
		h.settings.Recording.Picture = launch.PictureSize{Width: 640, Height: 360}
		if platform == job.Teams { // its join button is further down
			h.settings.Recording.Picture = launch.PictureSize{Width: 960, Height: 540}
		}
	}
	if s.configure != nil {
		s.configure(&h.settings)
	}
	if s.prepare != nil {
		s.prepare(h)
	}
	return h
}

// speaking lets the bot speak in a meeting of which only the sound is recorded.
func speaking(s *Settings) { s.Recording.Output = true; audioOnly(s) }

// audioOnly records without video, which takes more CPU time, except in the full
// matrix.
func audioOnly(s *Settings) {
	if !fullMatrix() {
		s.Recording.Mode = job.RecordAudio
	}
}

// run runs the bot and the scenario, and checks the result.
func (h *harness) run() {
	if !h.scenario.outside {
		testbrowser.Reserve(h)
	}
	ctx, cancel := context.WithTimeout(h.Context(), harnessTimeout+testLength())
	defer cancel()
	running, stopped := context.WithCancel(ctx)
	h.running = running
	botCtx, stop := context.WithCancel(ctx)
	h.stop = stop
	done := make(chan error, 1)
	go func() {
		err := Run(botCtx, h.settings)
		h.service.Set(func() { h.ended = true })
		stopped()
		done <- err
	}()
	h.Cleanup(func() {
		if h.Failed() {
			h.logEverything()
		}
	})
	defer func() { // also if the scenario failed: no browser may remain
		cancel()
		if done != nil {
			<-done
		}
	}()
	if h.scenario.during != nil {
		h.scenario.during(h)
	}
	err := <-done
	done = nil
	if err != nil {
		h.Fatalf("Run: %v", err)
	}
	h.checkResult()
	if h.scenario.beeps > 0 {
		h.checkVoice()
	}
	if h.scenario.check != nil {
		h.scenario.check(h)
	}
}

// checkResult checks how the attempt ended.
func (h *harness) checkResult() {
	exit := h.event(job.BotExited)
	h.exited = ingest.ParseEventData(exit.Data)
	if text, ok := h.service.Uploaded(ingest.ReportName); ok {
		if err := json.Unmarshal([]byte(text), &h.report); err != nil {
			h.Errorf("decode the report: %v", err)
		}
	}
	code := job.FailureCode(h.exited.FailureCode)
	if h.scenario.early && code == job.MeetingEnded && h.exited.EndReason == h.scenario.reason {
		return
	}
	if code != h.scenario.code {
		h.Errorf("failure code %q (%s), want %q", code, h.exited.FailureDetail, h.scenario.code)
	}
	kinds := h.kinds()
	admitted, recorded := slices.Index(kinds, job.BotInMeeting), slices.Index(kinds, job.BotRecordingStarted)
	if h.scenario.code == "" && (h.exited.EndReason != h.scenario.reason || admitted >= 0 && h.report.EndReason != h.scenario.reason) {
		h.Errorf("end reason %q (%s), in the report %q; want %q",
			h.exited.EndReason, h.exited.Detail, h.report.EndReason, h.scenario.reason)
	}
	if detail := h.exited.FailureDetail + h.exited.Detail; !strings.Contains(detail, h.scenario.detail) {
		h.Errorf("detail %q does not contain %q", detail, h.scenario.detail)
	}
	if packed := h.scenario.code == "" && !h.scenario.packedByService; packed != slices.Contains(kinds, job.ManifestFinalized) ||
		(packed && !h.settings.withoutRecording()) != (len(h.report.Media) > 0) {
		h.Errorf("events %v, %d final files", kinds, len(h.report.Media))
	}
	if recorded >= 0 && (admitted < 0 || recorded < admitted) {
		h.Errorf("the recording started before admission: %v", kinds)
	}
	if admitted >= 0 {
		h.checkProof()
	}
	for _, guest := range h.meeting.Guests() {
		if !guest.Vanished && (guest.State == replica.StateLobby || guest.State == replica.StateAdmitted) {
			h.Errorf("guest %s remains in the meeting", guest.ID)
		}
	}
}

// checkProof checks that the event of admission carries the meeting's screen with
// its evidence.
func (h *harness) checkProof() {
	var data struct {
		Screens []meeting.Decision `json:"screens"`
	}
	if err := json.Unmarshal(h.event(job.BotInMeeting).Data, &data); err != nil {
		h.Errorf("decode the data of the admission: %v", err)
	}
	if last := len(data.Screens) - 1; last < 0 || data.Screens[last].Screen != meeting.InMeeting || len(data.Screens[last].Evidence) < 2 {
		h.Errorf("the admission carries no proof: %+v", data.Screens)
	}
}

// checkDelay checks, in the full matrix, how long the bot took to notice something.
func (h *harness) checkDelay(what string, delay time.Duration) {
	h.Helper()
	const most = 5 * time.Second // the usual delay is below one second
	if h.Logf("%s after %s", what, delay.Round(time.Millisecond)); fullMatrix() && delay > most {
		h.Errorf("%s after %s, want at most %s", what, delay, most)
	}
}

// kinds returns the kinds of the events so far.
func (h *harness) kinds() []job.Trigger {
	var kinds []job.Trigger
	for _, event := range h.service.ReceivedEvents() {
		kinds = append(kinds, event.Kind)
	}
	return kinds
}

// awaitGuest waits for an event of the meeting, of the guest with that number;
// 0: of any guest.
func (h *harness) awaitGuest(guest int, kind replica.EventKind) replica.Event {
	h.Helper()
	return h.awaitMeeting(fmt.Sprintf("%s of guest %d", kind, guest), func(event replica.Event) bool {
		return event.Kind == kind && (guest == 0 || event.Guest == fmt.Sprintf("g%d", guest))
	})
}

// awaitMeeting waits for an event of the meeting.
func (h *harness) awaitMeeting(what string, match func(replica.Event) bool) replica.Event {
	h.Helper()
	event, err := h.meeting.WaitFor(h.running, match)
	if err != nil {
		h.Fatalf("waiting for %s: %v", what, err)
	}
	return event
}

// await waits until a condition of the service holds, as long as the bot runs.
func (h *harness) await(what string, condition func() bool) {
	h.Helper()
	acquired := false
	h.service.Await(what, func() bool {
		acquired = condition()
		return acquired || h.ended
	})
	if !acquired {
		h.Fatalf("the bot ended before: %s", what)
	}
}

// event waits for the first lifecycle event of a kind.
func (h *harness) event(kind job.Trigger) ingest.Event { h.Helper(); return h.nthEvent(kind, 1) }

// nthEvent waits for the n-th lifecycle event of a kind.
func (h *harness) nthEvent(kind job.Trigger, n int) ingest.Event {
	h.Helper()
	return h.matchingEvent(kind, n, func(ingest.Event) bool { return true })
}

// matchingEvent waits for the n-th matching event of a kind.
func (h *harness) matchingEvent(kind job.Trigger, n int, match func(ingest.Event) bool) (found ingest.Event) {
	h.Helper()
	h.await(fmt.Sprintf("event %s number %d", kind, n), func() bool {
		count := 0
		for _, event := range h.service.Events {
			if event.Kind == kind && match(event) {
				if count++; count == n {
					found = event
				}
			}
		}
		return count >= n
	})
	return found
}

// command sends the bot a command and returns its id.
func (h *harness) command(kind ingest.CommandKind, args any) string {
	h.Helper()
	h.commands++
	id := fmt.Sprintf("command-%d", h.commands)
	h.service.QueueCommand(id, kind, args)
	return id
}

// awaitLobby waits until the guest is in the lobby and the bot has reported it.
func (h *harness) awaitLobby(guest int) {
	h.Helper()
	entered := h.awaitGuest(guest, replica.EventKind(replica.StateLobby))
	if event := h.event(job.BotEnteringLobby); guest == 1 {
		h.checkDelay("the lobby is reported", event.EmittedAt.Sub(entered.At))
	}
}

// admitAndRecord admits the guest and waits until the bot records.
func (h *harness) admitAndRecord(guest int) {
	h.Helper()
	h.admit(guest)
	h.nthEvent(job.BotRecordingStarted, guest)
}

// admit admits the guest from the lobby.
func (h *harness) admit(guest int) {
	h.Helper()
	h.awaitLobby(guest)
	h.meeting.Admit()
	admitted := h.awaitGuest(guest, replica.EventKind(replica.StateAdmitted))
	if event := h.event(job.BotInMeeting); guest == 1 {
		h.checkDelay("the admission is reported", event.EmittedAt.Sub(admitted.At))
	}
}

// logEverything logs the events of a scenario that failed.
func (h *harness) logEverything() {
	for _, event := range h.meeting.Events() {
		h.Logf("meeting: %s %s %s %s", event.At.Format("15:04:05.000"), event.Guest, event.Kind, event.Text)
	}
	for _, event := range h.service.ReceivedEvents() {
		h.Logf("event: %s %s %s", event.EmittedAt.Format("15:04:05.000"), event.Kind, event.Data)
	}
	h.Logf("the bot's log:\n%s", h.log.end())
}

// logBuffer is a log that several goroutines write.
type logBuffer struct {
	mutex   sync.Mutex
	text    []byte
	onWrite func()
}

func (l *logBuffer) Write(text []byte) (int, error) {
	l.mutex.Lock()
	l.text = append(l.text, text...)
	l.mutex.Unlock()
	l.onWrite()
	return len(text), nil
}

// count returns how many times a text is in the log.
func (l *logBuffer) count(text string) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Count(string(l.text), text)
}

// end returns the last part of the log.
func (l *logBuffer) end() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return logtail.Last(string(l.text))
}
