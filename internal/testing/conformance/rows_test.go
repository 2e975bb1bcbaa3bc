package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/client"
)

// goRows are the rows of clients/conformance.json for the Go client, and more.
var goRows = map[string]func(*testing.T, world){
	"create_job": createJob, "replay_job": replayJob, "job_warnings": jobWarnings, "list_pages": listPages, "list_filters": listFilters,
	"create_batch": createBatch, "job_details": jobDetails,
	"update_job": updateJob, "cancel_job": cancelJob, "invalid_input": invalidInput, "unauthorized": unauthorized, "not_found": notFound,
	"invalid_state": invalidState, "wait_until_done": waitUntilDone, "wait_timeout": waitTimeout, "send_commands": sendCommands,
	"speak":       speak,
	"live_events": liveEvents, "live_resume": liveResume, "manifest": readManifest, "transcript": readTranscript, "search": searchTexts,
	"download":        downloadFiles,
	"download_resume": downloadResume, "download_damaged": downloadDamaged, "upload": upload, "delete_recording": deleteRecording,
	"history": history, "webhook_endpoints": webhookEndpoints, "keys": keys, "calendars": calendars, "verify_webhooks": verifyWebhooks,
	"receiver": receiver, "retry_after": retryAfter,
	"retry_unavailable": retryUnavailable, "retry_once": retryOnce, "timeout": timeout, "retry_after_date": retryAfterDate,
	"unknown_values": unknownValues, "page": listPage, "plain_arguments": plainArguments, "forbidden": forbidden, "conflict": conflict,
	"unexpected_body": unexpectedBody, "connection_error": connectionError, "environment": environment, "call_options": callOptions,
	"user_agent": userAgent, "logging": logging, "webhook_data": webhookData,
	"failed_webhooks": failedWebhooks, "login": login, // of the Go client alone
}

// TestGo runs every row with the Go client.
func TestGo(t *testing.T) {
	t.Parallel()
	for _, name := range rows(t) {
		if goRows[name] == nil {
			t.Errorf("the row %s has no test", name)
		}
	}
	w := newWorld(t)
	if err := w.Health(t.Context()); err != nil {
		t.Errorf("health: %v", err)
	}
	for name, run := range goRows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, w)
		})
	}
}

// create creates a job, for the test of this name.
func (w world) create(t *testing.T, metadata string, joinAt *time.Time) client.Job {
	t.Helper()
	created, _, err := w.CreateJob(t.Context(), client.NewJob{
		ExternalID: t.Name(), MeetingURL: meetURL, Metadata: json.RawMessage(metadata), JoinAt: joinAt,
	})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// record returns a job that has been recorded.
func (w world) record(t *testing.T) client.Job {
	t.Helper()
	done, err := w.recorded()
	if err != nil || done.Status != client.Completed {
		t.Fatalf("the job is %+v (%v)", done, err)
	}
	return done
}

// through returns a client that calls the service with a fault, and the text that
// counts its requests.
func (w world) through(t *testing.T, fault string) (*client.Client, string) {
	t.Helper()
	text := fmt.Sprintf("go-%d", time.Now().UnixNano())
	c, err := client.New(w.faults+"/"+fault+"/"+text, w.key)
	if err != nil {
		t.Fatal(err)
	}
	return c, text
}

func createJob(t *testing.T, w world) {
	created, replayed, err := w.CreateJob(t.Context(), client.NewJob{
		ExternalID: t.Name(), MeetingURL: "https://us02web.zoom.us/j/123456789", JoinAt: later(), Metadata: json.RawMessage(`{"customer":"ada"}`),
	})
	if err != nil || replayed || created.Platform != "zoom-web" || created.Status != "scheduled" ||
		string(created.Metadata) != `{"customer":"ada"}` {
		t.Errorf("got %+v, replayed %v (%v)", created, replayed, err)
	}
	read, err := w.Job(t.Context(), created.ID)
	if err != nil || read.ExternalID != t.Name() || !read.JoinAt.Equal(created.JoinAt) {
		t.Errorf("read %+v (%v)", read, err)
	}
}

func replayJob(t *testing.T, w world) {
	first := w.create(t, `{}`, later())
	again, replayed, err := w.CreateJob(t.Context(), client.NewJob{ExternalID: t.Name(), MeetingURL: meetURL})
	if err != nil || !replayed || again.ID != first.ID {
		t.Errorf("got %s, replayed %v (%v), want %s", again.ID, replayed, err, first.ID)
	}
}

func jobWarnings(t *testing.T, w world) {
	if created := w.create(t, `{"captions":"yes"}`, later()); created.Warning == "" {
		t.Errorf("no warning: %+v", created)
	}
}

func listPages(t *testing.T, w world) {
	seen := map[string]bool{}
	for listed, err := range w.Jobs(t.Context(), client.JobFilter{Metadata: map[string]string{"list": "pages"}}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen[listed.ID] {
			t.Errorf("%s is listed twice", listed.ExternalID)
		}
		seen[listed.ID] = true
	}
	if len(seen) != pagedJobs {
		t.Errorf("%d jobs are listed, want %d", len(seen), pagedJobs)
	}
}

func listFilters(t *testing.T, w world) {
	created := w.create(t, `{}`, later())
	matching := client.JobFilter{
		Status: "scheduled,pending", Platform: "meet", ExternalID: t.Name(), JoinFrom: created.JoinAt, CreatedFrom: created.CreatedAt,
	}
	other := matching
	other.JoinTo = created.JoinAt
	var found [2]int
	for i, filter := range []client.JobFilter{matching, other} {
		for listed, err := range w.Jobs(t.Context(), filter) {
			if err != nil || listed.ID != created.ID {
				t.Fatalf("listed %s (%v)", listed.ExternalID, err)
			}
			found[i]++
		}
	}
	if found != [2]int{1, 0} {
		t.Errorf("%v jobs are listed, want 1 and 0", found)
	}
}

func createBatch(t *testing.T, w world) {
	valid := client.NewJob{ExternalID: t.Name(), MeetingURL: meetURL}
	results, err := w.CreateJobs(t.Context(), []client.NewJob{valid, {MeetingURL: "no url"}})
	if err != nil || len(results) != 2 {
		t.Fatalf("%d results (%v)", len(results), err)
	}
	first, invalid := results[0], results[1]
	if first.Status != http.StatusCreated || first.Job.ExternalID != valid.ExternalID || invalid.Status != http.StatusBadRequest ||
		invalid.Job != nil || invalid.Error.Code != "invalid_input" {
		t.Errorf("the results %+v and %+v", first, invalid)
	}
}

func jobDetails(t *testing.T, w world) {
	created := w.create(t, `{"title":"Planning"}`, later())
	details, err := w.JobDetails(t.Context(), created.ID)
	if err != nil || details.ID != created.ID || details.Title == nil || *details.Title != "Planning" || len(details.Participants) > 0 {
		t.Errorf("details %+v (%v)", details, err)
	}
}

func updateJob(t *testing.T, w world) {
	created, name := w.create(t, `{}`, later()), "Notes"
	at := created.JoinAt.Add(time.Minute)
	changed, err := w.PatchJob(t.Context(), created.ID, client.JobPatch{JoinAt: &at, DisplayName: &name})
	if err != nil || !changed.JoinAt.Equal(at) {
		t.Errorf("changed %+v (%v)", changed, err)
	}
	settings, err := w.JobSettings(t.Context(), created.ID)
	if err != nil || settings.DisplayName != name {
		t.Errorf("settings %+v (%v)", settings, err)
	}
}

func cancelJob(t *testing.T, w world) {
	created := w.create(t, `{}`, later())
	if err := w.CancelJob(t.Context(), created.ID); err != nil {
		t.Error(err)
	}
	if read, err := w.Job(t.Context(), created.ID); err != nil || read.Status != client.Cancelled || !read.Ended() {
		t.Errorf("the job is %s (%v)", read.Status, err)
	}
}

func invalidInput(t *testing.T, w world) {
	_, _, err := w.CreateJob(t.Context(), client.NewJob{MeetingURL: "no url"})
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest || refused.Code != "invalid_input" || refused.RequestID == "" {
		t.Fatalf("create: %#v", err)
	}
	var paths []string
	for _, issue := range refused.Issues {
		paths = append(paths, fmt.Sprint(issue.Path...))
	}
	if slices.Sort(paths); !slices.Equal(paths, []string{"externalId", "meetingUrl"}) || !strings.Contains(err.Error(), "externalId: ") {
		t.Errorf("the issues are %v: %v", refused.Issues, err)
	}
}

func unauthorized(t *testing.T, w world) {
	stranger, err := client.New(w.base, "standin_test_nobody")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Job(t.Context(), w.uploadJob); !client.Is(err, "unauthorized") {
		t.Errorf("got %v", err)
	}
}

func notFound(t *testing.T, w world) {
	for id, missing := range map[string]bool{
		"0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80": true, "../../..": true, "": false, ".": false, "..": false,
	} {
		if _, err := w.Job(t.Context(), id); err == nil || client.Is(err, "not_found") != missing {
			t.Errorf("job %q: %v", id, err)
		}
	}
}

func invalidState(t *testing.T, w world) {
	created := w.create(t, `{}`, later())
	if err := w.CancelJob(t.Context(), created.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.PatchJob(t.Context(), created.ID, client.JobPatch{JoinAt: later()}); !client.Is(err, "invalid_state") {
		t.Errorf("got %v", err)
	}
	for _, verb := range []client.Command{
		client.RequestRecordingPermission, client.PauseRecording, client.ResumeRecording, client.StopRecording, client.LeaveCall,
	} {
		if _, err := w.SendCommand(t.Context(), created.ID, verb); !client.Is(err, "invalid_state") {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

func waitUntilDone(t *testing.T, w world) {
	if done := w.record(t); done.ManifestURI == nil || !done.Ended() {
		t.Errorf("the job has no manifest: %+v", done)
	}
	failed, err := w.WaitUntilDone(t.Context(), w.create(t, `{"simulate":"meeting_not_found"}`, nil).ID, 0)
	if err != nil || failed.Status != client.Failed || failed.FailureCode == nil || *failed.FailureCode != "meeting_not_found" {
		t.Errorf("the job is %+v (%v)", failed, err)
	}
}

func waitTimeout(t *testing.T, w world) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := w.WaitUntilDone(ctx, w.create(t, `{}`, later()).ID, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// simulated creates another job for the test of this name.
func (w world) simulated(t *testing.T, name, metadata string) client.Job {
	t.Helper()
	created, _, err := w.CreateJob(t.Context(), client.NewJob{
		ExternalID: t.Name() + name, MeetingURL: meetURL, Metadata: json.RawMessage(metadata),
	})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

// attended returns a job whose bot is in the meeting.
func (w world) attended(t *testing.T, options client.Options) client.Job {
	t.Helper()
	created, _, err := w.CreateJob(t.Context(), client.NewJob{
		ExternalID: t.Name() + " attended", MeetingURL: meetURL, Metadata: json.RawMessage(`{"simulate":"slow_meeting"}`), Options: options,
	})
	if err != nil {
		t.Fatal(err)
	}
	for event, err := range w.Live(t.Context(), created.ID, "") {
		if err != nil {
			t.Fatal(err)
		}
		if event.Name == "state" && bytes.Contains(event.Data, []byte(`"recording_started"`)) {
			break
		}
	}
	return created
}

func sendCommands(t *testing.T, w world) {
	created := w.attended(t, client.Options{})
	message, err := w.SendChatMessage(t.Context(), created.ID, "Hello")
	if err != nil || message == "" {
		t.Errorf("send a message: %q (%v)", message, err)
	}
	leave, err := w.SendCommand(t.Context(), created.ID, client.LeaveCall)
	if err != nil || leave == "" || leave == message {
		t.Errorf("leave: %q (%v)", leave, err)
	}
	if done, err := w.WaitUntilDone(t.Context(), created.ID, 0); err != nil || done.Status != client.Completed {
		t.Fatalf("the job is %+v (%v)", done, err)
	}
	if manifest, err := w.Manifest(t.Context(), created.ID); err != nil || manifest.End.Reason != "left_on_command" {
		t.Errorf("the recording ended with %+v (%v)", manifest.End, err)
	}
}

func speak(t *testing.T, w world) {
	created := w.attended(t, client.Options{Output: &client.OutputOptions{}})
	file, err := w.PlayAudio(t.Context(), created.ID, client.Audio{Data: silence()})
	if err != nil {
		t.Fatal(err)
	}
	spoken, err := w.Speak(t.Context(), created.ID, client.SpokenText{Text: "Good morning", Language: "en", Interrupt: true})
	if err != nil {
		t.Fatal(err)
	}
	waiting := []string{file, spoken}
	for event, err := range w.Live(t.Context(), created.ID, "") {
		if err != nil {
			t.Fatal(err)
		}
		var output struct{ CommandID, State string }
		if event.Name == "output" && json.Unmarshal(event.Data, &output) == nil && output.State == "finished" {
			waiting = slices.DeleteFunc(waiting, func(id string) bool { return id == output.CommandID })
		}
		if len(waiting) == 0 {
			break
		}
	}
	if len(waiting) > 0 {
		t.Errorf("%v were not played", waiting)
	}
	if stop, err := w.SendCommand(t.Context(), created.ID, client.StopOutput); err != nil || stop == "" {
		t.Errorf("stop: %q (%v)", stop, err)
	}
}

// follow returns the events of a job that have an ID, by it, and the last one.
func follow(t *testing.T, c *client.Client, id string) (events []string, last client.LiveEvent) {
	t.Helper()
	for event, err := range c.Live(t.Context(), id, "") {
		if err != nil {
			t.Fatal(err)
		}
		if last = event; event.ID != "" && event.Name != "end" {
			events = append(events, event.Name+" "+event.ID)
		}
	}
	return events, last
}

func checkEvents(t *testing.T, events []string, last client.LiveEvent) {
	t.Helper()
	for _, name := range []string{"state", "caption", "chat"} {
		if !slices.ContainsFunc(events, func(event string) bool { return strings.HasPrefix(event, name+" ") }) {
			t.Errorf("there is no %s", name)
		}
	}
	if last.Name != "end" || !bytes.Contains(last.Data, []byte(`"completed"`)) {
		t.Errorf("the last event is %s %s", last.Name, last.Data)
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(events))); len(sorted) != len(events) {
		t.Errorf("%d of %d events are different", len(sorted), len(events))
	}
}

func liveEvents(t *testing.T, w world) {
	events, last := follow(t, w.Client, w.create(t, quick, nil).ID)
	checkEvents(t, events, last)
}

func liveResume(t *testing.T, w world) {
	done := w.record(t)
	whole, _ := follow(t, w.Client, done.ID)
	cut, _ := w.through(t, "cut")
	events, last := follow(t, cut, done.ID)
	checkEvents(t, events, last)
	if !slices.Equal(events, whole) {
		t.Errorf("got %v, want %v", events, whole)
	}
}

func readManifest(t *testing.T, w world) {
	done := w.record(t)
	manifest, err := w.Manifest(t.Context(), done.ID)
	if err != nil || manifest.SchemaVersion != 1 || manifest.JobID != done.ID || manifest.End.Reason != "host_ended" ||
		len(manifest.Participants) != 3 {
		t.Fatalf("manifest %+v (%v)", manifest, err)
	}
	if i := slices.IndexFunc(manifest.Media, func(m client.Media) bool { return m.Kind == "video" }); i < 0 ||
		manifest.Media[i].DurationMS < 11_500 || manifest.Media[i].DurationMS > 20_000 { // 20 times as fast: a delay counts 20 times
		t.Errorf("media %+v", manifest.Media)
	}
}

func readTranscript(t *testing.T, w world) {
	done := w.record(t)
	transcript, err := w.Transcript(t.Context(), done.ID)
	if err != nil || len(transcript.Segments) == 0 || transcript.Segments[0].Source != "captions" || transcript.Segments[0].Text == "" {
		t.Errorf("transcript %+v (%v)", transcript, err)
	}
	text, err := w.TranscriptText(t.Context(), done.ID, "vtt")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	if content, err := io.ReadAll(text); err != nil || !strings.HasPrefix(string(content), "WEBVTT") {
		t.Errorf("got %q (%v)", content, err)
	}
	err = w.TranscribeAgain(t.Context(), done.ID, client.TranscriptionOptions{Language: "de", Keyterms: []string{"Standin"}})
	if err != nil && !client.Is(err, "invalid_state") { // its texts are being indexed
		t.Errorf("transcribe again: %v", err)
	}
}

func searchTexts(t *testing.T, w world) {
	done := w.record(t)
	transcript, err := w.Transcript(t.Context(), done.ID)
	if err != nil || len(transcript.Segments) == 0 {
		t.Fatalf("transcript %+v (%v)", transcript, err)
	}
	text := transcript.Segments[0].Text
	found := false
	for deadline := time.Now().Add(time.Minute); !found && time.Now().Before(deadline); { // texts are indexed after the transcript is stored
		matches, err := w.SearchTexts(t.Context(), text, 100)
		if err != nil {
			t.Fatal(err)
		}
		found = slices.ContainsFunc(matches, func(m client.TextMatch) bool { return m.JobID == done.ID && m.Text == text })
	}
	if !found {
		t.Errorf("%q is not found", text)
	}
}

func downloadFiles(t *testing.T, w world) {
	done := w.record(t)
	manifest, err := w.Manifest(t.Context(), done.ID)
	if err != nil || len(manifest.Media) < 3 {
		t.Fatalf("manifest %+v (%v)", manifest, err)
	}
	for _, file := range manifest.Media {
		var into bytes.Buffer
		if err := w.DownloadFile(t.Context(), done.ID, file, &into); err != nil || int64(into.Len()) != file.Bytes {
			t.Errorf("%s: %d bytes, want %d (%v)", file.Name, into.Len(), file.Bytes, err)
		}
		body, err := w.Download(t.Context(), done.ID, file.Name, file.Bytes/2)
		if err != nil {
			t.Fatal(err)
		}
		half, err := io.ReadAll(body)
		if body.Close(); err != nil || !bytes.Equal(half, into.Bytes()[file.Bytes/2:]) {
			t.Errorf("%s from its middle: %d bytes (%v)", file.Name, len(half), err)
		}
	}
	if _, err := w.Download(t.Context(), done.ID, "nothing.mp4", 0); !client.Is(err, "not_found") {
		t.Errorf("a file that does not exist: %v", err)
	}
}

// video returns a recorded job, and its video.
func (w world) video(t *testing.T) (client.Job, client.Media) {
	t.Helper()
	done := w.record(t)
	manifest, err := w.Manifest(t.Context(), done.ID)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(manifest.Media, func(m client.Media) bool { return m.Kind == "video" })
	return done, manifest.Media[i]
}

func downloadResume(t *testing.T, w world) {
	done, file := w.video(t)
	if file.Bytes <= cutFile {
		t.Fatalf("the video has only %d bytes", file.Bytes)
	}
	cut, _ := w.through(t, "cut")
	var into bytes.Buffer
	if err := cut.DownloadFile(t.Context(), done.ID, file, &into); err != nil || int64(into.Len()) != file.Bytes {
		t.Errorf("%d bytes, want %d (%v)", into.Len(), file.Bytes, err)
	}
}

func downloadDamaged(t *testing.T, w world) {
	done, file := w.video(t)
	damaged, _ := w.through(t, "damaged")
	if err := damaged.DownloadFile(t.Context(), done.ID, file, io.Discard); !errors.Is(err, client.ErrChecksum) {
		t.Errorf("got %v", err)
	}
}

func upload(t *testing.T, w world) {
	for range 2 {
		if err := w.UploadMedia(t.Context(), w.uploadToken, w.uploadJob, 0, "go.bin", []byte("content")); err != nil {
			t.Error(err)
		}
	}
	if err := w.UploadMedia(t.Context(), w.uploadToken, w.uploadJob, 0, "go.bin", []byte("other")); !client.Is(err, "invalid_state") {
		t.Errorf("another body: %v", err)
	}
}

func deleteRecording(t *testing.T, w world) {
	done, err := w.WaitUntilDone(t.Context(), w.create(t, quick, nil).ID, 0)
	if err != nil || done.Status != client.Completed {
		t.Fatalf("the job is %+v (%v)", done, err)
	}
	if err := w.DeleteRecording(t.Context(), done.ID); err != nil {
		t.Error(err)
	}
	if _, err := w.Manifest(t.Context(), done.ID); !client.Is(err, "not_found") {
		t.Errorf("the manifest: %v", err)
	}
}

func history(t *testing.T, w world) {
	created, _, err := w.CreateJob(t.Context(), client.NewJob{
		ExternalID: t.Name(), MeetingURL: meetURL, JoinAt: later(), Webhooks: &client.Webhooks{OnStatusChange: "http://127.0.0.1:1/"},
	})
	if err == nil {
		err = w.CancelJob(t.Context(), created.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	entries, deliveries := 0, 0
	for entry, err := range w.Timeline(t.Context(), created.ID) {
		if err != nil || entry.Kind == "" {
			t.Fatalf("%+v (%v)", entry, err)
		}
		entries++
	}
	for delivery, err := range w.Deliveries(t.Context(), created.ID) {
		if err != nil || delivery.Event != "job.status_changed" {
			t.Fatalf("%+v (%v)", delivery, err)
		}
		deliveries++
	}
	if entries == 0 || deliveries == 0 {
		t.Errorf("%d entries, %d deliveries", entries, deliveries)
	}
}

func receiver(t *testing.T, w world) {
	got := make(chan client.Webhook, 100)
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		received, err := client.ReceiveWebhook(r, w.secret)
		if err != nil {
			answer.WriteHeader(http.StatusBadRequest)
			return
		}
		got <- received
	}))
	t.Cleanup(server.Close)
	forged, err := http.Post(server.URL, "application/json", strings.NewReader(`{}`))
	if err != nil || forged.StatusCode != http.StatusBadRequest {
		t.Fatalf("a forged webhook: %v (%v)", forged, err)
	}
	forged.Body.Close()
	created, _, err := w.CreateJob(t.Context(), client.NewJob{
		ExternalID: t.Name(), MeetingURL: meetURL, Metadata: json.RawMessage(quick), Webhooks: &client.Webhooks{
			OnStatusChange: server.URL, OnFinalize: server.URL,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for received := range got {
		if seen[received.DeliveryID] {
			t.Errorf("%s was received twice", received.DeliveryID)
		}
		seen[received.DeliveryID] = true
		if received.Event == "job.finalized" {
			if received.Data.JobID != created.ID || received.Data.Job.Status != client.Completed {
				t.Errorf("received %+v", received)
			}
			return
		}
	}
}

func retryAfter(t *testing.T, w world) {
	busy, _ := w.through(t, "busy")
	id := w.attended(t, client.Options{}).ID
	began := time.Now()
	if _, err := busy.SendChatMessage(t.Context(), id, "Hello"); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < failures*time.Second {
		t.Errorf("it took %v, less than Retry-After says", took)
	}
}

func retryUnavailable(t *testing.T, w world) {
	unavailable, _ := w.through(t, "unavailable")
	if _, _, err := unavailable.CreateJob(t.Context(), client.NewJob{ExternalID: t.Name(), MeetingURL: meetURL, JoinAt: later()}); err != nil {
		t.Error(err)
	}
}

func retryOnce(t *testing.T, w world) {
	lost, _ := w.through(t, "lost")
	if _, err := lost.CreateKey(t.Context(), client.NewKey{Name: t.Name()}); err != nil {
		t.Fatal(err)
	}
	created := 0
	for key, err := range w.Keys(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if key.Name == t.Name() {
			created++
		}
	}
	if created != 1 {
		t.Errorf("%d keys were created", created)
	}
}

func timeout(t *testing.T, w world) {
	silent, _ := w.through(t, "silent")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := silent.Job(ctx, w.uploadJob); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// exampleWebhooks is clients/webhooks.json.
type exampleWebhooks struct {
	About string           `json:"about"`
	Cases []exampleWebhook `json:"cases"`
}

type exampleWebhook struct {
	Name    string      `json:"name"`
	Valid   bool        `json:"valid"`
	Secret  string      `json:"secret"`
	Now     int64       `json:"now"`     // seconds since 1970
	Headers [][2]string `json:"headers"` // names may repeat
	Body    string      `json:"body"`
}

// webhookCases returns the cases of clients/webhooks.json.
func webhookCases(t *testing.T) []exampleWebhook {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, "webhooks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var examples exampleWebhooks
	if err := json.Unmarshal(content, &examples); err != nil {
		t.Fatal(err)
	}
	return examples.Cases
}

func verifyWebhooks(t *testing.T, _ world) {
	for _, example := range webhookCases(t) {
		header := http.Header{}
		for _, pair := range example.Headers {
			header.Add(pair[0], pair[1])
		}
		err := client.VerifyWebhook(header, []byte(example.Body), example.Secret, time.Unix(example.Now, 0))
		if (err == nil) != example.Valid {
			t.Errorf("%s: %v", example.Name, err)
		}
	}
}

func retryAfterDate(t *testing.T, w world) {
	dated, _ := w.through(t, "dated")
	began := time.Now()
	if _, err := dated.Me(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < failures*time.Second {
		t.Errorf("it took %v, less than Retry-After says", took)
	}
}

func unknownValues(t *testing.T, w world) {
	newer, _ := w.through(t, "later")
	created, failed := w.create(t, `{}`, later()), w.simulated(t, "failed", `{"simulate":"meeting_not_found"}`)
	read, err := newer.Job(t.Context(), created.ID)
	if err != nil || read.Status != "levitating" || read.Platform != "holodeck" || read.Ended() {
		t.Errorf("read %+v (%v)", read, err)
	}
	for listed, err := range newer.Jobs(t.Context(), client.JobFilter{ExternalID: created.ExternalID}) {
		if err != nil || listed.Status != "levitating" {
			t.Errorf("listed %+v (%v)", listed, err)
		}
	}
	if _, err := w.WaitUntilDone(t.Context(), failed.ID, 0); err != nil {
		t.Fatal(err)
	}
	if read, err := newer.Job(t.Context(), failed.ID); err != nil || read.FailureCode == nil || *read.FailureCode != "swallowed" {
		t.Errorf("read %+v (%v)", read, err)
	}
	if events, _ := follow(t, newer, w.record(t).ID); !slices.ContainsFunc(events, func(event string) bool {
		return strings.HasPrefix(event, "applause ")
	}) {
		t.Errorf("the unknown event is missing: %v", events)
	}
}

func listPage(t *testing.T, w world) {
	var sizes []int
	seen := map[string]bool{}
	for page := (client.Page{Limit: 60}); ; {
		size := 0
		for listed, err := range w.WithPage(&page).Jobs(t.Context(), client.JobFilter{Metadata: map[string]string{"list": "pages"}}) {
			if err != nil {
				t.Fatal(err)
			}
			seen[listed.ID] = true
			size++
		}
		if sizes = append(sizes, size); page.Cursor == "" {
			break
		}
	}
	if !slices.Equal(sizes, []int{60, 41}) || len(seen) != pagedJobs {
		t.Errorf("pages of %v jobs, %d different ones", sizes, len(seen))
	}
}

func plainArguments(t *testing.T, w world) {
	solo := 60
	created, _, err := w.CreateJob(t.Context(), client.NewJob{
		ExternalID: t.Name(), MeetingURL: meetURL, JoinAt: later(), Metadata: json.RawMessage(`{"customer_id":{"of_team":7}}`),
		AutoLeave: &client.AutoLeavePatch{AfterSoloSeconds: &solo}, Recording: &client.Recording{Mode: "audio"},
	})
	if err != nil || string(created.Metadata) != `{"customer_id":{"of_team":7}}` || created.AutoLeave.AfterSoloSeconds != solo {
		t.Errorf("created %+v (%v)", created, err)
	}
	if settings, err := w.JobSettings(t.Context(), created.ID); err != nil || settings.Recording.Mode != "audio" {
		t.Errorf("settings %+v (%v)", settings, err)
	}
}

func forbidden(t *testing.T, w world) {
	key, err := w.CreateKey(t.Context(), client.NewKey{Name: t.Name(), Scope: "read"})
	if err != nil {
		t.Fatal(err)
	}
	reading, err := client.New(w.base, key.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := reading.CreateJob(t.Context(), client.NewJob{ExternalID: t.Name(), MeetingURL: meetURL}); !client.Is(err, "forbidden") {
		t.Errorf("got %v", err)
	}
}

func conflict(t *testing.T, w world) {
	conflicting, _ := w.through(t, "conflict")
	var refused *client.Error
	if _, err := conflicting.Me(t.Context()); !errors.As(err, &refused) || refused.Status != http.StatusConflict || refused.Code != "in_use" {
		t.Errorf("got %v", err)
	}
}

func unexpectedBody(t *testing.T, w world) {
	for _, fault := range []string{"page", "broken"} {
		c, text := w.through(t, fault)
		if _, err := c.Job(t.Context(), w.uploadJob); !errors.Is(err, client.ErrResponse) {
			t.Errorf("%s: read: %v", fault, err)
		}
		if err := c.CancelJob(t.Context(), w.uploadJob); !errors.Is(err, client.ErrResponse) {
			t.Errorf("%s: cancel: %v", fault, err)
		}
		for _, err := range c.Jobs(t.Context(), client.JobFilter{}) {
			if !errors.Is(err, client.ErrResponse) {
				t.Errorf("%s: list: %v", fault, err)
			}
		}
		if number := w.requests(t, fault, text); number != "3" {
			t.Errorf("%s: %s requests", fault, number)
		}
	}
}

// requests returns the number of requests with a fault.
func (w world) requests(t *testing.T, fault, text string) string {
	t.Helper()
	response, err := http.Get(w.faults + "/count/" + text + "/" + fault)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	number, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(number)
}

func connectionError(t *testing.T, w world) {
	closed, text := w.through(t, "closed")
	// net/http itself repeats requests on connections that were kept alive.
	closed = closed.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}})
	if _, err := closed.WithRetries(1).Job(t.Context(), w.uploadJob); !errors.Is(err, client.ErrNotReached) {
		t.Errorf("got %v", err)
	}
	if number := w.requests(t, "closed", text); number != "2" {
		t.Errorf("%s requests", number)
	}
	for _, base := range []string{"", "http://[", "no url"} {
		if _, err := client.New(base, w.key); err == nil {
			t.Errorf("%q is the URL of a client", base)
		}
	}
}

func environment(t *testing.T, w world) {
	for name, value := range map[string]string{"STANDIN_URL": w.base, "STANDIN_API_KEY": w.key} {
		if err := os.Setenv(name, value); err != nil { //nolint:usetesting // no other test reads it
			t.Fatal(err)
		}
	}
	c, err := client.FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Me(t.Context()); err != nil {
		t.Error(err)
	}
}

func callOptions(t *testing.T, w world) {
	silent, text := w.through(t, "silent")
	own := silent.WithHTTPClient(&http.Client{Timeout: 200 * time.Millisecond}).WithRetries(0)
	if _, err := own.Job(t.Context(), w.uploadJob); !errors.Is(err, client.ErrNotReached) {
		t.Errorf("got %v", err)
	}
	if number := w.requests(t, "silent", text); number != "1" {
		t.Errorf("%s requests", number)
	}
}

func userAgent(t *testing.T, w world) {
	agent, _ := w.through(t, "agent")
	if _, err := agent.Me(t.Context()); err == nil || !strings.Contains(err.Error(), "standin-go/"+client.Version) {
		t.Errorf("got %v", err)
	}
}

func logging(t *testing.T, w world) {
	var lines bytes.Buffer
	unavailable, _ := w.through(t, "unavailable")
	logger := slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if _, err := unavailable.WithLogger(logger).Me(t.Context()); err != nil {
		t.Error(err)
	}
	if text := lines.String(); strings.Count(text, "level=WARN") != failures || strings.Count(text, "level=DEBUG") != failures+1 ||
		!strings.Contains(text, "/api/v1/me") || strings.Contains(text, w.key) {
		t.Errorf("logged %s", text)
	}
}

func webhookData(t *testing.T, _ world) {
	seen := 0
	for _, example := range webhookCases(t) {
		event, ok := strings.CutPrefix(example.Name, "event ")
		if !ok {
			continue
		}
		var received client.Webhook
		if err := json.Unmarshal([]byte(example.Body), &received); err != nil || received.Event != event {
			t.Errorf("%s: %+v (%v)", event, received, err)
		}
		seen++
		data := received.Data
		for name, right := range map[string]bool{
			"job.finalized":      data.Job.Status == client.Completed && data.ManifestURI != "",
			"participant.left":   data.Participant.Name != "",
			"chat.message":       data.Message.Text != "",
			"bot.levitated":      data.JobID == "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80",
			"bot.stream_changed": data.State != "",
		} {
			if event == name && !right {
				t.Errorf("%s: %+v", event, data)
			}
		}
	}
	if seen < 16 {
		t.Errorf("only %d events", seen)
	}
}
