package conformance_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"standin/api"
	"standin/client"
	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/service"
	"standin/internal/speech"
)

// harness is a running service and a client with a test key, whose jobs are
// simulated.
type harness struct {
	base, secret, key string
	keys              *account.Keys
	*client.Client
}

const signingKey = "key"

// silence returns a tenth of a second of silence, as a WAV file.
func silence() []byte {
	const size = 3200
	file := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00")
	binary.LittleEndian.PutUint32(file[4:], 36+size)
	binary.LittleEndian.PutUint32(file[40:], size)
	return append(file, make([]byte, size)...)
}

func newHarness(t *testing.T) harness {
	t.Helper()
	speaker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(silence()) }))
	t.Cleanup(speaker.Close)
	s, err := service.Start(t.Context(), service.Settings{
		Listen: "127.0.0.1:0", DataSettings: service.DataSettings{DataDir: t.TempDir()}, LauncherSettings: service.LauncherSettings{Launcher: "manual"}, IngestSigningKey: signingKey,
		WebhookSecret: "whsec_c2VjcmV0IG9mIHRoaXMgdGVzdA==", Speech: speech.Config{URL: speaker.URL, AllowCIDRs: "127.0.0.0/8"}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the service: %v", err)
		}
	})
	_, key, err := s.Keys.Issue(t.Context(), "ada", "ada@example.com", job.Test)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(s.BaseURL()+"/", key)
	if err != nil {
		t.Fatal(err)
	}
	return harness{base: s.BaseURL(), secret: "whsec_c2VjcmV0IG9mIHRoaXMgdGVzdA==", key: key, keys: s.Keys, Client: c}
}

// TestJob creates a simulated job with the client, receives its webhooks, waits for
// its end and downloads its recording.
func TestJob(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h := newHarness(t)
	hooks := make(chan client.Webhook, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hook, err := client.ReceiveWebhook(r, h.secret)
		if err != nil {
			t.Errorf("receive a webhook: %v", err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		hooks <- hook
	}))
	t.Cleanup(receiver.Close)

	request := client.NewJob{
		ExternalID: "standup / 1", MeetingURL: "https://meet.google.com/abc-defg-hij", DisplayName: "Notes",
		Webhooks: &client.Webhooks{OnStatusChange: receiver.URL, OnFinalize: receiver.URL},
		Metadata: json.RawMessage(`{"customer":"ada"}`),
	}
	created, replayed, err := h.CreateJob(ctx, request)
	if err != nil || replayed || created.ExternalID != request.ExternalID || created.Platform != "meet" || created.AutoLeave.AfterSoloSeconds != 60 {
		t.Fatalf("create: %+v, replayed %v, error %v", created, replayed, err)
	}
	again, replayed, err := h.CreateJob(ctx, request)
	if err != nil || !replayed || again.ID != created.ID {
		t.Errorf("create again: %s, replayed %v, error %v", again.ID, replayed, err)
	}

	done := client.Job{}
	for done.ManifestURI == nil {
		select {
		case hook := <-hooks:
			if hook.Event == "job.finalized" {
				done = hook.Data.Job
			}
		case <-ctx.Done():
			t.Fatal("job.finalized was not received")
		}
	}
	job, err := h.Job(ctx, created.ID)
	if err != nil || job.Status != client.Completed || !job.Ended() {
		t.Errorf("the job is %+v (%v)", job, err)
	}
	h.checkRecording(t, ctx, created.ID)
	h.checkHistory(t, ctx, created.ID)

	if err := h.DeleteRecording(ctx, created.ID); err != nil {
		t.Errorf("delete the recording: %v", err)
	}
	if _, err := h.Manifest(ctx, created.ID); !client.Is(err, "not_found") {
		t.Errorf("the manifest of a deleted recording: %v", err)
	}
}

// checkRecording downloads every file, from the start and from the middle.
func (h harness) checkRecording(t *testing.T, ctx context.Context, id string) {
	t.Helper()
	manifest, err := h.Manifest(ctx, id)
	if err != nil || manifest.SchemaVersion != 1 || len(manifest.Media) == 0 || len(manifest.Participants) == 0 {
		t.Fatalf("manifest %+v (%v)", manifest, err)
	}
	for _, file := range manifest.Media {
		whole := h.download(t, ctx, id, file.Name, 0)
		if sum := sha256.Sum256(whole); int64(len(whole)) != file.Bytes || hex.EncodeToString(sum[:]) != file.SHA256 {
			t.Errorf("%s has %d bytes and SHA-256 %x, the manifest has %d and %s", file.Name, len(whole), sum, file.Bytes, file.SHA256)
		}
		if rest := h.download(t, ctx, id, file.Name, file.Bytes/2); !slices.Equal(rest, whole[file.Bytes/2:]) {
			t.Errorf("%s from its middle: got %d bytes, want its second half", file.Name, len(rest))
		}
	}
	if _, err := h.Download(ctx, id, "nothing.mp4", 0); !client.Is(err, "not_found") {
		t.Errorf("a file that does not exist: %v", err)
	}
}

func (h harness) download(t *testing.T, ctx context.Context, id, name string, from int64) []byte {
	t.Helper()
	body, err := h.Download(ctx, id, name, from)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// checkHistory reads the timeline and the deliveries, and redelivers one.
func (h harness) checkHistory(t *testing.T, ctx context.Context, id string) {
	t.Helper()
	var kinds []string
	for entry, err := range h.Timeline(ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, entry.Kind)
	}
	if !slices.Contains(kinds, "lifecycle.in_meeting") || !slices.Contains(kinds, "manifest.finalized") {
		t.Errorf("the timeline has %v", kinds)
	}
	for delivery, err := range h.Deliveries(ctx, id) {
		if err != nil {
			t.Fatal(err)
		}
		if delivery.State != "delivered" {
			continue
		}
		sent, err := h.Redeliver(ctx, id, delivery.DeliveryID)
		if err != nil || sent.DeliveryID != delivery.DeliveryID || sent.State != "waiting" {
			t.Errorf("redeliver: %+v (%v)", sent, err)
		}
		return
	}
	t.Error("no webhook was delivered")
}

// TestScheduledJobs lists, changes and cancels jobs that are not due.
func TestScheduledJobs(t *testing.T) {
	t.Parallel()
	ctx, h := t.Context(), newHarness(t)
	later := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	const several = 120 // more than one page
	var first client.Job
	for i := range several {
		created, _, err := h.CreateJob(ctx, client.NewJob{
			ExternalID: "job " + string(rune('a'+i%26)) + strings.Repeat("x", i/26), MeetingURL: "https://us02web.zoom.us/j/123456789?pwd=x", JoinAt: &later,
		})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = created
		}
	}
	seen := map[string]bool{}
	for listed, err := range h.Jobs(ctx, client.JobFilter{Platform: "zoom-web", JoinFrom: later, Status: "scheduled"}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[listed.ID] = true
	}
	if len(seen) != several {
		t.Errorf("%d jobs are listed, want %d", len(seen), several)
	}
	for range h.Jobs(ctx, client.JobFilter{JoinTo: later}) {
		t.Error("JoinTo is not exclusive")
	}

	sooner, name := later.Add(-time.Minute), "Other"
	changed, err := h.PatchJob(ctx, first.ID, client.JobPatch{JoinAt: &sooner, DisplayName: &name, Webhooks: &client.Webhooks{OnFinalize: "https://example.com/f"}})
	if err != nil || !changed.JoinAt.Equal(sooner) {
		t.Errorf("patch: %+v (%v)", changed, err)
	}
	settings, err := h.JobSettings(ctx, first.ID)
	if want := (client.JobSettings{DisplayName: name, Webhooks: client.Webhooks{OnFinalize: "https://example.com/f"}}); err != nil || settings != want {
		t.Errorf("settings %+v (%v), want %+v", settings, err, want)
	}
	on := true
	batch, err := h.CreateJobs(ctx, []client.NewJob{
		{ExternalID: "batch", MeetingURL: "https://meet.google.com/abc-defg-hij", JoinAt: &later, Options: client.Options{Title: "Weekly", Chat: &on}}, {ExternalID: "bad"},
	})
	if err != nil || len(batch) != 2 || batch[0].Status != 201 || batch[1].Error == nil || batch[1].Error.Code != "invalid_input" {
		t.Fatalf("a batch: %+v (%v)", batch, err)
	}
	details, err := h.JobDetails(ctx, batch[0].Job.ID)
	if err != nil || details.ExternalID != "batch" || details.Title == nil || *details.Title != "Weekly" || details.Options.Chat == nil || details.Outcome.Title == "" || details.Recording != nil {
		t.Errorf("details %+v (%v)", details, err)
	}
	if err := h.CancelJob(ctx, first.ID); err != nil {
		t.Errorf("cancel: %v", err)
	}
	if _, err := h.PatchJob(ctx, first.ID, client.JobPatch{JoinAt: &later}); !client.Is(err, "invalid_state") {
		t.Errorf("patch after cancel: %v", err)
	}
	for _, verb := range []client.Command{
		client.RequestRecordingPermission, client.PauseRecording, client.ResumeRecording, client.StopRecording, client.LeaveCall,
	} {
		if _, err := h.SendCommand(ctx, first.ID, verb); !client.Is(err, "invalid_state") {
			t.Errorf("%s of a cancelled job: %v", verb, err)
		}
	}
}

// TestOperations checks that the client has a method for every operation that a
// consumer may call.
func TestOperations(t *testing.T) {
	t.Parallel()
	methods := map[string]string{
		"createJob": "CreateJob", "createJobs": "CreateJobs", "getJobDetails": "JobDetails", "listJobs": "Jobs", "getJob": "Job", "cancelJob": "CancelJob", "patchJob": "PatchJob", "getJobSettings": "JobSettings",
		"requestRecordingPermission": "SendCommand", "pauseRecording": "SendCommand", "resumeRecording": "SendCommand",
		"stopRecording": "SendCommand", "leaveCall": "SendCommand", "sendChatMessage": "SendChatMessage", "pinParticipant": "PinParticipant", "playAudio": "PlayAudio", "speak": "Speak", "stopOutput": "SendCommand", "setCamera": "SetCamera", "shareScreen": "ShareScreen",
		"listCalendars": "Calendars", "createCalendar": "ConnectCalendar", "deleteCalendar": "DisconnectCalendar", "getCalendar": "Calendar",
		"listCalendarEvents": "CalendarEvents", "patchCalendar": "PatchCalendar", "patchCalendarEvent": "OverrideEvent", "syncCalendar": "SyncCalendar",
		"listTimeline": "Timeline", "listDeliveries": "Deliveries", "redeliver": "Redeliver",
		"listWebhookEndpoints": "WebhookEndpoints", "redeliverFailed": "RedeliverFailed", "rotateWebhookSecret": "RotateWebhookSecret",
		"createWebhookEndpoint": "CreateWebhookEndpoint", "getWebhookEndpoint": "WebhookEndpoint", "patchWebhookEndpoint": "PatchWebhookEndpoint", "deleteWebhookEndpoint": "DeleteWebhookEndpoint",
		"testWebhookEndpoint": "TestWebhookEndpoint", "retryWebhookEndpoint": "RetryWebhookEndpoint", "redeliverToEndpoint": "RedeliverToEndpoint",
		"getUsage": "Usage", "getMe": "Me", "listKeys": "Keys", "createKey": "CreateKey", "revokeKey": "RevokeKey",
		"listTeamDeliveries": "TeamDeliveries", "getDelivery": "Delivery", "redeliverDelivery": "RedeliverDelivery",
		"getManifest": "Manifest", "getTranscript": "Transcript", "transcribeAgain": "TranscribeAgain", "searchTexts": "SearchTexts", "liveJob": "Live", "getScreenshot": "Screenshot", "getMedia": "Download", "headMedia": "Manifest", "deleteRecording": "DeleteRecording",
		"initLogin": "StartLogin", "pollLogin": "AwaitLogin", "health": "Health",
	}
	others := map[string]string{
		"listAuditLog": "people",
		"ingestEvent":  "bots", "ingestTexts": "bots", "heartbeat": "bots", "uploadMedia": "bots", "readOutput": "bots", "ingestSound": "bots", "ingestScreenshot": "bots", "listenToJob": "WebSocket libraries", "intakeInvite": "the intake worker", "hostMetrics": "the operator",
		"completeLogin": "the authorization page", "receivePayment": "the payment provider",
		"reference": "people", "describe": "generators of clients", "describeYAML": "generators of clients", "describeManifest": "validators", "securityText": "people", "readiness": "load balancers",
	}
	description, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, operation := range description.Operations() {
		name, ok := methods[operation.ID]
		_, other := others[operation.ID]
		if _, exists := reflect.TypeFor[*client.Client]().MethodByName(name); other == ok || ok && !exists {
			t.Errorf("%s has no method (%q)", operation.ID, name)
		}
	}
	if err := newHarness(t).Health(t.Context()); err != nil {
		t.Errorf("health: %v", err)
	}
}

// TestCalendars connects, changes and disconnects a calendar.
func TestCalendars(t *testing.T) {
	t.Parallel()
	ctx, harness := t.Context(), newHarness(t)
	_, key, err := harness.keys.Issue(ctx, "ada", "", job.Live)
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.New(harness.base, key)
	if err != nil {
		t.Fatal(err)
	}
	connected, err := h.ConnectCalendar(ctx, client.NewCalendar{Name: "Ada", ICSURL: "https://calendar.example.com/secret.ics"})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(connected.Address, "secret") {
		t.Errorf("the address is %s", connected.Address)
	}
	name, rules := "Ada Lovelace", client.CalendarRules{Record: "none"}
	changed, err := h.PatchCalendar(ctx, connected.ID, client.CalendarPatch{Name: &name, Rules: &rules})
	if err != nil || changed.Name != name || changed.Rules.Record != "none" || changed.PollSeconds != connected.PollSeconds {
		t.Errorf("patch: %+v (%v)", changed, err)
	}
	if all, err := h.Calendars(ctx); err != nil || len(all) != 1 || all[0].Name != name {
		t.Errorf("list: %+v (%v)", all, err)
	}
	if err := h.DisconnectCalendar(ctx, connected.ID); err != nil {
		t.Errorf("disconnect: %v", err)
	}
	if _, err := h.Calendar(ctx, connected.ID); !client.Is(err, "not_found") {
		t.Errorf("after the disconnection: %v", err)
	}
}

// TestErrors checks that errors have all fields of the response.
func TestErrors(t *testing.T) {
	t.Parallel()
	ctx, h := t.Context(), newHarness(t)
	_, _, err := h.CreateJob(ctx, client.NewJob{MeetingURL: "no url"})
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Status != 400 || refused.Code != "invalid_input" || len(refused.Issues) != 2 || refused.RequestID == "" {
		t.Fatalf("create: %#v", err)
	}
	if text := err.Error(); !strings.Contains(text, "externalId: ") || !strings.Contains(text, "meetingUrl: ") {
		t.Errorf("the error does not name the fields: %s", text)
	}
	stranger, err := client.New(h.base, "standin_live_nobody")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Job(ctx, "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80"); !client.Is(err, "unauthorized") {
		t.Errorf("an unknown key: %v", err)
	}
	for _, id := range []string{"", ".", "..", "../../..", "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80/manifest", "a?b"} {
		if _, err := h.Job(ctx, id); err == nil || client.Is(err, "unauthorized") {
			t.Errorf("job %q: %v", id, err)
		}
	}
	for _, base := range []string{"", "localhost:8080", "ftp://example.com", "http://"} {
		if _, err := client.New(base, "key"); err == nil {
			t.Errorf("the base URL %q is accepted", base)
		}
	}
	if _, err := client.New(h.base, "key\r\nX: y"); err == nil {
		t.Error("a key with a line break is accepted")
	}
}

// TestLogin completes a device flow with the request that the page would send.
func TestLogin(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h := newHarness(t)
	login, err := h.StartLogin(ctx)
	if err != nil || !strings.HasPrefix(login.VerifyURL, h.base+"/cli?nonce=") {
		t.Fatalf("start: %+v (%v)", login, err)
	}
	body := `{"nonce":"` + login.Nonce + `","apiKey":"standin_test_minted","email":"ada@example.com"}`
	answer, err := http.Post(h.base+"/api/v1/cli-auth/complete", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	grant, err := h.AwaitLogin(ctx, login, 0)
	if err != nil || grant.APIKey != "standin_test_minted" || grant.Email != "ada@example.com" {
		t.Errorf("grant %+v (%v)", grant, err)
	}
	login.Nonce = "never-opened"
	if _, err := h.AwaitLogin(ctx, login, 0); !errors.Is(err, client.ErrLoginExpired) {
		t.Errorf("a flow that does not exist: %v", err)
	}
}

// TestForgedWebhook checks that a webhook with a changed byte, an old timestamp or
// the signature of another secret is refused.
func TestForgedWebhook(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	got := make(chan *http.Request, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		select {
		case got <- r:
		default:
		}
	}))
	t.Cleanup(receiver.Close)
	if _, _, err := h.CreateJob(t.Context(), client.NewJob{
		ExternalID: "1", MeetingURL: "https://meet.google.com/abc-defg-hij", Webhooks: &client.Webhooks{OnStatusChange: receiver.URL},
	}); err != nil {
		t.Fatal(err)
	}
	r := <-got
	body, _ := io.ReadAll(r.Body)
	now := time.Now()
	if err := client.VerifyWebhook(r.Header, body, h.secret, now); err != nil {
		t.Fatalf("a genuine webhook: %v", err)
	}
	altered := slices.Clone(body)
	altered[len(altered)/2] ^= 1
	for name, err := range map[string]error{
		"changed body":   client.VerifyWebhook(r.Header, altered, h.secret, now),
		"old timestamp":  client.VerifyWebhook(r.Header, body, h.secret, now.Add(time.Hour)),
		"another secret": client.VerifyWebhook(r.Header, body, "whsec_b3RoZXI=", now),
		"no signature":   client.VerifyWebhook(http.Header{}, body, h.secret, now),
	} {
		if err == nil {
			t.Errorf("%s: the webhook was accepted", name)
		}
	}
}
