package main

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/replica/rtmsdouble"
)

// zoomJob is a job in a Zoom meeting of its own, in which Ada talks and Ben listens.
type zoomJob struct {
	*harness
	meeting *rtmsdouble.Meeting
	id      string
}

// control sends a command, which the service queues.
func (z *zoomJob) control(verb string, body any) {
	z.Helper()
	z.call(http.MethodPost, "/api/v1/jobs/"+z.id+"/"+verb, body, nil)
}

func (z *zoomJob) cancel() {
	z.Helper()
	z.call(http.MethodDelete, "/api/v1/jobs/"+z.id, nil, nil)
}

// webhooks returns the statuses and the other events that were told, in order, each once.
func (z *zoomJob) webhooks() (told []string, last received) {
	for sequence, hooks := 1, z.hooks.of(z.id); ; sequence++ {
		at := slices.IndexFunc(hooks, func(r received) bool { return r.Data.Sequence == sequence })
		if at < 0 {
			return told, last
		}
		last = hooks[at]
		if last.Event == webhook.JobStatusChanged {
			told = append(told, string(last.Data.To))
		} else {
			told = append(told, last.Event)
		}
	}
}

// checkRefused checks that commands are refused with a sentence, and that the host is not asked.
func (z *zoomJob) checkRefused() {
	z.Helper()
	z.control("send-chat-message", map[string]string{"text": "hello"})
	z.control("pin-participant", map[string]string{"participantId": "16778240"})
	z.control("request-recording-permission", nil)
	z.await("the answers to commands", func() bool {
		told, _ := z.webhooks()
		return slices.Contains(told, webhook.BotPermissionResponse)
	})
	timeline := z.target.call(http.MethodGet, "/api/v1/jobs/"+z.id+"/timeline", z.key, nil).body
	if strings.Count(timeline, "can only be received: the bot cannot speak, show, write, pin or ask") < 3 {
		z.Errorf("refused commands: %s", timeline)
	}
}

// TestZoomJobs: what the specification says of a job is so on the platform zoom-sdk: its states, the webhooks and their order,
// failure codes, limits, permission and commands.
func TestZoomJobs(t *testing.T) {
	t.Parallel()
	h, zoom := newZoomHarness(t, "STANDIN_MAX_BOTS=50")
	shown, err := h.standin("consumers", "show", "zoom", "--secret")
	if err != nil {
		t.Fatal(err)
	}
	h.hooks = receive(t, strings.Fields(shown[strings.Index(shown, "whsec_"):])[0])
	joined := []string{"pending", "dispatching", "joining", "in_meeting"}
	records := append(slices.Clone(joined), "recording_started")
	completed := []string{"recording_stopped", "finalizing", "post_processing", "media_uploading", "completed", "job.finalized"}
	failed := []string{"failed", "job.failed"}
	end := func(reason int) func(*zoomJob) { return func(z *zoomJob) { z.meeting.Stop(reason) } }
	limit := func(name string, value any) map[string]any {
		return map[string]any{"autoLeave": map[string]any{name: value}}
	}
	notetaker := rtmsdouble.Person{ID: 50331648, Name: "Fireflies.ai Notetaker"}
	silent := make([]int, 20) // no media are sent
	for i := range silent {
		silent[i] = 8
	}
	for number, row := range []struct {
		name     string
		request  map[string]any
		refusals []int
		await    job.Status // before something happens; recording_started if it is empty
		during   func(*zoomJob)
		webhooks [][]string
		code     job.FailureCode
		text     string // in the failure, or in the end
		reason   string
		partial  bool // something is lost
	}{
		{name: "the meeting ends", during: end(6), webhooks: [][]string{records, completed}, reason: "host_ended", text: "the meeting ended"},
		{name: "the bot is removed", during: end(4), webhooks: [][]string{records, completed}, reason: "removed", text: "was removed"},
		{name: "pause and resume", during: func(z *zoomJob) {
			z.control("pause-recording", nil)
			z.awaitJob(z.id, job.RecordingPaused)
			z.control("resume-recording", nil)
			z.awaitJob(z.id, job.RecordingStarted)
			z.meeting.Pass(time.Second)
			z.meeting.Stop(6)
		}, webhooks: [][]string{records, {"recording_paused", "recording_started"}, completed}, reason: "host_ended"},
		{name: "stop and leave", during: func(z *zoomJob) {
			z.control("stop-recording", nil)
			z.awaitJob(z.id, job.RecordingStopped)
			z.control("leave-call", nil)
		}, webhooks: [][]string{records, completed}, reason: "left_on_command"},
		{name: "commands that streams refuse", during: func(z *zoomJob) {
			z.checkRefused()
			z.meeting.Stop(6)
		}, webhooks: [][]string{records, {webhook.BotPermissionResponse}, completed}, reason: "host_ended"},
		{name: "alone", request: limit("afterSoloSeconds", 1), during: func(z *zoomJob) {
			z.meeting.Leave(zoomPeople[0].ID)
			z.meeting.Leave(zoomPeople[1].ID)
		}, webhooks: [][]string{records, completed}, reason: "alone", text: "nobody else"},
		{name: "only notetakers", request: limit("onlyNotetakersSeconds", 1), during: func(z *zoomJob) {
			z.meeting.Join(notetaker)
			z.meeting.Leave(zoomPeople[0].ID)
			z.meeting.Leave(zoomPeople[1].ID)
		}, webhooks: [][]string{records, {webhook.BotCompetingDetected}, completed}, reason: "alone", text: "only bots"},
		{name: "a competing bot", request: limit("onBotDetected", true), during: func(z *zoomJob) { z.meeting.Join(notetaker) },
			webhooks: [][]string{records, {webhook.BotCompetingDetected}, completed}, reason: "competing_bot", text: "Fireflies"},
		{name: "silence", request: limit("afterSilenceSeconds", 2), during: func(z *zoomJob) { z.meeting.Talk() },
			webhooks: [][]string{records, completed}, reason: "silence"},
		{name: "maximum", request: limit("afterMaxSeconds", 2), webhooks: [][]string{records, completed}, reason: "max_duration"},
		{name: "no stream", request: limit("afterEntryDelaySeconds", 2), await: job.Pending,
			webhooks: [][]string{{"pending"}, failed}, code: job.WaitingForHost, text: "an administrator must allow"},
		{name: "a stream that has ended", refusals: []int{2}, await: job.Failed,
			webhooks: [][]string{joined[:3], failed}, code: job.MeetingEnded, text: "unknown or has ended"},
		{name: "the app's secret is wrong", refusals: []int{3}, await: job.Failed,
			webhooks: [][]string{joined[:3], failed}, code: job.AuthFailure, text: "client secret"},
		{name: "the app may not receive it", refusals: []int{0, 9}, await: job.Failed,
			webhooks: [][]string{joined[:3], failed}, code: job.AuthFailure, text: "may not receive sound"},
		{name: "ended before the recording", refusals: append([]int{0}, silent...), await: job.Joining, during: end(6),
			webhooks: [][]string{joined[:3], failed}, code: job.MeetingEnded, text: "the meeting ended (reason 6)"},
		{name: "removed before the recording", refusals: append([]int{0}, silent...), await: job.Joining, during: end(1),
			webhooks: [][]string{joined[:3], failed}, code: job.RemovedFromMeeting, text: "the host stopped the stream"},
		{name: "permission is required", request: map[string]any{"consent": map[string]bool{"required": true}}, await: job.Failed,
			webhooks: [][]string{joined, {webhook.BotPermissionResponse}, failed}, code: job.RecordingDisabled, text: "was not given"},
		{name: "revoked", during: end(8), webhooks: [][]string{records, completed[:1], failed},
			code: job.RecordingDisabled, text: "must be deleted"},
		{name: "the bot is lost", during: func(z *zoomJob) {
			if err := syscall.Kill(z.bot(z.id, 0), syscall.SIGKILL); err != nil {
				z.Fatal(err)
			}
			z.await("another bot", func() bool { return z.bot(z.id, 1) > 0 })
			z.awaitJob(z.id, job.RecordingStarted)
			z.meeting.Pass(time.Second)
			z.meeting.Stop(6)
		}, webhooks: [][]string{records, records[1:], completed}, reason: "host_ended", partial: true},
		{name: "canceled while it waits", await: job.Pending, during: (*zoomJob).cancel, webhooks: [][]string{{"pending", "cancelled"}}},
		{name: "canceled while it records", during: (*zoomJob).cancel, webhooks: [][]string{records, {"cancelled"}}, reason: "left_on_command"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			own, service := *h, *h.target
			own.target, service.T = &service, t
			z := &zoomJob{harness: &own, meeting: zoom.Open(rtmsdouble.Settings{Refusals: row.refusals})}
			z.meeting.Join(zoomPeople...)
			z.meeting.Talk(zoomPeople[0].ID)
			request := map[string]any{
				"externalId": row.name, "meetingUrl": fmt.Sprintf("https://zoom.us/j/%d", 70_000_000_001+number), "platform": "zoom-sdk",
			}
			for key, value := range row.request {
				request[key] = value
			}
			z.id = z.create(request)
			z.awaitJob(z.id, job.Pending)
			if row.await != job.Pending {
				z.announce(z.meeting, 70_000_000_001+number)
				if z.awaitJob(z.id, cmp.Or(row.await, job.RecordingStarted)); row.await == "" {
					z.meeting.Pass(time.Second)
				}
			}
			if row.during != nil {
				row.during(z)
			}
			want := slices.Concat(row.webhooks...)
			z.await("the end", func() bool {
				told, _ := z.webhooks()
				return len(told) >= len(want)
			})
			told, last := z.webhooks()
			failure := last.Data
			if !slices.Equal(told, want) || failure.FailureCode != row.code || row.code != "" && !strings.Contains(failure.FailureDetail, row.text) {
				t.Errorf("webhooks %v, %s: %s", told, failure.FailureCode, failure.FailureDetail)
			}
			z.checkRecording(row.reason, row.text, row.partial)
		})
	}
}

// checkRecording checks that the manifest says how the meeting ended, and that its files are there. Without a reason, nothing is
// kept.
func (z *zoomJob) checkRecording(reason, text string, partial bool) {
	z.Helper()
	if reason == "" {
		if answer := z.target.call(http.MethodGet, "/api/v1/jobs/"+z.id+"/manifest", z.key, nil); answer.status != http.StatusNotFound {
			z.Errorf("the manifest: %d %s", answer.status, answer.body)
		}
		z.await("the deletion of what was recorded", func() bool {
			found := false
			_ = filepath.WalkDir(z.dir, func(path string, entry os.DirEntry, err error) error {
				found = found || err == nil && !entry.IsDir() && strings.Contains(path, z.id) && !strings.HasPrefix(entry.Name(), "bot.")
				return nil
			})
			return !found
		})
		return
	}
	z.await("the manifest", func() bool {
		return z.target.call(http.MethodGet, "/api/v1/jobs/"+z.id+"/manifest", z.key, nil).status == http.StatusOK
	})
	manifest := z.manifest(z.id)
	detail := *cmp.Or(manifest.End.Detail, new(string))
	if manifest.End.Reason != reason || !strings.Contains(detail, text) || manifest.Partial != partial || len(manifest.Media) < 2 {
		z.Errorf("the manifest: %s: %s, partial %t, files %v", manifest.End.Reason, detail, manifest.Partial, manifest.Media)
	}
	for _, file := range manifest.Media {
		z.fetch(file)
	}
}
