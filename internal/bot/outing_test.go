package bot

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/recorder"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
	"standin/internal/replica"
	"standin/internal/testing/ingesttest"
	"standin/internal/testing/mediacheck"
)

// needTools skips a test whose tools are missing, and fails it in CI.
func needTools(t *testing.T) {
	t.Helper()
	_, missing := browser.Find("")
	switch err := errors.Join(missing, mediacheck.Available()); {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
}

// startReplica serves meetings with live media until the test ends: with small
// pictures, which no test here judges, unless the full matrix is wanted.
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
	stage, err := replica.Start(context.WithoutCancel(t.Context()), replica.Options{Media: media})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
	})
	return stage
}

// row is a visit and what must come of it.
type row struct {
	name      string
	only      []job.Platform // that it is for; empty: all
	meeting   replica.Settings
	bot       func(*Settings)      // changes the usual settings; may be nil
	elsewhere func(*outing) string // where the bot is sent instead; may be nil
	act       func(*outing)        // what happens meanwhile; may be nil
	code      job.FailureCode      // of a failure
	reason    string               // of a success
	byService bool                 // the recording is left to the service to be put together
	early     bool                 // it may end before anything is recorded: then it is no success
	detail    string               // is part of what is told for people
	check     func(*outing)        // what else must be so in the end; may be nil
}

// outing is a bot's visit to a replica, on behalf of a service of its own.
type outing struct {
	*testing.T
	row      row
	platform job.Platform
	stage    *replica.Server
	meeting  *replica.Meeting
	service  *ingesttest.Service
	settings Settings
	delays   *delays
	log      *logBuffer
	orders   int
	running  context.Context // done when the bot has ended; see happens
	over     bool            // likewise; guarded by the service's lock

	exited ingest.EventData
	report recording.FinalReport
}

// patience of these tests: generous, for the machine may be busy.
const outingTime = 4 * time.Minute

// newOuting opens a meeting and a service, and prepares a bot.
func newOuting(t *testing.T, stage *replica.Server, platform job.Platform, r row, d *delays) *outing {
	t.Helper()
	o := &outing{T: t, row: r, platform: platform, stage: stage, delays: d, log: &logBuffer{}}
	r.meeting.Platform = onReplica(platform)
	var err error
	if o.meeting, err = stage.Open(r.meeting); err != nil {
		t.Fatal(err)
	}
	token := ingest.Token([]byte("a key of the tests"), testJob, 0)
	o.service = ingesttest.Start(t, testJob, 0, token)
	o.log.grown = func() { o.service.Set(func() {}) }
	o.settings = Settings{
		JobID: testJob, Token: token, ServiceURL: o.service.URL(), MeetingURL: o.meeting.URL(), Platform: platform,
		DisplayName:  "Standin for Eve",
		AutoLeave:    job.AutoLeave{AfterEntryDelaySeconds: 60, AfterSilenceSeconds: 600, AfterSoloSeconds: 600, AfterMaxSeconds: 600},
		AllowedHosts: []string{strings.TrimPrefix(stage.URL(), "http://")}, LoopbackPeers: true,
		Timeouts: Timeouts{RejoinPause: 50 * time.Millisecond, MaxRejoins: 2, Settle: time.Second, Leave: 10 * time.Second, Command: outingTime},
		Dir:      t.TempDir(), Version: "v9",
		Recorder: recorder.Settings{FramesPerSecond: 5, VideoBitsPerSecond: 300_000},
		Log:      slog.New(slog.NewTextHandler(o.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if !fullMatrix() {
		o.settings.Recorder.Width, o.settings.Recorder.Height = 960, 540
	}
	if r.bot != nil {
		r.bot(&o.settings)
	}
	if r.elsewhere != nil {
		o.settings.MeetingURL = r.elsewhere(o)
	}
	return o
}

// onReplica is the replica's word for a platform.
func onReplica(platform job.Platform) replica.Platform {
	return map[job.Platform]replica.Platform{job.Meet: replica.Meet, job.Teams: replica.Teams, job.ZoomWeb: replica.Zoom}[platform]
}

// run sends the bot, lets happen what is to happen, and holds the end against
// what the row wants.
func (o *outing) run() {
	o.Helper()
	ctx, cancel := context.WithTimeout(o.Context(), outingTime)
	defer cancel()
	running, stopped := context.WithCancel(ctx)
	o.running = running
	ended := make(chan error, 1)
	go func() {
		err := Run(ctx, o.settings)
		o.service.Set(func() { o.over = true })
		stopped()
		ended <- err
	}()
	o.Cleanup(func() {
		if o.Failed() {
			o.tellAll()
		}
	})
	defer func() { // also when the row has failed: nothing of it may stay
		cancel()
		if ended != nil {
			<-ended
		}
	}()
	if o.row.act != nil {
		o.row.act(o)
	}
	err := <-ended
	ended = nil
	if err != nil {
		o.Fatalf("the bot ends with %v", err)
	}
	o.checkEnd()
	if o.row.check != nil {
		o.row.check(o)
	}
}

// checkEnd reads how the visit ended.
func (o *outing) checkEnd() {
	o.Helper()
	exit := o.told(job.BotExited)
	o.exited = ingest.ParseEventData(exit.Data)
	if text, ok := o.service.Uploaded(ingest.ReportName); ok {
		if err := json.Unmarshal([]byte(text), &o.report); err != nil {
			o.Errorf("the report is unreadable: %v", err)
		}
	}
	code := job.FailureCode(o.exited.FailureCode)
	if o.row.early && code == job.MeetingEnded && o.exited.EndReason == o.row.reason {
		return
	}
	if code != o.row.code {
		o.Errorf("it fails with %q (%s), want %q", code, o.exited.FailureDetail, o.row.code)
	}
	if o.row.code == "" && (o.exited.EndReason != o.row.reason || o.report.EndReason != o.row.reason) {
		o.Errorf("it ends with %q (%s), and by its report with %q; want %q",
			o.exited.EndReason, o.exited.Detail, o.report.EndReason, o.row.reason)
	}
	if told := o.exited.FailureDetail + o.exited.Detail; !strings.Contains(told, o.row.detail) {
		o.Errorf("it tells %q, which says nothing of %q", told, o.row.detail)
	}
	kinds := o.kinds()
	if succeeded := o.row.code == "" && !o.row.byService; succeeded != slices.Contains(kinds, job.ManifestFinalized) || succeeded != (len(o.report.Media) > 0) {
		o.Errorf("it told %v and made %d files", kinds, len(o.report.Media))
	}
	for _, guest := range o.meeting.Guests() {
		if !guest.Vanished && (guest.State == replica.StateLobby || guest.State == replica.StateAdmitted) {
			o.Errorf("guest %s stays behind as a ghost", guest.ID)
		}
	}
}

// kinds are the kinds of the events that were told.
func (o *outing) kinds() []job.Trigger {
	var kinds []job.Trigger
	for _, event := range o.service.ReceivedEvents() {
		kinds = append(kinds, event.Kind)
	}
	return kinds
}

// happens waits for something at the meeting, of the guest of that number;
// 0: of any.
func (o *outing) happens(guest int, kind replica.EventKind) replica.Event {
	o.Helper()
	return o.happensSo(fmt.Sprintf("%s of guest %d", kind, guest), func(event replica.Event) bool {
		return event.Kind == kind && (guest == 0 || event.Guest == fmt.Sprintf("g%d", guest))
	})
}

// happensSo waits for something at the meeting.
func (o *outing) happensSo(what string, match func(replica.Event) bool) replica.Event {
	o.Helper()
	event, err := o.meeting.WaitFor(o.running, match)
	if err != nil {
		o.Fatalf("waiting for %s: %v", what, err)
	}
	return event
}

// await waits until a condition holds of the service, and no longer than the bot
// is there.
func (o *outing) await(what string, condition func() bool) {
	o.Helper()
	held := false
	o.service.Await(what, func() bool {
		held = condition()
		return held || o.over
	})
	if !held {
		o.Fatalf("the bot has ended, and never came %s", what)
	}
}

// told waits for an event of the bot's.
func (o *outing) told(kind job.Trigger) ingest.Event { o.Helper(); return o.toldTimes(kind, 1) }

// toldTimes waits until the bot has told so many events of a kind, and returns
// the last of them.
func (o *outing) toldTimes(kind job.Trigger, times int) ingest.Event {
	o.Helper()
	var last ingest.Event
	o.await(fmt.Sprintf("%s %d times", kind, times), func() bool {
		count := 0
		for _, event := range o.service.Events {
			if event.Kind != kind {
				continue
			}
			last = event
			if count++; count == times {
				return true
			}
		}
		return false
	})
	return last
}

// order gives the bot a command and returns its id.
func (o *outing) order(kind ingest.CommandKind, args any) string {
	o.Helper()
	o.orders++
	id := fmt.Sprintf("command-%d", o.orders)
	o.service.QueueCommand(id, kind, args)
	return id
}

// waits waits until the guest of that number is in the lobby, and the bot has
// told so.
func (o *outing) waits(guest int) {
	o.Helper()
	came := o.happens(guest, replica.EventKind(replica.StateLobby))
	if told := o.told(job.BotEnteringLobby); guest == 1 {
		o.delays.note("lobby", told.EmittedAt.Sub(came.At))
	}
}

// letIn lets the guest of that number in from the lobby and waits until the bot
// records.
func (o *outing) letIn(guest int) {
	o.Helper()
	o.admit(guest)
	o.toldTimes(job.BotRecordingStarted, guest)
}

// admit lets the guest of that number in from the lobby.
func (o *outing) admit(guest int) {
	o.Helper()
	o.waits(guest)
	o.meeting.Admit()
	came := o.happens(guest, replica.EventKind(replica.StateAdmitted))
	if told := o.told(job.BotInMeeting); guest == 1 {
		o.delays.note("admission", told.EmittedAt.Sub(came.At))
	}
}

// tellAll shows what is known of an outing that failed.
func (o *outing) tellAll() {
	for _, event := range o.meeting.Events() {
		o.Logf("meeting: %s %s %s %s", event.At.Format("15:04:05.000"), event.Guest, event.Kind, event.Text)
	}
	for _, event := range o.service.ReceivedEvents() {
		o.Logf("told: %s %s %s", event.EmittedAt.Format("15:04:05.000"), event.Kind, event.Data)
	}
	o.Logf("the bot's log:\n%s", o.log.end())
}

// logBuffer keeps a log that several goroutines write.
type logBuffer struct {
	mutex sync.Mutex
	text  []byte
	grown func() // is told, so that who waits for a line looks
}

func (l *logBuffer) Write(line []byte) (int, error) {
	l.append(line)
	l.grown()
	return len(line), nil
}

func (l *logBuffer) append(line []byte) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.text = append(l.text, line...)
}

// end is the last part of the log.
func (l *logBuffer) end() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return string(l.text[max(0, len(l.text)-6000):])
}

// delays are the times that passed until the bot told, or did, something.
type delays struct {
	mutex sync.Mutex
	all   map[string][]time.Duration
}

func (d *delays) note(what string, delay time.Duration) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.all == nil {
		d.all = make(map[string][]time.Duration)
	}
	d.all[what] = append(d.all[what], delay)
}

// check holds the median of each against the most that is allowed.
func (d *delays) check(t *testing.T, most map[string]time.Duration) {
	t.Helper()
	for what, bound := range most {
		noted := slices.Sorted(slices.Values(d.all[what]))
		if len(noted) == 0 {
			if some := flag.Lookup("test.run").Value.String(); !strings.Contains(some, "/") { // all rows were run
				t.Errorf("no delay of %s was measured", what)
			}
			continue
		}
		median := noted[len(noted)/2]
		t.Logf("%s: told after %s (median of %d), at most %s", what, median.Round(time.Millisecond), len(noted), noted[len(noted)-1].Round(time.Millisecond))
		if median > bound {
			t.Errorf("%s is told after %s, want %s", what, median, bound)
		}
	}
}
