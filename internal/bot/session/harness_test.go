package session

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
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
	"standin/internal/bot/meeting"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/recording/build"
	"standin/internal/replica"
	"standin/internal/testing/ingesttest"
	"standin/internal/testing/logtail"
	"standin/internal/testing/mediacheck"
	"standin/internal/testing/testbrowser"
)

// requireTools skips a test if its tools are missing, and fails it in CI.
func requireTools(t *testing.T) {
	t.Helper()
	_, missing := browser.Find("")
	switch err := errors.Join(missing, browser.CheckMode(browser.Headed), mediacheck.Available()); {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
}

// startReplica serves meetings with live media until the test ends. The video
// is small, since no test here checks it, except in the full matrix.
func startReplica(t *testing.T) *replica.Server {
	t.Helper()
	prepare := replica.PrepareSmallMedia
	if fullMatrix() {
		prepare = replica.PrepareMedia
	}
	media, err := prepare(t.Context(), replica.MediaFolder())
	if err != nil {
		t.Fatal(err)
	}
	server, err := replica.Start(context.WithoutCancel(t.Context()), replica.Options{Media: media})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// scenario is a session in a meeting and its expected result.
type scenario struct {
	name            string
	only            []job.Platform // platforms that it applies to; empty: all
	meeting         replica.Settings
	configure       func(*Settings)       // changes the usual settings; may be nil
	address         func(*harness) string // where the bot is sent instead of the meeting; may be nil
	during          func(*harness)        // runs during the session; may be nil
	code            job.FailureCode       // of a failure
	reason          string                // of a success
	packedByService bool                  // the bot leaves packing to the service
	long            bool                  // it runs only with the full matrix
	outside         bool                  // the bot is never admitted, so any browser will do
	early           bool                  // it may end before anything is recorded, which is a failure
	detail          string                // a part of the detail for people
	check           func(*harness)        // checks after the end; may be nil
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
	delays   *delays
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

// newHarness opens a meeting and a service, and prepares a bot.
func newHarness(t *testing.T, server *replica.Server, platform job.Platform, s scenario, d *delays) *harness {
	t.Helper()
	h := &harness{T: t, scenario: s, platform: platform, replica: server, delays: d, log: &logBuffer{}}
	s.meeting.Platform = map[job.Platform]replica.Platform{job.Meet: replica.Meet, job.Teams: replica.Teams, job.ZoomWeb: replica.Zoom}[platform]
	var err error
	if h.meeting, err = server.Open(s.meeting); err != nil {
		t.Fatal(err)
	}
	token := ingest.Token([]byte("a signing key"), testJob, 0)
	h.service = ingesttest.Start(t, testJob, 0, token)
	h.log.onWrite = func() { h.service.Set(func() {}) }
	h.settings = Settings{
		BotConfig: launch.BotConfig{
			Assignment: launch.Assignment{
				JobID: uuid.MustParse(testJob), Token: token, ServiceURL: h.service.URL(), MeetingURL: h.meeting.URL(), Platform: platform,
				DisplayName:  "Standin for Eve",
				AutoLeave:    job.AutoLeave{AfterEntryDelaySeconds: 60, AfterSilenceSeconds: 600, AfterSoloSeconds: 600, AfterMaxSeconds: 600 + int(testLength().Seconds())},
				AllowedHosts: []string{strings.TrimPrefix(server.URL(), "http://")}, LoopbackPeers: true,
			},
			BotSettings: launch.BotSettings{
				BrowserMode: string(browser.Headless),
				Recording:   launch.Recording{Layout: job.LayoutPage, FrameRate: 5, VideoBitRate: 300_000},
			},
			Dir: t.TempDir(),
		},
		Timeouts: Timeouts{RejoinPause: 50 * time.Millisecond, MaxRejoins: 2, Settle: time.Second, Leave: 10 * time.Second, Command: harnessTimeout},
		Version:  "v9",
		Log:      slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if !fullMatrix() {
		h.settings.Recording.Picture = launch.PictureSize{Width: 640, Height: 360}
		if platform == job.Teams { // its join button is further down
			h.settings.Recording.Picture = launch.PictureSize{Width: 960, Height: 540}
		}
	}
	if s.outside && !fullMatrix() {
		h.settings.Browser = testbrowser.ForPages(t)
	}
	if s.configure != nil {
		s.configure(&h.settings)
	}
	if s.address != nil {
		h.settings.MeetingURL = s.address(h)
	}
	return h
}

// audioOnly records without video, which takes more CPU time, except in the full
// matrix.
func audioOnly(s *Settings) {
	if !fullMatrix() {
		s.Recording.Mode = job.RecordAudio
	}
}

// run runs the bot and the scenario, and checks the result.
func (h *harness) run() {
	h.Helper()
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
	if h.scenario.check != nil {
		h.scenario.check(h)
	}
}

// checkResult checks how the attempt ended.
func (h *harness) checkResult() {
	h.Helper()
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
	admitted := slices.Contains(h.kinds(), job.BotInMeeting) // otherwise there is no report
	if h.scenario.code == "" && (h.exited.EndReason != h.scenario.reason || admitted && h.report.EndReason != h.scenario.reason) {
		h.Errorf("end reason %q (%s), in the report %q; want %q",
			h.exited.EndReason, h.exited.Detail, h.report.EndReason, h.scenario.reason)
	}
	if detail := h.exited.FailureDetail + h.exited.Detail; !strings.Contains(detail, h.scenario.detail) {
		h.Errorf("detail %q does not contain %q", detail, h.scenario.detail)
	}
	kinds := h.kinds()
	if packed := h.scenario.code == "" && !h.scenario.packedByService; packed != slices.Contains(kinds, job.ManifestFinalized) ||
		(packed && !h.settings.withoutRecording()) != (len(h.report.Media) > 0) {
		h.Errorf("events %v, %d final files", kinds, len(h.report.Media))
	}
	h.checkProof()
	for _, guest := range h.meeting.Guests() {
		if !guest.Vanished && (guest.State == replica.StateLobby || guest.State == replica.StateAdmitted) {
			h.Errorf("guest %s remains in the meeting", guest.ID)
		}
	}
}

// checkProof checks that the event of admission carries the meeting's screen with
// its evidence, and that recording did not start before it.
func (h *harness) checkProof() {
	h.Helper()
	kinds := h.kinds()
	admitted, recorded := slices.Index(kinds, job.BotInMeeting), slices.Index(kinds, job.BotRecordingStarted)
	if recorded >= 0 && (admitted < 0 || recorded < admitted) {
		h.Errorf("the recording started before admission: %v", kinds)
	}
	if admitted < 0 {
		return
	}
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
	var found ingest.Event
	h.await(fmt.Sprintf("event %s number %d", kind, n), func() bool {
		count := 0
		for _, event := range h.service.Events {
			if event.Kind == kind {
				if count++; count == n {
					found = event
					return true
				}
			}
		}
		return false
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
		h.delays.add("lobby", event.EmittedAt.Sub(entered.At))
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
		h.delays.add("admission", event.EmittedAt.Sub(admitted.At))
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
	l.append(text)
	l.onWrite()
	return len(text), nil
}

func (l *logBuffer) append(row []byte) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.text = append(l.text, row...)
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

// delays collects how long the bot took to report something.
type delays struct {
	mutex sync.Mutex
	all   map[string][]time.Duration
}

func (d *delays) add(what string, delay time.Duration) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.all == nil {
		d.all = make(map[string][]time.Duration)
	}
	d.all[what] = append(d.all[what], delay)
}

// check compares the median of each with its limit, in the full matrix: on a machine
// that runs other tests, the delays say little.
func (d *delays) check(t *testing.T, limits map[string]time.Duration) {
	t.Helper()
	for what, limit := range limits {
		sorted := slices.Sorted(slices.Values(d.all[what]))
		if len(sorted) == 0 {
			if run := flag.Lookup("test.run").Value.String(); fullMatrix() && !strings.Contains(run, "/") { // all scenarios ran
				t.Errorf("no delay of %s was measured", what)
			}
			continue
		}
		median := sorted[len(sorted)/2]
		t.Logf("%s: reported after %s (median of %d), at most %s", what, median.Round(time.Millisecond), len(sorted), sorted[len(sorted)-1].Round(time.Millisecond))
		if fullMatrix() && median > limit {
			t.Errorf("%s: reported after %s, want at most %s", what, median, limit)
		}
	}
}
