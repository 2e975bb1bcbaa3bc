package service_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/store"
)

// contractJobs tests createJob, getJob and cancelJob of api/openapi.yaml.
func contractJobs(t *testing.T, h *contractHarness) {
	full := `{"externalId":"full","meetingUrl":"https://us02web.zoom.us/j/1?pwd=x","joinAt":"2999-11-20T14:00:00.5+01:00",
		"displayName":"Notes","webhooks":{"onStatusChange":"https://example.com/s","onFinalize":"https://example.com/f"},
		"metadata":{"a":{"b":[1,null]}},"autoLeave":{"afterSoloSeconds":120,"onBotDetected":true},"beyond":1}`
	made := h.expect(t, 201, contractRequest{op: "createJob", bearer: h.ada, body: full})
	for name, want := range map[string]any{
		"externalId": "full", "status": "scheduled", "platform": "zoom-web", "joinAt": "2999-11-20T13:00:00.500Z", "attempts": 0.0,
		"startedAt": nil, "finalizedAt": nil, "manifestUri": nil, "failureCode": nil, "failureDetail": nil,
		"metadata": map[string]any{"a": map[string]any{"b": []any{1.0, nil}}},
		"autoLeave": map[string]any{
			"afterEntryDelaySeconds": 600.0, "afterSilenceSeconds": 1200.0, "afterSoloSeconds": 120.0, "afterMaxSeconds": 14400.0, "onBotDetected": true,
		},
	} {
		if got := made.field(t, name); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	id := made.text(t, "id")
	again := h.expect(t, 200, contractRequest{op: "createJob", bearer: h.ada, body: `{"externalId":"full","meetingUrl":"https://other.example"}`})
	if again.header.Get("Idempotent-Replayed") != "true" || string(again.body) != string(made.body) {
		t.Errorf("the replay returned %s, want %s", again.body, made.body)
	}
	for _, other := range []string{h.bob, h.adasTest} { // another consumer, another mode
		if theirs := h.create(t, other, `{"externalId":"full","meetingUrl":"https://other.example"`+contractFuture+`}`); theirs == id {
			t.Error("two keys share a job")
		}
	}
	h.expectCode(t, 400, "invalid_input", contractRequest{op: "createJob", bearer: h.ada, body: `{"externalId":"","meetingUrl":"nowhere","joinAt":null}`})
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "createJob", bearer: "standin_live_x", body: full})

	h.expect(t, 200, contractRequest{op: "getJob", in: []string{id}, bearer: h.ada})
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "getJob", in: []string{id}})
	h.expect(t, 200, contractRequest{op: "getJobSettings", in: []string{id}, bearer: h.ada})
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "getJobSettings", in: []string{id}})
	h.expect(t, 200, contractRequest{op: "getJobDetails", in: []string{id}, bearer: h.ada})
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "getJobDetails", in: []string{id}})
	for _, unknown := range []string{"x", uuid.NewString(), strings.ReplaceAll(id, "-", "")} {
		for _, op := range []string{"getJob", "getJobSettings", "getJobDetails", "cancelJob"} {
			h.expectCode(t, 404, "not_found", contractRequest{op: op, in: []string{unknown}, bearer: h.ada})
		}
	}
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "cancelJob", in: []string{id}})
	h.expect(t, 204, contractRequest{op: "cancelJob", in: []string{id}, bearer: h.ada})
	h.expect(t, 204, contractRequest{op: "cancelJob", in: []string{id}, bearer: h.ada}) // an ended job does not change
	if status := h.awaitStatus(t, h.ada, id, job.Cancelled); status.field(t, "failureCode") != nil {
		t.Errorf("the cancelled job is %s", status.body)
	}
}

// contractPatch tests patchJob of api/openapi.yaml.
func contractPatch(t *testing.T, h *contractHarness) {
	id := h.create(t, h.ada, contractJob(contractFuture+`,"webhooks":{"onStatusChange":"https://example.com/s"},"autoLeave":{"afterSoloSeconds":7}`))
	changed := h.expect(t, 200, contractRequest{op: "patchJob", in: []string{id}, bearer: h.ada,
		body: `{"joinAt":"2999-02-03T04:05:06+01:00","metadata":{"b":2},"autoLeave":{"afterSilenceSeconds":300},"webhooks":{"onStatusChange":null},"mood":"good"}`})
	h.expectCode(t, 400, "invalid_input", contractRequest{op: "patchJob", in: []string{id}, bearer: h.ada, body: `{"meetingUrl":"https://other.example"}`})
	h.expect(t, 200, contractRequest{op: "patchJob", in: []string{id}, bearer: h.ada, body: `{"joinAt":"0001-01-01T00:00:00Z"}`})
	for name, want := range map[string]string{"joinAt": "2999-02-03T03:05:06.000Z", "meetingUrl": "https://meet.google.com/abc-defg-hij"} {
		if got := changed.text(t, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := fmt.Sprint(changed.field(t, "autoLeave"), changed.field(t, "metadata")); got != "map[afterEntryDelaySeconds:600 afterMaxSeconds:14400 afterSilenceSeconds:300 afterSoloSeconds:7 onBotDetected:false] map[b:2]" {
		t.Errorf("patched to %s", got)
	}
	same := h.expect(t, 200, contractRequest{op: "patchJob", in: []string{id}, bearer: h.ada, body: `{}`})
	if string(same.body) != string(changed.body) {
		t.Errorf("an empty patch returned %s, want %s", same.body, changed.body)
	}
	h.expectCode(t, 400, "invalid_input", contractRequest{op: "patchJob", in: []string{id}, bearer: h.ada, body: `{"joinAt":null,"metadata":[],"autoLeave":{"afterSoloSeconds":0}}`})
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "patchJob", in: []string{id}, body: `{}`})
	h.expectCode(t, 404, "not_found", contractRequest{op: "patchJob", in: []string{id}, bearer: h.bob, body: `{}`})
	h.sendEvent(t, id, "lifecycle.joined", "")
	h.expectCode(t, 409, "invalid_state", contractRequest{op: "patchJob", in: []string{id}, bearer: h.ada, body: `{}`})
}

// contractLists tests the filters and pages of listJobs of api/openapi.yaml.
func contractLists(t *testing.T, h *contractHarness) {
	key, _ := h.newKey(t, "lister", job.Live)
	var made []string
	for i := range 5 {
		made = append(made, h.create(t, key, fmt.Sprintf(`{"externalId":"list %d","meetingUrl":"https://teams.live.com/%d","joinAt":"2999-01-0%dT00:00:00Z"}`, i, i, i+1)))
	}
	slices.Reverse(made)
	h.expect(t, 204, contractRequest{op: "cancelJob", in: []string{made[4]}, bearer: key})
	list := func(query string) (ids []string, next string) {
		page := h.expect(t, 200, contractRequest{op: "listJobs", query: query, bearer: key})
		jobs, _ := page.field(t, "jobs").([]any)
		for _, one := range jobs {
			ids = append(ids, one.(map[string]any)["id"].(string))
		}
		return ids, page.text(t, "nextCursor")
	}
	var paged []string
	for cursor, more := "", true; more; more = cursor != "" {
		ids, next := list("limit=2&cursor=" + cursor)
		paged, cursor = append(paged, ids...), next
	}
	if !slices.Equal(paged, made) {
		t.Errorf("the pages contain %v, want %v", paged, made)
	}
	for query, want := range map[string][]string{
		"": made, "status=cancelled": made[4:], "status=scheduled": made[:4], "platform=teams": made, "platform=meet": nil,
		"externalId=list+3": made[1:2], "joinFrom=2999-01-02T00:00:00Z&joinTo=2999-01-04T00:00:00Z": made[2:4],
		"createdFrom=2999-01-01T00:00:00Z": nil, "createdTo=2999-01-01T00:00:00%2B00:00": made, "mood=good": made,
		"status=cancelled&status=failed": made[4:], "status=cancelled,scheduled": made, "metadata.none=1": nil,
		"createdBefore=2999-01-01T00:00Z": made, "createdAfter=29990101T000000Z": nil,
	} {
		if got, _ := list(query); !slices.Equal(got, want) {
			t.Errorf("?%s returned %v, want %v", query, got, want)
		}
	}
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=101": "limit", "limit=x": "limit", "status=done": "status", "platform=webex": "platform",
		"cursor=x": "cursor", "createdFrom=now": "createdFrom", "joinTo=2026": "joinTo", "status=": "status", "joinTo=": "joinTo",
	} {
		reply := h.expectCode(t, 400, "invalid_input", contractRequest{op: "listJobs", query: query, bearer: key})
		if !strings.Contains(string(reply.body), `"path":["`+field+`"]`) {
			t.Errorf("?%s returned %s", query, reply.body)
		}
	}
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "listJobs"})
	tagged := h.create(t, key, contractJob(contractFuture+`,"metadata":{"room":7,"customer":"ada"}`))
	for _, query := range []string{
		"metadata.room=7&metadata.customer=ada", "metadata[room]=7&metadata%5Bcustomer%5D=ada", "metadata=room=7&metadata=customer%3Dada",
	} {
		if got, _ := list(query + "&limit=1"); !slices.Equal(got, []string{tagged}) {
			t.Errorf("jobs with the metadata ?%s: %v, want %s", query, got, tagged)
		}
	}
}

// contractControls tests the control operations of api/openapi.yaml, such as
// requestRecordingPermission.
func contractControls(t *testing.T, h *contractHarness) {
	hooks := newContractHooks(t, h.checker)
	ada, err := h.Store().ConsumerByName(t.Context(), "ada")
	if err == nil {
		err = h.Store().SetCommandEvent(t.Context(), ada.ID, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	id := h.create(t, h.ada, contractJob(contractFuture+`,"webhooks":{"onStatusChange":"`+hooks.URL+`"}`))
	h.sendEvent(t, id, "lifecycle.in_meeting", "")
	scheduled := h.create(t, h.ada, contractJob(contractFuture))
	ended := h.create(t, h.ada, contractJob(contractFuture))
	h.expect(t, 204, contractRequest{op: "cancelJob", in: []string{ended}, bearer: h.ada})
	teardown := h.create(t, h.ada, contractJob(contractFuture))
	h.sendEvent(t, teardown, "lifecycle.exited", "")
	verbs := map[string]struct{ kind, body, bad string }{
		"requestRecordingPermission": {"request_recording_permission", "", ""},
		"pauseRecording":             {"pause_recording", "", ""},
		"resumeRecording":            {"resume_recording", "", ""},
		"stopRecording":              {"stop_recording", "", ""},
		"leaveCall":                  {"leave_call", "", ""},
		"sendChatMessage":            {"send_chat_message", `{"text":"hello"}`, `{"text":" "}`},
		"pinParticipant":             {"pin_participant", `{"participantId":"p-1"}`, `{"participantId":7}`},
	}
	commands := map[string]string{} // kinds by ID
	for op, verb := range verbs {
		reply := h.expect(t, 202, contractRequest{op: op, in: []string{id}, bearer: h.ada, body: verb.body})
		commands[reply.text(t, "commandId")] = verb.kind
		h.expectCode(t, 401, "unauthorized", contractRequest{op: op, in: []string{id}, body: verb.body})
		h.expectCode(t, 404, "not_found", contractRequest{op: op, in: []string{id}, bearer: h.bob, body: verb.body})
		h.expectCode(t, 404, "not_found", contractRequest{op: op, in: []string{"x"}, bearer: h.ada, body: verb.body})
		h.expectCode(t, 409, "invalid_state", contractRequest{op: op, in: []string{ended}, bearer: h.ada, body: verb.body})
		h.expectCode(t, 409, "invalid_state", contractRequest{op: op, in: []string{teardown}, bearer: h.ada, body: verb.body})
		early := h.do(t, contractRequest{op: op, in: []string{scheduled}, bearer: h.ada, body: verb.body})
		if waits := verb.body != "" || op == "requestRecordingPermission"; waits != (early.status == 202) || !waits && early.status != 409 {
			t.Errorf("%s before a bot was started: %d %s", op, early.status, early.body)
		}
		if verb.bad != "" {
			h.expectCode(t, 400, "invalid_input", contractRequest{op: op, in: []string{id}, bearer: h.ada, body: verb.bad})
		}
	}
	again := h.expect(t, 202, contractRequest{op: "requestRecordingPermission", in: []string{id}, bearer: h.ada})
	if commands[again.text(t, "commandId")] != "request_recording_permission" {
		t.Errorf("a second request while the first is pending returned %s, of %v", again.body, commands)
	}
	beat := `{"jobId":"` + id + `","attempt":0`
	waiting := h.expect(t, 200, contractRequest{op: "heartbeat", bearer: contractToken(id, 0), body: beat + `}`})
	sent, _ := waiting.field(t, "commands").([]any)
	for _, command := range sent {
		fields := command.(map[string]any)
		if kind := fields["kind"].(string); commands[fields["id"].(string)] != kind {
			t.Errorf("unexpected command %v", fields)
		}
	}
	acked := `,"acked":["` + strings.Join(slices.Collect(maps.Keys(commands)), `","`) + `"],"failed":{"` + again.text(t, "commandId") + `":"the host is away"}}`
	after := h.expect(t, 200, contractRequest{op: "heartbeat", bearer: contractToken(id, 0), body: beat + acked})
	if rest, _ := after.field(t, "commands").([]any); len(sent) != len(verbs) || len(rest) > 0 {
		t.Errorf("%d commands were sent, %v remain after they were acknowledged", len(sent), rest)
	}
	waitUntil(t, "the webhook of each outcome", func() bool { return hooks.count("bot.command_outcome") == len(verbs) })
	fresh := h.expect(t, 202, contractRequest{op: "requestRecordingPermission", in: []string{id}, bearer: h.ada})
	if commands[fresh.text(t, "commandId")] != "" {
		t.Error("an acknowledged command was returned again")
	}
}

// contractRecordings tests reading and deleting the manifest and the media of a
// simulated recording, which sends real webhooks.
func contractRecordings(t *testing.T, h *contractHarness) {
	hooks := newContractHooks(t, h.checker)
	urls := `,"webhooks":{"onStatusChange":"` + hooks.URL + `","onFinalize":"` + hooks.URL + `"}`
	key := h.adasTest
	id := h.create(t, key, contractJob(urls+`,"metadata":{"simulate":{"outcome":"permission_denied","speed":100}}`))
	failed := h.create(t, key, contractJob(urls+`,"metadata":{"simulate":"recording_disabled"}`))
	beside := h.create(t, key, contractJob(urls+`,"metadata":{"simulate":{"outcome":"competing_bot","speed":100}}`))
	done := h.awaitStatus(t, key, id, job.Completed, job.Failed)
	if uri := done.text(t, "manifestUri"); uri != h.BaseURL()+"/api/v1/jobs/"+id+"/manifest" {
		t.Fatalf("manifest URI %q: %s", uri, done.body)
	}
	manifest := h.expect(t, 200, contractRequest{op: "getManifest", in: []string{id}, bearer: key})
	if err := h.checker.Manifest(manifest.body); err != nil {
		t.Error(err)
	}
	media := manifest.field(t, "media").([]any)[0].(map[string]any)
	contractMedia(t, h, key, id, media["name"].(string), int(media["bytes"].(float64)))
	contractTranscript(t, h, key, id)
	contractLive(t, h, key, id)
	contractUsage(t, h, key)
	contractDetails(t, h, key, id)

	if got := h.awaitStatus(t, key, failed, job.Completed, job.Failed).text(t, "failureCode"); got != "recording_disabled" {
		t.Errorf("failure code %q", got)
	}
	h.awaitStatus(t, key, beside, job.Completed, job.Failed)
	for _, event := range []string{
		"job.status_changed", "job.finalized", "job.failed", "bot.recording_permission_response", "bot.competing_bot_detected",
	} {
		waitUntil(t, "the webhook "+event, func() bool { return hooks.has(event) })
	}

	running := h.create(t, h.ada, contractJob(contractFuture))
	h.sendEvent(t, running, "lifecycle.recording_started", "")
	h.expectCode(t, 409, "invalid_state", contractRequest{op: "deleteRecording", in: []string{running}, bearer: h.ada})
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "deleteRecording", in: []string{id}})
	h.expectCode(t, 404, "not_found", contractRequest{op: "deleteRecording", in: []string{id}, bearer: h.bob})
	for range 2 { // a second deletion succeeds
		h.expect(t, 204, contractRequest{op: "deleteRecording", in: []string{id}, bearer: key})
		h.expectCode(t, 404, "not_found", contractRequest{op: "getManifest", in: []string{id}, bearer: key})
		h.expectCode(t, 404, "not_found", contractRequest{op: "getMedia", in: []string{id, media["name"].(string)}, bearer: key})
	}
}

// contractTranscribeAgain requests another transcription of a recording that is stored
// elsewhere, so that nothing is sent to the transcriber.
func contractTranscribeAgain(t *testing.T, h *contractHarness) {
	id := h.create(t, h.ada, contractJob(contractFuture))
	again := contractRequest{op: "transcribeAgain", in: []string{id}, bearer: h.ada, body: `{"model":"whisper-large","language":"de","keyterms":["Standin"]}`}
	h.expectCode(t, 409, "invalid_state", again)
	h.sendEvent(t, id, "lifecycle.in_meeting", "")
	h.sendEvent(t, id, "manifest.finalized", `{"manifestUri":"https://media.example/manifest.json"}`)
	waitUntil(t, "the end of the first transcription", func() bool { return h.do(t, again).status == 202 })
	var kinds []string
	for _, entry := range h.expect(t, 200, contractRequest{op: "listTimeline", in: []string{id}, bearer: h.ada}).field(t, "entries").([]any) {
		kinds = append(kinds, entry.(map[string]any)["kind"].(string))
	}
	if !slices.Contains(kinds, "transcript_requested") {
		t.Errorf("the timeline has %v", kinds)
	}
	for name, body := range map[string]string{
		"a long model": `{"model":"` + strings.Repeat("x", 201) + `"}`, "no language": `{"language":"German, please"}`,
		"too many key terms": `{"keyterms":["` + strings.Repeat(`x","`, 100) + `x"]}`,
	} {
		bad := again
		bad.body = body
		if reply := h.do(t, bad); reply.status != 400 {
			t.Errorf("%s: %d %s", name, reply.status, reply.body)
		}
	}
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "transcribeAgain", in: []string{id}, body: again.body})
	h.expectCode(t, 404, "not_found", contractRequest{op: "transcribeAgain", in: []string{id}, bearer: h.bob, body: again.body})
	test := h.create(t, h.adasTest, contractJob(`,"metadata":{"simulate":{"speed":100,"seconds":1}}`))
	h.awaitStatus(t, h.adasTest, test, job.Completed, job.Failed)
	h.expectCode(t, 409, "invalid_state", contractRequest{op: "transcribeAgain", in: []string{test}, bearer: h.adasTest, body: `{}`})
}

// contractTranscript requests the transcript of a finished recording, which is that
// of its captions.
func contractTranscript(t *testing.T, h *contractHarness, key, id string) {
	t.Helper()
	in := []string{id}
	h.expectCode(t, 404, "not_found", contractRequest{op: "getTranscript", in: in, bearer: key})
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "getTranscript", in: in})
	h.expectCode(t, 404, "not_found", contractRequest{op: "getTranscript", in: in, bearer: h.bob})
	h.expectCode(t, 400, "invalid_input", contractRequest{op: "getTranscript", in: in, query: "format=doc", bearer: key})
	err := h.Store().Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertEntry(ctx, job.TimelineEntry{
			ID: uuid.Must(uuid.NewV7()), JobID: uuid.MustParse(id), Source: job.SourceService, Kind: lifecycle.TranscriptFailed, Applied: true,
			From: job.Completed, To: job.Completed, Data: []byte(`{"detail":"the transcriber answered with status 401"}`),
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	missing := h.expectCode(t, 404, "not_found", contractRequest{op: "getTranscript", in: in, bearer: key})
	if message := missing.field(t, "message"); !strings.HasSuffix(message.(string), "The transcription has failed: the transcriber answered with status 401.") {
		t.Errorf("the message is %q, want the reason", message)
	}
	err = h.Store().Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		at := time.Now().Add(time.Hour) // after the start of the recording
		_, err := tx.AppendTexts(ctx, uuid.MustParse(id), []job.MeetingText{
			{Kind: job.CaptionText, ID: "1", Author: "Eve <b>", Text: "hello & goodbye", Language: "en", StartedAt: at, EndedAt: at.Add(time.Second)},
			{Kind: job.ChatText, ID: "1", Author: "Eve", Text: "a message", StartedAt: at, EndedAt: at},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	whole := h.expect(t, 200, contractRequest{op: "getTranscript", in: in, bearer: key})
	if segments := whole.field(t, "segments").([]any); len(segments) != 1 || segments[0].(map[string]any)["source"] != "captions" {
		t.Errorf("segments %v, want that of the caption", segments)
	}
	for _, request := range []contractRequest{
		{query: "format=vtt"}, {header: map[string]string{"Accept": "text/plain;q=0.5, text/vtt"}},
	} {
		request.op, request.in, request.bearer = "getTranscript", in, key
		if text := h.expect(t, 200, request); !strings.HasPrefix(string(text.body), "WEBVTT") || !strings.Contains(string(text.body), "<v Eve &lt;b&gt;>hello &amp; goodbye") {
			t.Errorf("got %s, want WebVTT", text.body)
		}
	}
	if text := h.expect(t, 200, contractRequest{op: "getTranscript", in: in, query: "format=text", bearer: key}); !strings.Contains(string(text.body), "Eve <b>: hello & goodbye") {
		t.Errorf("got %s, want plain text", text.body)
	}
}

// contractSearch searches the texts of recordings.
func contractSearch(t *testing.T, h *contractHarness) {
	recorded, err := h.Store().Job(t.Context(), uuid.MustParse(h.create(t, h.bob, contractJob(contractFuture))))
	if err != nil {
		t.Fatal(err)
	}
	err = h.Store().Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.ReplaceSearchTexts(ctx, recorded.Job, job.TranscriptText, []job.SearchText{
			{StartMs: 61_200, Speaker: "Ada <b>", Text: "The quarterly budget is final."}, {StartMs: 70_000, Text: "A budget."},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "searchTexts", query: "q=budget"})
	for _, query := range []string{"", "q=", "q=a&limit=0", "q=a&limit=101", "q=a&q=b", "q=" + strings.Repeat("a", 501)} {
		h.expectCode(t, 400, "invalid_input", contractRequest{op: "searchTexts", query: query, bearer: h.bob})
	}
	for _, search := range []struct {
		bearer, query string
		matches       int
	}{{h.bob, "q=BUDG", 2}, {h.bob, "q=budget&limit=1", 1}, {h.bob, "q=budget,+quarterly", 1}, {h.bob, "q=budget&speaker=ada+%3Cb", 1}, {h.bob, "q=budget&speaker=bob", 0},
		{h.bob, "q=budget&createdFrom=2020-01-01T00:00:00Z", 2}, {h.bob, "q=budget&createdTo=2020-01-01T00:00:00Z", 0}, {h.bob, "q=salary", 0}, {h.ada, "q=quarterly", 0}} {
		found := h.expect(t, 200, contractRequest{op: "searchTexts", query: search.query, bearer: search.bearer}).field(t, "matches").([]any)
		if len(found) != search.matches {
			t.Errorf("%s: found %v, want %d matches", search.query, found, search.matches)
		}
	}
}

// contractUsage reads the usage of a team whose jobs were simulated.
func contractUsage(t *testing.T, h *contractHarness, key string) {
	t.Helper()
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "getUsage"})
	for _, query := range []string{"from=x", "to=2026-11-31", "from=2026-11-02&to=2026-11-01", "from=2020-01-01", "format=pdf"} {
		h.expectCode(t, 400, "invalid_input", contractRequest{op: "getUsage", query: query, bearer: key})
	}
	used := h.expect(t, 200, contractRequest{op: "getUsage", bearer: key})
	total := used.field(t, "total").(map[string]any)
	if total["completed"].(float64) < 1 || total["recordedHours"].(float64) <= 0 || total["botMinutes"].(float64) <= 0 || used.field(t, "keptBytes").(float64) <= 0 {
		t.Errorf("used %s", used.body)
	}
	table := strings.Split(strings.TrimSpace(string(h.expect(t, 200, contractRequest{op: "getUsage", query: "format=csv", bearer: key}).body)), "\n")
	if days := used.field(t, "days").([]any); len(table) != len(days)+1 || !strings.HasPrefix(table[0], "date,jobs,completed,") || strings.Count(table[1], ",") != 9 {
		t.Errorf("the table is %q", table)
	}
}

// contractLive follows a job that has ended.
func contractLive(t *testing.T, h *contractHarness, key, id string) {
	t.Helper()
	in := []string{id}
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "liveJob", in: in})
	h.expectCode(t, 404, "not_found", contractRequest{op: "liveJob", in: in, bearer: h.bob})
	h.expectCode(t, 400, "invalid_input", contractRequest{op: "liveJob", in: in, bearer: key, header: map[string]string{"Last-Event-ID": "7"}})
	whole := string(h.expect(t, 200, contractRequest{op: "liveJob", in: in, bearer: key}).body)
	if !strings.Contains(whole, "event: state\ndata: {") || !strings.HasSuffix(whole, "event: end\ndata: {\"type\":\"end\",\"status\":\"completed\"}\n\n") {
		t.Errorf("got %s, want all states and the end", whole)
	}
	if got := string(h.expect(t, 200, contractRequest{op: "liveJob", in: in, query: "follow=false", bearer: key}).body); got != whole {
		t.Errorf("without following: got %s, want %s", got, whole)
	}
	h.expectCode(t, 400, "invalid_input", contractRequest{op: "liveJob", in: in, query: "follow=no", bearer: key})
	_, last, _ := strings.Cut(whole[strings.LastIndex(whole, "id: "):], " ")
	last, _, _ = strings.Cut(last, "\n")
	before, _ := strings.CutSuffix(last, ".end")
	cut := string(h.expect(t, 200, contractRequest{op: "liveJob", in: in, bearer: key, header: map[string]string{"Last-Event-ID": before}}).body)
	if before == last || strings.Count(cut, "event: ") != 1 || !strings.Contains(cut, "event: end\n") {
		t.Errorf("after the event before the end: %s", cut)
	}
	h.expect(t, 204, contractRequest{op: "liveJob", in: in, bearer: key, header: map[string]string{"Last-Event-ID": last}})
}

// contractMedia requests a file with the range and conditional headers of RFC 9110.
func contractMedia(t *testing.T, h *contractHarness, key, id, name string, size int) {
	t.Helper()
	in := []string{id, name}
	whole := h.expect(t, 200, contractRequest{op: "getMedia", in: in, bearer: key})
	if len(whole.body) != size {
		t.Errorf("%s has %d bytes, want %d", name, len(whole.body), size)
	}
	tag := whole.header.Get("ETag")
	for _, op := range []string{"getMedia", "headMedia"} {
		for status, header := range map[int]map[string]string{
			200: nil, 206: {"Range": "bytes=0-99"}, 304: {"If-None-Match": tag}, 412: {"If-Match": `"other"`}, 416: {"Range": "bytes=999999999-"},
		} {
			h.expect(t, status, contractRequest{op: op, in: in, bearer: key, header: header})
		}
		h.expect(t, 401, contractRequest{op: op, in: in})
		h.expect(t, 404, contractRequest{op: op, in: in, bearer: h.bob})
		h.expect(t, 404, contractRequest{op: op, in: []string{id, "other.mp4"}, bearer: key})
	}
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "getManifest", in: []string{id}})
	h.expectCode(t, 404, "not_found", contractRequest{op: "getManifest", in: []string{id}, bearer: h.bob})
}

// contractHistory tests the timeline, the deliveries and redeliveries.
func contractHistory(t *testing.T, h *contractHarness) {
	hooks := newContractHooks(t, h.checker)
	hooks.status = http.StatusGone // the first delivery fails permanently
	id := h.create(t, h.ada, contractJob(contractFuture+`,"webhooks":{"onStatusChange":"`+hooks.URL+`"}`))
	h.sendEvent(t, id, "lifecycle.joined", "")
	h.sendEvent(t, id, "lifecycle.joined", "")
	h.expect(t, 202, contractRequest{op: "pauseRecording", in: []string{id}, bearer: h.ada})

	first := h.expect(t, 200, contractRequest{op: "listTimeline", in: []string{id}, query: "limit=1", bearer: h.ada})
	rest := h.expect(t, 200, contractRequest{op: "listTimeline", in: []string{id}, query: "cursor=" + first.text(t, "nextCursor"), bearer: h.ada})
	h.expectCode(t, 400, "invalid_input", contractRequest{op: "listJobs", query: "cursor=" + first.text(t, "nextCursor"), bearer: h.ada})
	h.create(t, h.ada, contractJob(contractFuture))
	jobs := h.expect(t, 200, contractRequest{op: "listJobs", query: "limit=1", bearer: h.ada})
	h.expectCode(t, 400, "invalid_input", contractRequest{op: "listTimeline", in: []string{id}, query: "cursor=" + jobs.text(t, "nextCursor"), bearer: h.ada})
	text := string(first.body) + string(rest.body)
	for _, want := range []string{`"kind":"lifecycle.joined"`, `"reason":"out_of_order"`, `"kind":"command_queued"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the timeline does not contain %s: %s", want, text)
		}
	}
	var delivery string
	waitUntil(t, "a failed delivery", func() bool {
		page := h.expect(t, 200, contractRequest{op: "listDeliveries", in: []string{id}, bearer: h.ada})
		one, ok := page.field(t, "deliveries").([]any)
		if !ok || len(one) == 0 {
			return false
		}
		delivery = one[0].(map[string]any)["deliveryId"].(string)
		return one[0].(map[string]any)["state"] == "failed"
	})
	at := []string{id, delivery}
	h.expectCode(t, 401, "unauthorized", contractRequest{op: "redeliver", in: at})
	h.expectCode(t, 404, "not_found", contractRequest{op: "redeliver", in: at, bearer: h.bob})
	h.expectCode(t, 404, "not_found", contractRequest{op: "redeliver", in: []string{id, "dlv_x"}, bearer: h.ada})
	hooks.mu.Lock() // the receiver does not respond, so the delivery stays in progress
	h.expect(t, 202, contractRequest{op: "redeliver", in: at, bearer: h.ada})
	h.expectCode(t, 409, "invalid_state", contractRequest{op: "redeliver", in: at, bearer: h.ada})
	hooks.status = http.StatusOK
	hooks.mu.Unlock()
	waitUntil(t, "the redelivery", func() bool {
		page := h.expect(t, 200, contractRequest{op: "listDeliveries", in: []string{id}, query: "limit=5", bearer: h.ada})
		return strings.Contains(string(page.body), `"state":"delivered"`)
	})
	for _, op := range []string{"listTimeline", "listDeliveries"} {
		h.expectCode(t, 400, "invalid_input", contractRequest{op: op, in: []string{id}, query: "cursor=%20", bearer: h.ada})
		h.expectCode(t, 400, "invalid_input", contractRequest{op: op, in: []string{id}, query: "limit=-1", bearer: h.ada})
		h.expectCode(t, 401, "unauthorized", contractRequest{op: op, in: []string{id}})
		h.expectCode(t, 404, "not_found", contractRequest{op: op, in: []string{id}, bearer: h.bob})
	}
}
