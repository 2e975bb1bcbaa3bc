package simulator_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
	"standin/internal/launch/simulator"
	"standin/internal/recording"
	"standin/internal/testing/await"
)

// openEnded returns a simulated meeting that does not end during a test.
func openEnded(more map[string]any) map[string]any {
	simulate := map[string]any{"outcome": "slow_meeting", "seconds": 3600, "speed": 50}
	for key, value := range more {
		simulate[key] = value
	}
	return simulate
}

func (e *testEnv) manifest(t *testing.T, id uuid.UUID) recording.Manifest {
	t.Helper()
	text, err := e.storage.Manifest(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var manifest recording.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	return manifest
}

func mediaNames(manifest recording.Manifest) string {
	var names []string
	for _, media := range manifest.Media {
		names = append(names, media.Name)
	}
	return strings.Join(names, " ")
}

// recordedTime returns the time between the start and the end of a recording.
func recordedTime(manifest recording.Manifest) time.Duration {
	return manifest.Timeline.RecordingStoppedAt.Sub(manifest.Timeline.RecordingStartedAt.Time)
}

// A simulated bot executes every command in the meeting, and reports its outcome.
func TestCommandsAreExecuted(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.run(t, nil, nil)
	j := e.create(t, openEnded(map[string]any{"permission": "denied"}))
	e.waitForStatus(t, j.ID, job.RecordingStarted)
	e.command(t, j.ID, ingest.PauseRecording)
	e.waitForStatus(t, j.ID, job.RecordingPaused)
	e.command(t, j.ID, ingest.PauseRecording) // is paused already
	e.command(t, j.ID, ingest.ResumeRecording)
	e.waitForStatus(t, j.ID, job.RecordingStarted)
	e.command(t, j.ID, ingest.SendChatMessage)
	e.command(t, j.ID, ingest.PinParticipant)
	e.command(t, j.ID, ingest.SetCamera)
	e.command(t, j.ID, ingest.SetCamera) // replaces the picture
	e.command(t, j.ID, ingest.RequestRecordingPermission)
	response := e.receiver.waitForEvent(t, j.ID, webhook.BotPermissionResponse)
	if last := response[len(response)-1]; last.Data.Granted == nil || *last.Data.Granted {
		t.Errorf("the host was to deny it, and said %+v", last.Data)
	}
	e.waitForStatus(t, j.ID, job.RecordingStarted)
	e.command(t, j.ID, ingest.StopRecording)
	e.waitForStatus(t, j.ID, job.RecordingStopped)
	e.command(t, j.ID, ingest.LeaveCall)
	e.waitForStatus(t, j.ID, job.Completed)

	var outcomes, pictures []job.Trigger
	entries, err := e.store.Timeline(t.Context(), j.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Kind == lifecycle.CommandDone || entry.Kind == lifecycle.CommandFailed {
			outcomes = append(outcomes, entry.Kind)
		}
		if _, of := ingest.OutputStates[entry.Kind]; of {
			pictures = append(pictures, entry.Kind)
		}
	}
	if want := []job.Trigger{
		job.BotOutputStarted, job.BotOutputFinished, job.BotOutputStarted, job.BotOutputFinished,
	}; !slices.Equal(pictures, want) {
		t.Errorf("outcomes of the pictures: %v, want %v", pictures, want)
	}
	done, failed := lifecycle.CommandDone, lifecycle.CommandFailed // the second pause and the pin of nobody fail
	if want := []job.Trigger{done, failed, done, done, failed, done, done, done, done, done}; !slices.Equal(outcomes, want) {
		t.Errorf("outcomes of the commands: %v, want %v", outcomes, want)
	}

	manifest := e.manifest(t, j.ID)
	if manifest.End.Reason != "left_on_command" || manifest.Partial {
		t.Errorf("the manifest has %+v, partial %t", manifest.End, manifest.Partial)
	}
	if len(manifest.Gaps) != 1 || manifest.Gaps[0].Reason != recording.GapPaused ||
		manifest.Gaps[0].EndMs > recordedTime(manifest).Milliseconds() {
		t.Errorf("of %s these were paused: %+v", recordedTime(manifest), manifest.Gaps)
	}
}

// The bot of a cancelled job leaves. Its recording is recorded, and the job stays
// cancelled.
func TestCancelledWhileRecording(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.run(t, nil, nil)
	j := e.create(t, openEnded(nil))
	e.waitForStatus(t, j.ID, job.RecordingStarted)
	if err := e.jobs.Cancel(t.Context(), e.caller, j.ID); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "manifest of the cancelled job", func() bool {
		r, err := e.store.Job(t.Context(), j.ID)
		return err == nil && r.ManifestURI != ""
	})
	e.waitForStatus(t, j.ID, job.Cancelled)
	if manifest := e.manifest(t, j.ID); manifest.End.Reason != "left_on_command" || len(manifest.Media) != 1 {
		t.Errorf("the manifest has %+v", manifest)
	}
}

// A bot that leaves the lobby on command fails the job, as a real bot does.
func TestLeavingTheLobby(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.run(t, nil, nil)
	j := e.create(t, openEnded(map[string]any{"outcome": "lobby_timeout"}))
	e.waitForStatus(t, j.ID, job.EnteringLobby)
	e.command(t, j.ID, ingest.RequestRecordingPermission) // nobody is there to be asked
	e.command(t, j.ID, ingest.PauseRecording)
	e.queue(t, j.ID, ingest.LeaveCall)
	if ended := e.waitForStatus(t, j.ID, job.Failed); ended.FailureCode != job.MeetingEnded {
		t.Errorf("the job failed with %s: %s", ended.FailureCode, ended.FailureDetail)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.run(t, instantClock{}, nil)
	t.Run("seconds", func(t *testing.T) {
		t.Parallel()
		j := e.create(t, map[string]any{"seconds": 65.4})
		e.waitForStatus(t, j.ID, job.Completed)
		manifest := e.manifest(t, j.ID)
		if recorded := recordedTime(manifest); recorded < 65400*time.Millisecond || recorded > 75*time.Second {
			t.Errorf("the bot recorded for %s", recorded)
		}
		checkMedia(t, e, j.ID, manifest.Media[0])
	})
	t.Run("afterMaxSeconds", func(t *testing.T) {
		t.Parallel()
		j := e.create(t, "slow_meeting", func(n *lifecycle.NewJob) { n.AutoLeave.AfterMaxSeconds = 3 })
		e.waitForStatus(t, j.ID, job.Completed)
		if manifest := e.manifest(t, j.ID); manifest.End.Reason != "max_duration" || recordedTime(manifest) > 10*time.Second {
			t.Errorf("ended by %s after %s", manifest.End.Reason, recordedTime(manifest))
		}
	})
	t.Run("nothing is simulated by name", func(t *testing.T) {
		t.Parallel()
		j := e.create(t, nil, func(n *lifecycle.NewJob) { n.Metadata = json.RawMessage(`{}`) })
		e.waitForStatus(t, j.ID, job.Completed)
	})
}

// TestTexts checks the chat and the captions of a job whose metadata asks for them.
func TestTexts(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.run(t, nil, nil)
	j := e.create(t, nil, func(n *lifecycle.NewJob) {
		n.Metadata = json.RawMessage(`{"captions":true,"chat":true,"simulate":{"seconds":45,"speed":100}}`)
	})
	e.waitForStatus(t, j.ID, job.Completed)
	if names, want := mediaNames(e.manifest(t, j.ID)), "recording.mp4 chat.json captions.json captions.vtt"; names != want {
		t.Fatalf("files %s, want %s", names, want)
	}
	content, _, err := e.storage.OpenMedia(t.Context(), j.ID, "captions.json")
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	var captions recording.Texts
	if err := json.NewDecoder(content).Decode(&captions); err != nil {
		t.Fatal(err)
	}
	if len(captions.Texts) < 8 || captions.Texts[2].Text != "Great. And what is still open?" || *captions.Texts[2].ParticipantID != "ada" {
		t.Errorf("captions %+v", captions.Texts)
	}
}

// TestNothingIsRecorded checks the result of a job that records nothing.
func TestNothingIsRecorded(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.run(t, nil, nil)
	j := e.create(t, nil, func(n *lifecycle.NewJob) {
		n.Options.Recording.Mode = job.RecordNothing
		n.Metadata = json.RawMessage(`{"captions":true,"simulate":{"seconds":45,"speed":100}}`)
	})
	e.waitForStatus(t, j.ID, job.Completed)
	m := e.manifest(t, j.ID)
	if names, want := mediaNames(m), "captions.json captions.vtt"; names != want {
		t.Errorf("files %s, want %s", names, want)
	}
	if m.Partial || len(m.Gaps) > 0 || len(m.Participants) != 3 || len(m.Speech) < 8 || m.End.Reason != "host_ended" {
		t.Errorf("the manifest is %+v", m)
	}
	if !m.Timeline.RecordingStartedAt.IsZero() || m.Timeline.AdmittedAt.IsZero() || m.Timeline.Origin() != m.Timeline.AdmittedAt.Time ||
		m.Speech[0].StartMs != 600 {
		t.Errorf("the timeline is %+v, the first speech %+v", m.Timeline, m.Speech[0])
	}
}

func TestPlainJobTakesSeconds(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make check-long")
	}
	t.Parallel()
	e := newTestEnv(t)
	e.run(t, nil, nil)
	began := time.Now()
	j := e.create(t, "success")
	e.waitForStatus(t, j.ID, job.Completed)
	if took := time.Since(began); took < 2*time.Second || took > time.Minute {
		t.Errorf("a plain job took %s", took)
	}
	if manifest := e.manifest(t, j.ID); manifest.Timeline.LeftAt.After(time.Now().Add(time.Second)) {
		t.Errorf("at plain speed the bot's clock runs ahead: %s", manifest.Timeline.LeftAt)
	}
}

// Invalid options fail the job with an explanation.
func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.run(t, instantClock{}, nil)
	for name, test := range map[string]struct {
		simulate any
		detail   string
	}{
		"unknown outcome":    {"lobby_timeuot", "lobby_timeout"},
		"very long outcome":  {strings.Repeat("x", 100_000), "the outcomes are"},
		"unknown field":      {map[string]any{"secnds": 3}, `permission: unknown field "secnds"`},
		"wrong type":         {17, "name of an outcome"},
		"too long":           {map[string]any{"seconds": 3601}, "from 0 to 3600"},
		"too fast":           {map[string]any{"speed": 101}, "from 1 to 100"},
		"standing still":     {map[string]any{"speed": 0}, "from 1 to 100"},
		"unknown permission": {map[string]any{"permission": "maybe"}, "granted, denied or timeout"},
		"outcome of no text": {map[string]any{"outcome": 3}, "permission: outcome must not be a number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := e.create(t, test.simulate)
			ended := e.waitForStatus(t, j.ID, job.Failed)
			if ended.FailureCode != job.InternalError || !strings.Contains(ended.FailureDetail, test.detail) || len(ended.FailureDetail) > 1000 {
				t.Errorf("failed with %s: %s", ended.FailureCode, ended.FailureDetail)
			}
		})
	}
}

// Duplicate and late events are on the timeline with the reason why they were
// ignored.
func TestDuplicateAndLateEventsAreOnTheTimeline(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.run(t, instantClock{}, nil)
	for outcome, want := range map[string]map[job.Reason]int{
		"duplicate_events":  {"": 9, job.Duplicate: 9},
		"disordered_events": {"": 7, job.OutOfOrder: 2},
	} {
		t.Run(outcome, func(t *testing.T) {
			t.Parallel()
			j := e.create(t, outcome)
			e.waitForStatus(t, j.ID, job.Completed)
			found := map[job.Reason]int{}
			await.Until(t, "all events of the bot", func() bool {
				entries, err := e.store.Timeline(t.Context(), j.ID)
				if err != nil {
					t.Fatal(err)
				}
				clear(found)
				for _, entry := range entries {
					if entry.Source == job.SourceBot {
						found[entry.Reason]++
					}
				}
				return len(found) == len(want) && found[""] == want[""] && found[job.Duplicate] == want[job.Duplicate] &&
					found[job.OutOfOrder] == want[job.OutOfOrder]
			})
		})
	}
}

// unsteady is a service that fails now and then, as one with a busy database
// does.
type unsteady struct {
	simulator.Service
	calls atomic.Int64
}

var errBusy = errors.New("busy")

func (u *unsteady) busy() bool { return u.calls.Add(1)%3 == 0 }

func (u *unsteady) Ingest(ctx context.Context, bot ingest.Bot, event ingest.Event) (ingest.EventResponse, error) {
	if u.busy() {
		return ingest.EventResponse{}, errBusy
	}
	return u.Service.Ingest(ctx, bot, event)
}

func (u *unsteady) AdmitUpload(ctx context.Context, bot ingest.Bot) (recording.UploadQuota, error) {
	if u.busy() {
		return recording.UploadQuota{}, errBusy
	}
	return u.Service.AdmitUpload(ctx, bot)
}

func TestReportsAreRetried(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.run(t, instantClock{}, func(s simulator.Service) simulator.Service { return &unsteady{Service: s} })
	j := e.create(t, "lobby")
	e.waitForStatus(t, j.ID, job.Completed)
	if received := e.receiver.waitForEvent(t, j.ID, webhook.JobFinalized); len(received) != 11 {
		t.Errorf("%d webhooks came", len(received))
	}
}

// Simulated bots end with the service. After a restart another attempt
// completes the job.
func TestRestart(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	stop := e.run(t, nil, nil)
	j := e.create(t, openEnded(nil))
	e.waitForStatus(t, j.ID, job.RecordingStarted)
	stop()
	e.timeouts.Heartbeat = 5 * time.Second // until the bot counts as lost
	e.run(t, instantClock{}, nil)
	ended := e.waitForStatus(t, j.ID, job.Completed)
	if ended.Attempts < 2 {
		t.Errorf("it took %d attempts", ended.Attempts)
	}
	if manifest := e.manifest(t, j.ID); manifest.End.Reason != "host_ended" || len(manifest.Media) != 1 {
		t.Errorf("the manifest has %+v", manifest.End)
	}
}
