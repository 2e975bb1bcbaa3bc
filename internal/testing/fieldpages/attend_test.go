package fieldpages

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/bot/session"
	"standin/internal/jobs/job"
	"standin/internal/launch"
	"standin/internal/testing/ingesttest"
)

const (
	testJob = "0198f2b4-0000-7000-8000-000000000001"
	// attendTimeout is for a whole visit of a bot.
	attendTimeout = 6 * time.Minute
	soloLimit     = 10 * time.Second
)

// entryDelay is how long a bot waits to be admitted. It is short where it will not be.
func entryDelay(plan Plan) time.Duration {
	switch s := plan.scenario(); {
	case s.Name == "invalid": // polled every 15 seconds
		return 90 * time.Second
	case s.Waits && s.Name != "alone", s.Name == "notFound":
		return 8 * time.Second
	}
	return 60 * time.Second
}

// attend sends a bot into a meeting and returns what it reported. noAccount says why the service has no account for a bot that
// may sign in; empty for a bot that may not.
func attend(t *testing.T, plan Plan, noAccount string) result {
	t.Helper()
	meeting := Open(plan)
	defer meeting.Close()
	token := ingest.Token([]byte("a signing key"), testJob, 0)
	service := ingesttest.Start(t, testJob, 0, token)
	level := slog.LevelError
	if os.Getenv(envMeeting) != "" {
		level = slog.LevelDebug
	}
	settings := session.Settings{
		BotConfig: launch.BotConfig{
			Assignment: launch.Assignment{
				JobID: uuid.MustParse(testJob), Token: token, ServiceURL: service.URL(), MeetingURL: meeting.URL(), Platform: plan.Platform,
				DisplayName: "Standin for Eve",
				AutoLeave: job.AutoLeave{
					AfterEntryDelaySeconds: int(entryDelay(plan).Seconds()), AfterSilenceSeconds: 600, AfterSoloSeconds: 600, AfterMaxSeconds: 240,
				},
				AllowedHosts: meeting.Hosts(), LoopbackPeers: true,
			},
			BotSettings: launch.BotSettings{
				NoSandbox: os.Geteuid() == 0, Recording: launch.Recording{Layout: job.LayoutPage, Mode: job.RecordAudio},
			},
			Dir: t.TempDir(),
		},
		Timeouts: session.Timeouts{
			Join: 80 * time.Second, Unknown: 12 * time.Second, Connection: 4 * time.Second, Settle: 1500 * time.Millisecond,
			Unresponsive: 40 * time.Second, RejoinPause: 50 * time.Millisecond, MaxRejoins: 2,
		},
		Version: "v9",
		Log:     slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: level})),
	}
	if plan.Scenario == "alone" {
		settings.AutoLeave.AfterSoloSeconds = int(soloLimit.Seconds())
	}
	if noAccount != "" {
		settings.SignIn = job.SignInIfRequired
		service.Set(func() { service.Account.Reason = noAccount })
	}
	started := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), attendTimeout)
	defer cancel()
	forwarding, stop := context.WithCancel(ctx)
	var signals sync.WaitGroup
	signals.Go(func() { forward(forwarding, service, meeting) })
	err := session.Run(ctx, settings)
	stop()
	signals.Wait()
	r := judge(plan, meeting.Log(), service.ReceivedEvents())
	if plan.Scenario == "crowd" || plan.Scenario == "talk" {
		service.Lock()
		r.checkReport(service.Media[ingest.ReportName])
		service.Unlock()
	}
	r.took = time.Since(started)
	if err != nil {
		r.problems = append(r.problems, err.Error())
	}
	service.Lock()
	for name := range service.Media {
		r.captured = r.captured || strings.Contains(name, "diagnostics") || strings.Contains(name, "capture")
	}
	service.Unlock()
	return r
}

// forward tells the page what the bot has reported.
func forward(ctx context.Context, service *ingesttest.Service, meeting *Meeting) {
	signals := map[job.Trigger]string{job.BotEnteringLobby: "lobby", job.BotRecordingStarted: "recording"}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		for _, event := range service.ReceivedEvents() {
			if signal := signals[event.Kind]; signal != "" {
				meeting.Signal(signal)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// result is what a bot reported, compared with the truth.
type result struct {
	plan           Plan
	code           job.FailureCode
	reason         string
	detail         string
	took           time.Duration
	falseAdmission bool
	falseEnd       bool
	captured       bool // the bot kept a capture of the page
	devicesOn      bool // microphone or camera were on when Join was pressed
	complete       bool // the report was checked, and names everybody
	speech         speechScore
	problems       []string // what is wrong, for people
	truth          []Entry
	events         []ingest.Event
}

func (r result) right() bool { return len(r.problems) == 0 }

// outcome returns the failure code or the end reason.
func (r result) outcome() string {
	if r.code != "" {
		return string(r.code)
	}
	return "completed: " + r.reason
}

// String describes a meeting: the log of the page and the events of the bot.
func (r result) String() string {
	var lines []string
	line := func(at time.Time, format string, args ...any) {
		lines = append(lines, at.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	}
	for _, entry := range r.truth {
		line(entry.At, "page %s %s", entry.Kind, entry.Detail)
	}
	for _, event := range r.events {
		line(event.EmittedAt, "  bot %s %s", event.Kind, event.Data)
	}
	slices.Sort(lines)
	return fmt.Sprintf("%+v %s: %s (%s), devices on %t: %s\n  %s", r.plan, r.took.Round(time.Second), r.outcome(), r.detail, r.devicesOn,
		strings.Join(r.problems, "; "), strings.Join(lines, "\n  "))
}

// judge compares the events of a bot with what the page really did.
func judge(plan Plan, truth []Entry, events []ingest.Event) result {
	r := result{plan: plan, truth: truth, events: events}
	scenario := plan.scenario()
	problem := func(format string, args ...any) { r.problems = append(r.problems, fmt.Sprintf(format, args...)) }

	inMeeting := false
	var exitedAt time.Time
	for _, event := range events {
		switch event.Kind {
		case job.BotInMeeting, job.BotRecordingStarted:
			inMeeting = true
			if _, admitted := lastBefore(truth, event.EmittedAt, "admitted"); !admitted && !r.falseAdmission {
				r.falseAdmission = true
				problem("%s before admission", event.Kind)
			}
		case job.BotExited:
			data := ingest.ParseEventData(event.Data)
			r.code, r.reason, r.detail = job.FailureCode(data.FailureCode), data.EndReason, data.FailureDetail+data.Detail
		}
		if (event.Kind == job.BotExited || event.Kind == job.BotRecordingStopped) && exitedAt.IsZero() {
			exitedAt = event.EmittedAt
		}
	}
	if exitedAt.IsZero() {
		problem("the bot never reported its end")
		return r
	}
	if ended, early := r.endedEarly(scenario, inMeeting, exitedAt); early {
		r.falseEnd = true
		problem("ended while %s", ended)
	}
	asked := 0
	for _, entry := range truth {
		if entry.Kind == "asked" {
			asked++
		}
	}
	if scenario.Once && asked > 1 {
		problem("the bot asked to join %d times", asked)
	}
	expected := slices.Contains(scenario.Reasons, r.reason)
	if r.code != "" {
		expected = slices.Contains(scenario.Codes, r.code)
	}
	if scenario.Name == "alone" && r.code == job.MeetingEnded && r.reason == scenario.Reasons[0] {
		expected = true // on a busy machine the recording has not started yet
	}
	if !expected {
		problem("%s, want %v%v", r.outcome(), scenario.Codes, scenario.Reasons)
	}
	if slices.Contains(plan.Dialogs, "allow") && plan.Platform == job.ZoomWeb {
		if entry, ok := lastBefore(truth, exitedAt, "devices"); ok && entry.Detail == "without" && inMeeting {
			problem("without devices there is no sound")
		}
	}
	for _, entry := range truth {
		switch entry.Kind {
		case "asked":
			r.devicesOn = r.devicesOn || strings.Contains(entry.Detail, "=true")
		case "script error":
			problem("the page failed: %s", entry.Detail)
		}
	}
	return r
}

// checkReport checks that the bot's report names everybody in the meeting, and measures
// how well it says who spoke.
func (r *result) checkReport(report string) {
	var content ingest.Report
	if err := json.Unmarshal([]byte(report), &content); err != nil {
		r.problems = append(r.problems, "the report is not readable: "+err.Error())
		return
	}
	r.speech = scoreSpeech(r.truth, content)
	var names []string
	for _, person := range content.People {
		names = append(names, person.Name)
	}
	wanted := slices.Clone(r.plan.People)
	slices.Sort(names)
	slices.Sort(wanted)
	if !slices.Equal(names, wanted) {
		r.problems = append(r.problems, fmt.Sprintf("the report names %d people, of %d in the meeting: %q", len(names), len(wanted), names))
		return
	}
	r.complete = true
}

// endedEarly reports whether the bot ended a meeting, or the way into it, that was
// going on, and what went on.
func (r *result) endedEarly(scenario Scenario, inMeeting bool, exitedAt time.Time) (state string, early bool) {
	entry, found := lastBefore(r.truth, exitedAt, "asked", "lobby", "admitted", "over", "left")
	if !found || entry.Kind == "over" || r.reason == "bot_stopped" {
		return "", false // the last is the time limit of the test
	}
	if over, ok := lastBefore(r.truth, exitedAt, "over"); ok && !admittedAfter(r.truth, over.At) && entry.Kind != "left" {
		return "", false // it tried to come back
	}
	if entry.Kind == "left" { // the bot pressed Leave, which is its decision
		entry, found = lastBefore(r.truth, entry.At.Add(-time.Microsecond), "asked", "lobby", "admitted", "over")
		if !found || entry.Kind == "over" {
			return "", false
		}
	}
	if entry.Kind == "admitted" && !inMeeting {
		return "", false // it did not notice that it was admitted: another mistake
	}
	if entry.Kind != "admitted" && (r.code == job.InternalError || r.code == job.NetworkLoss) {
		return "", false // it did not conclude anything about the meeting
	}
	if scenario.Waits || r.code == job.LobbyTimeout || r.code == job.WaitingForHost {
		limit := entryDelay(r.plan)
		if inMeeting {
			limit = soloLimit
		}
		kind := map[bool]string{true: "admitted", false: "asked"}[inMeeting]
		first := slices.IndexFunc(r.truth, func(e Entry) bool { return e.Kind == kind })
		if first < 0 || exitedAt.Sub(r.truth[first].At) >= limit-time.Second {
			return "", false
		}
	}
	return entry.Kind, true
}

// lastBefore returns the last entry of some kinds before a time.
func lastBefore(truth []Entry, at time.Time, kinds ...string) (last Entry, found bool) {
	for _, entry := range truth {
		if slices.Contains(kinds, entry.Kind) && !entry.At.After(at) {
			last, found = entry, true
		}
	}
	return last, found
}

// admittedAfter reports whether the bot was admitted after a time.
func admittedAfter(truth []Entry, at time.Time) bool {
	return slices.ContainsFunc(truth, func(e Entry) bool { return e.Kind == "admitted" && e.At.After(at) })
}
