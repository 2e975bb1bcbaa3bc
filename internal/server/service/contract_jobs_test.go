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

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/store"
	"standin/internal/testing/await"
	"standin/internal/testing/storetest"
)

// contractJobs tests createJob, getJob and cancelJob of api/openapi.yaml.
func contractJobs(t *testing.T, h *contractHarness) {
	full := `{"externalId":"full","meetingUrl":"https://us02web.zoom.us/j/1?pwd=x","joinAt":"2999-11-20T14:00:00.5+01:00",
		"displayName":"Notes","webhooks":{"onStatusChange":"https://example.com/s","onFinalize":"https://example.com/f"},
		"metadata":{"a":{"b":[1,null]}},"autoLeave":{"afterSoloSeconds":120,"onBotDetected":true},"beyond":1}`
	made := h.call(t, 201, h.ada, "createJob", full)
	for name, want := range map[string]any{
		"externalId": "full", "status": "scheduled", "platform": "zoom-web", "joinAt": "2999-11-20T13:00:00.500Z", "attempts": 0.0,
		"startedAt": nil, "finalizedAt": nil, "manifestUri": nil, "failureCode": nil, "failureDetail": nil,
		"metadata": map[string]any{"a": map[string]any{"b": []any{1.0, nil}}},
		"autoLeave": map[string]any{
			"afterEntryDelaySeconds": 600.0, "afterSilenceSeconds": 1200.0, "afterSoloSeconds": 120.0, "afterMaxSeconds": 14400.0,
			"onBotDetected": true,
		},
	} {
		if got := made.field(t, name); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	id := made.text(t, "id")
	again := h.call(t, 200, h.ada, "createJob", `{"externalId":"full","meetingUrl":"https://other.example"}`)
	if again.header.Get("Idempotent-Replayed") != "true" || string(again.body) != string(made.body) {
		t.Errorf("the replay returned %s, want %s", again.body, made.body)
	}
	for _, other := range []string{h.bob, h.adasTest} { // another consumer, another mode
		if theirs := h.create(t, other, `{"externalId":"full","meetingUrl":"https://other.example"`+contractFuture+`}`); theirs == id {
			t.Error("two keys share a job")
		}
	}
	h.call(t, 400, h.ada, "createJob", `{"externalId":"","meetingUrl":"nowhere","joinAt":null}`)
	h.call(t, 204, h.ada, "cancelJob", "", id)
	h.call(t, 204, h.ada, "cancelJob", "", id) // an ended job does not change
	if status := h.awaitStatus(t, h.ada, id, job.Cancelled); status.field(t, "failureCode") != nil {
		t.Errorf("the cancelled job is %s", status.body)
	}
}

// contractPatch tests patchJob of api/openapi.yaml.
func contractPatch(t *testing.T, h *contractHarness) {
	id := h.create(t, h.ada, contractJob(contractFuture+
		`,"webhooks":{"onStatusChange":"https://example.com/s"},"autoLeave":{"afterSoloSeconds":7}`))
	changed := h.call(t, 200, h.ada, "patchJob", `{"joinAt":"2999-02-03T04:05:06+01:00","metadata":{"b":2},"autoLeave":{"afterSilenceSeconds":300},"webhooks":{"onStatusChange":null},"mood":"good"}`, id)
	h.call(t, 400, h.ada, "patchJob", `{"meetingUrl":"https://other.example"}`, id)
	h.call(t, 200, h.ada, "patchJob", `{"joinAt":"0001-01-01T00:00:00Z"}`, id)
	for name, want := range map[string]string{"joinAt": "2999-02-03T03:05:06.000Z", "meetingUrl": "https://meet.google.com/abc-defg-hij"} {
		if got := changed.text(t, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := fmt.Sprint(changed.field(t, "autoLeave"),
		changed.field(t,
			"metadata")); got != "map[afterEntryDelaySeconds:600 afterMaxSeconds:14400 afterSilenceSeconds:300 afterSoloSeconds:7 onBotDetected:false] map[b:2]" {
		t.Errorf("patched to %s", got)
	}
	same := h.call(t, 200, h.ada, "patchJob", `{}`, id)
	if string(same.body) != string(changed.body) {
		t.Errorf("an empty patch returned %s, want %s", same.body, changed.body)
	}
	h.call(t, 400, h.ada, "patchJob", `{"joinAt":null,"metadata":[],"autoLeave":{"afterSoloSeconds":0}}`, id)
	h.sendEvent(t, id, "lifecycle.joined", "")
	h.call(t, 409, h.ada, "patchJob", `{}`, id)
}

// contractLists tests the filters and pages of listJobs of api/openapi.yaml.
func contractLists(t *testing.T, h *contractHarness) {
	key, _ := h.newKey(t, "lister", job.Live)
	var made []string
	for i := range 5 {
		made = append(made,
			h.create(t, key, fmt.Sprintf(`{"externalId":"list %d","meetingUrl":"https://teams.live.com/%d","joinAt":"2999-01-0%dT00:00:00Z"}`, i, i,
				i+1)))
	}
	slices.Reverse(made)
	h.call(t, 204, key, "cancelJob", "", made[4])
	list := func(query string) (ids []string, next string) {
		page := h.call(t, 200, key, "listJobs?"+query, "")
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
		h.refuse(t, `"`+field+`"`, key, "listJobs?"+query, "")
	}
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
		err = h.Store().ChangeConsumer(t.Context(), ada.ID, func(c *account.Consumer) { c.CommandEvent = true })
	}
	if err != nil {
		t.Fatal(err)
	}
	id := h.create(t, h.ada, contractJob(contractFuture+`,"webhooks":{"onStatusChange":"`+hooks.URL+`"}`))
	h.sendEvent(t, id, "lifecycle.in_meeting", "")
	scheduled := h.create(t, h.ada, contractJob(contractFuture))
	ended := h.create(t, h.ada, contractJob(contractFuture))
	h.call(t, 204, h.ada, "cancelJob", "", ended)
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
		reply := h.call(t, 202, h.ada, op, verb.body, id)
		commands[reply.text(t, "commandId")] = verb.kind
		h.call(t, 409, h.ada, op, verb.body, ended)
		h.call(t, 409, h.ada, op, verb.body, teardown)
		early := h.do(t, contractRequest{op: op, in: []string{scheduled}, bearer: h.ada, body: verb.body})
		if waits := verb.body != "" || op == "requestRecordingPermission"; waits != (early.status == 202) || !waits && early.status != 409 {
			t.Errorf("%s before a bot was started: %d %s", op, early.status, early.body)
		}
		if verb.bad != "" {
			h.call(t, 400, h.ada, op, verb.bad, id)
		}
	}
	again := h.call(t, 202, h.ada, "requestRecordingPermission", "", id)
	if commands[again.text(t, "commandId")] != "request_recording_permission" {
		t.Errorf("a second request while the first is pending returned %s, of %v", again.body, commands)
	}
	beat := `{"jobId":"` + id + `","attempt":0`
	waiting := h.call(t, 200, contractToken(id, 0), "heartbeat", beat+`}`)
	sent, _ := waiting.field(t, "commands").([]any)
	for _, command := range sent {
		fields := command.(map[string]any)
		if kind := fields["kind"].(string); commands[fields["id"].(string)] != kind {
			t.Errorf("unexpected command %v", fields)
		}
	}
	acked := `,"acked":["` + strings.Join(slices.Collect(maps.Keys(commands)), `","`) + `"],"failed":{"` + again.text(t, "commandId") +
		`":"the host is away"}}`
	after := h.call(t, 200, contractToken(id, 0), "heartbeat", beat+acked)
	if rest, _ := after.field(t, "commands").([]any); len(sent) != len(verbs) || len(rest) > 0 {
		t.Errorf("%d commands were sent, %v remain after they were acknowledged", len(sent), rest)
	}
	await.Until(t, "the webhook of each outcome", func() bool { return hooks.count("bot.command_outcome") == len(verbs) })
	fresh := h.call(t, 202, h.ada, "requestRecordingPermission", "", id)
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
	manifest := h.call(t, 200, key, "getManifest", "", id)
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
		await.Until(t, "the webhook "+event, func() bool { return hooks.has(event) })
	}

	running := h.create(t, h.ada, contractJob(contractFuture))
	h.sendEvent(t, running, "lifecycle.recording_started", "")
	h.call(t, 409, h.ada, "deleteRecording", "", running)
	for range 2 { // a second deletion succeeds
		h.call(t, 204, key, "deleteRecording", "", id)
		h.call(t, 404, key, "getManifest", "", id)
		h.call(t, 404, key, "getMedia", "", id, media["name"].(string))
	}
}

// contractTranscribeAgain requests another transcription of a recording that is stored
// elsewhere, so that nothing is sent to the transcriber.
func contractTranscribeAgain(t *testing.T, h *contractHarness) {
	id := h.create(t, h.ada, contractJob(contractFuture))
	again := contractRequest{
		op: "transcribeAgain", in: []string{id}, bearer: h.ada, body: `{"model":"whisper-large","language":"de","keyterms":["Standin"]}`,
	}
	h.expect(t, 409, again)
	h.sendEvent(t, id, "lifecycle.in_meeting", "")
	h.sendEvent(t, id, "manifest.finalized", `{"manifestUri":"https://media.example/manifest.json"}`)
	await.Until(t, "the end of the first transcription", func() bool { return h.do(t, again).status == 202 })
	var kinds []string
	for _, entry := range h.call(t, 200, h.ada, "listTimeline", "", id).field(t, "entries").([]any) {
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
	test := h.create(t, h.adasTest, contractJob(`,"metadata":{"simulate":{"speed":100,"seconds":1}}`))
	h.awaitStatus(t, h.adasTest, test, job.Completed, job.Failed)
	await.Until(t, "another transcript of a test job", func() bool { // its texts may be being indexed
		return h.do(t, contractRequest{op: "transcribeAgain", in: []string{test}, bearer: h.adasTest, body: `{}`}).status == 202
	})
}

// contractTranscript requests the transcript of a finished recording, which is that
// of its captions.
func contractTranscript(t *testing.T, h *contractHarness, key, id string) {
	t.Helper()
	in := []string{id}
	h.call(t, 404, key, "getTranscript", "", in...)
	h.call(t, 400, key, "getTranscript?format=doc", "", in...)
	err := h.Store().Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return storetest.AddEntry(ctx, tx, job.TimelineEntry{
			ID: uuid.Must(uuid.NewV7()), JobID: uuid.MustParse(id), Source: job.SourceService, Kind: lifecycle.TranscriptFailed, Applied: true,
			From: job.Completed, To: job.Completed, Data: []byte(`{"detail":"the transcriber answered with status 401"}`),
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	missing := h.call(t, 404, key, "getTranscript", "", in...)
	if message := missing.field(t, "message"); !strings.HasSuffix(message.(string),
		"The transcription has failed: the transcriber answered with status 401.") {
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
	whole := h.call(t, 200, key, "getTranscript", "", in...)
	if segments := whole.field(t, "segments").([]any); len(segments) != 1 || segments[0].(map[string]any)["source"] != "captions" {
		t.Errorf("segments %v, want that of the caption", segments)
	}
	for _, request := range []contractRequest{
		{query: "format=vtt"}, {header: map[string]string{"Accept": "text/plain;q=0.5, text/vtt"}},
	} {
		request.op, request.in, request.bearer = "getTranscript", in, key
		if text := h.expect(t, 200, request); !strings.HasPrefix(string(text.body), "WEBVTT") ||
			!text.has("<v Eve &lt;b&gt;>hello &amp; goodbye") {
			t.Errorf("got %s, want WebVTT", text.body)
		}
	}
	if text := h.call(t, 200, key, "getTranscript?format=text", "", in...); !text.has("Eve <b>: hello & goodbye") {
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
	for _, query := range []string{"", "q=", "q=a&limit=0", "q=a&limit=101", "q=a&q=b", "q=" + strings.Repeat("a", 501)} {
		h.call(t, 400, h.bob, "searchTexts?"+query, "")
	}
	for _, search := range []struct {
		bearer, query string
		matches       int
	}{{h.bob, "q=BUDG", 2}, {h.bob, "q=budget&limit=1", 1}, {h.bob, "q=budget,+quarterly", 1}, {
		h.bob, "q=budget&speaker=ada+%3Cb", 1,
	}, {h.bob, "q=budget&speaker=bob", 0},
		{h.bob, "q=budget&createdFrom=2020-01-01T00:00:00Z", 2}, {
			h.bob, "q=budget&createdTo=2020-01-01T00:00:00Z", 0,
		}, {h.bob, "q=salary", 0}, {h.ada, "q=quarterly", 0}} {
		found := h.call(t, 200, search.bearer, "searchTexts?"+search.query, "").field(t, "matches").([]any)
		if len(found) != search.matches {
			t.Errorf("%s: found %v, want %d matches", search.query, found, search.matches)
		}
	}
}

// contractUsage reads the usage of a team whose jobs were simulated.
func contractUsage(t *testing.T, h *contractHarness, key string) {
	t.Helper()
	for _, query := range []string{"from=x", "to=2026-11-31", "from=2026-11-02&to=2026-11-01", "from=2020-01-01", "format=pdf"} {
		h.call(t, 400, key, "getUsage?"+query, "")
	}
	used := h.call(t, 200, key, "getUsage", "")
	total := used.field(t, "total").(map[string]any)
	if total["completed"].(float64) < 1 || total["recordedHours"].(float64) <= 0 || total["botMinutes"].(float64) <= 0 ||
		used.field(t, "keptBytes").(float64) <= 0 {
		t.Errorf("used %s", used.body)
	}
	table := strings.Split(strings.TrimSpace(string(h.call(t, 200, key, "getUsage?format=csv", "").body)), "\n")
	if days := used.field(t, "days").([]any); len(table) != len(days)+1 || !strings.HasPrefix(table[0], "date,jobs,completed,") ||
		strings.Count(table[1], ",") != 12 {
		t.Errorf("the table is %q", table)
	}
}

// contractLive follows a job that has ended.
func contractLive(t *testing.T, h *contractHarness, key, id string) {
	t.Helper()
	in := []string{id}
	h.expect(t, 400, contractRequest{op: "liveJob", in: in, bearer: key, header: map[string]string{"Last-Event-ID": "7"}})
	whole := string(h.call(t, 200, key, "liveJob", "", in...).body)
	if !strings.Contains(whole, "event: state\ndata: {") ||
		!strings.HasSuffix(whole, "event: end\ndata: {\"type\":\"end\",\"status\":\"completed\"}\n\n") {
		t.Errorf("got %s, want all states and the end", whole)
	}
	if got := string(h.call(t, 200, key, "liveJob?follow=false", "", in...).body); got != whole {
		t.Errorf("without following: got %s, want %s", got, whole)
	}
	h.call(t, 400, key, "liveJob?follow=no", "", in...)
	_, last, _ := strings.Cut(whole[strings.LastIndex(whole, "id: "):], " ")
	last, _, _ = strings.Cut(last, "\n")
	before, _ := strings.CutSuffix(last, ".end")
	cut := string(h.expect(t, 200, contractRequest{
		op: "liveJob", in: in, bearer: key, header: map[string]string{"Last-Event-ID": before},
	}).body)
	if before == last || strings.Count(cut, "event: ") != 1 || !strings.Contains(cut, "event: end\n") {
		t.Errorf("after the event before the end: %s", cut)
	}
	h.expect(t, 204, contractRequest{op: "liveJob", in: in, bearer: key, header: map[string]string{"Last-Event-ID": last}})
}

// contractMedia requests a file with the range and conditional headers of RFC 9110.
func contractMedia(t *testing.T, h *contractHarness, key, id, name string, size int) {
	t.Helper()
	in := []string{id, name}
	whole := h.call(t, 200, key, "getMedia", "", in...)
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
		h.call(t, 404, key, op, "", id, "other.mp4")
	}
}

// contractHistory tests the timeline, the deliveries and redeliveries.
func contractHistory(t *testing.T, h *contractHarness) {
	hooks := newContractHooks(t, h.checker)
	hooks.status = http.StatusGone // the first delivery fails permanently
	id := h.create(t, h.ada, contractJob(contractFuture+`,"webhooks":{"onStatusChange":"`+hooks.URL+`"}`))
	h.sendEvent(t, id, "lifecycle.joined", "")
	h.sendEvent(t, id, "lifecycle.joined", "")
	h.call(t, 202, h.ada, "pauseRecording", "", id)

	first := h.call(t, 200, h.ada, "listTimeline?limit=1", "", id)
	rest := h.call(t, 200, h.ada, "listTimeline?cursor="+first.text(t, "nextCursor"), "", id)
	h.call(t, 400, h.ada, "listJobs?cursor="+first.text(t, "nextCursor"), "")
	text := string(first.body) + string(rest.body)
	for _, want := range []string{`"kind":"lifecycle.joined"`, `"reason":"out_of_order"`, `"kind":"command_queued"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the timeline does not contain %s: %s", want, text)
		}
	}
	var delivery string
	await.Until(t, "a failed delivery", func() bool {
		page := h.call(t, 200, h.ada, "listDeliveries", "", id)
		one, ok := page.field(t, "deliveries").([]any)
		if !ok || len(one) == 0 {
			return false
		}
		delivery = one[0].(map[string]any)["deliveryId"].(string)
		return one[0].(map[string]any)["state"] == "failed"
	})
	at := []string{id, delivery}
	h.call(t, 404, h.ada, "redeliver", "", id, "dlv_x")
	hooks.mu.Lock() // the receiver does not respond, so the delivery stays in progress
	h.call(t, 202, h.ada, "redeliver", "", at...)
	h.call(t, 409, h.ada, "redeliver", "", at...)
	hooks.status = http.StatusOK
	hooks.mu.Unlock()
	await.Until(t, "the redelivery", func() bool {
		page := h.call(t, 200, h.ada, "listDeliveries?limit=5", "", id)
		return page.has(`"state":"delivered"`)
	})
	for _, op := range []string{"listTimeline", "listDeliveries"} {
		h.call(t, 400, h.ada, op+"?cursor=%20", "", id)
		h.call(t, 400, h.ada, op+"?limit=-1", "", id)
	}
}
