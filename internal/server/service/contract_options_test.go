package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/store"
	"standin/internal/testing/await"
)

// contractOptions tests the typed options of createJob and patchJob: they are checked,
// win over the metadata keys that are their aliases, and are in the settings and the
// details.
func contractOptions(t *testing.T, h *contractHarness) {
	all := `"title":"Weekly\n review","recording":{"mode":"audio","layout":"gallery"},"captions":{"enabled":true,"language":"de-DE"},"chat":true,` +
		`"transcript":{"enabled":false,"language":"de"},"consent":{"required":false},"metadata":{"captions":"maybe","chat":false,"captionsLanguage":"fr","recordingPermission":"required"}`
	made := h.call(t, 201, h.ada, "createJob",
		`{"externalId":"options","meetingUrl":"https://meet.google.com/opt-ions-abc","joinAt":"2999-01-01T00:00:00Z",`+all+`}`)
	if warning := made.header.Get("X-Standin-Warning"); warning != "" || made.has("Weekly") {
		t.Errorf("warning %q about keys that options replace; the job is %s", warning, made.body)
	}
	id := made.text(t, "id")
	want := `"title":"Weekly review","recording":{"mode":"audio","layout":"gallery"},"captions":{"enabled":true,"language":"de-DE"},"chat":true,"transcript":{"enabled":false,"language":"de"},"consent":{"required":false}}`
	if settings := h.call(t, 200, h.ada, "getJobSettings", "", id); !strings.HasSuffix(strings.TrimSpace(string(settings.body)), want) {
		t.Errorf("settings %s, want %s", settings.body, want)
	}
	details := h.call(t, 200, h.ada, "getJobDetails", "", id)
	if details.text(t, "title") != "Weekly review" || !details.has(`"options":{`+want) || details.field(t, "endedAt") != nil ||
		details.field(t, "recording") != nil {
		t.Errorf("details %s", details.body)
	}
	for body, field := range map[string]string{
		`"title":7`: `"title"`, `"title":"` + strings.Repeat("x", 1001) + `"`: `"title"`, `"captions":true`: `"captions"`,
		`"captions":{"enabled":"yes"}`: `"captions","enabled"`, `"captions":{"language":"German, please"}`: `"captions","language"`,
		`"chat":{}`: `"chat"`, `"chat":null`: `"chat"`, `"transcript":{"language":""}`: `"transcript","language"`,
		`"consent":{"required":"required"}`: `"consent","required"`, `"recording":{"mode":"film"}`: `"recording","mode"`,
		`"simulate":{"outcome":"success"}`: `"simulate"`, // needs a test key
	} {
		h.refuse(t, field, h.ada, "createJob", contractJob(contractFuture+","+body))
		h.refuse(t, field, h.ada, "patchJob", "{"+body+"}", id)
	}
	for body, field := range map[string]string{
		`"outcome":"nonsense"`: `"outcome"`, `"seconds":3601`: `"seconds"`, `"speed":0`: `"speed"`, `"permission":"maybe"`: `"permission"`,
	} {
		h.refuse(t, `"simulate",`+field, h.adasTest, "createJob", contractJob(`,"simulate":{`+body+`}`))
	}
	ignored := h.call(t, 201, h.ada, "createJob", contractJob(contractFuture+`,"captions":{"enable":true}`))
	if got := ignored.header.Get("X-Ignored-Fields"); got != "captions.enable" {
		t.Errorf("ignored fields %q", got)
	}
	patched := `{"title":null,"captions":{"enabled":false},"chat":false,"consent":{"required":true}}`
	h.call(t, 200, h.ada, "patchJob", patched, id)
	want = `"recording":{"mode":"audio","layout":"gallery"},"captions":{"enabled":false,"language":"de-DE"},"chat":false,"transcript":{"enabled":false,"language":"de"},"consent":{"required":true}}`
	if settings := h.call(t, 200, h.ada, "getJobSettings", "", id); settings.has("title") ||
		!strings.HasSuffix(strings.TrimSpace(string(settings.body)), want) {
		t.Errorf("patched settings %s, want %s", settings.body, want)
	}
	timeline := h.call(t, 200, h.ada, "listTimeline", "", id)
	if !timeline.has(`"changed":["title","captions","chat","consent"]`) {
		t.Errorf("the timeline does not name what changed: %s", timeline.body)
	}

	// They happen: the simulated host does not agree, and nothing is recorded.
	consent := h.create(t, h.adasTest, contractJob(`,"consent":{"required":true},"simulate":{"outcome":"permission_denied","speed":100}`))
	if ended := h.awaitStatus(t, h.adasTest, consent, job.Completed, job.Failed); ended.text(t, "failureCode") != "recording_disabled" {
		t.Errorf("without the consent that it needs: %s", ended.body)
	}
	captioned := h.create(t, h.adasTest, contractJob(`,"captions":{"enabled":true,"language":"de-DE"},"simulate":{"seconds":20,"speed":100},"metadata":{"simulate":"lobby_timeout"}`))
	h.awaitStatus(t, h.adasTest, captioned, job.Completed)
	words := h.call(t, 200, h.adasTest, "getTranscript", "", captioned)
	if words.text(t, "language") != "de-DE" {
		t.Errorf("captions in another language: %.300s", words.body)
	}
	details = h.call(t, 200, h.adasTest, "getJobDetails", "", captioned)
	if transcript, _ := details.field(t, "transcript").(map[string]any); transcript["uri"] != h.BaseURL()+"/api/v1/jobs/"+captioned+
		"/transcript" || transcript["source"] != "captions" {
		t.Errorf("the transcript in the details is %v", transcript)
	}
}

// contractStartBefore tests the option startBefore, and the end of an invite.
func contractStartBefore(t *testing.T, h *contractHarness) {
	started := func(id, want string) {
		t.Helper()
		settings := h.call(t, 200, h.ada, "getJobSettings", "", id)
		if want == "" && settings.has("startBefore") || want != "" && settings.text(t, "startBefore") != want {
			t.Errorf("settings %s, want startBefore %q", settings.body, want)
		}
	}
	for _, body := range []string{
		contractFuture + `,"startBefore":"2999-01-01T01:00:00+01:00"`, `,"startBefore":"2020-01-01T00:00:00Z"`, `,"startBefore":"soon"`,
	} {
		h.refuse(t, `"startBefore"`, h.ada, "createJob", contractJob(body))
	}
	id := h.create(t, h.ada, contractJob(contractFuture+`,"startBefore":"2999-01-01T01:20+0100"`))
	started(id, "2999-01-01T00:20:00.000Z")
	h.call(t, 200, h.ada, "patchJob", `{"joinAt":"2999-01-01T10:00:00Z"}`, id)
	started(id, "2999-01-01T10:20:00.000Z")
	h.refuse(t, `"startBefore"`, h.ada, "patchJob", `{"startBefore":"2999-01-01T10:00:00Z"}`, id)
	h.call(t, 200, h.ada, "patchJob", `{"joinAt":"2999-01-02T00:00:00Z","startBefore":"2999-01-02T03:00:00Z"}`, id)
	if details := h.call(t, 200, h.ada, "getJobDetails", "", id); !details.has(`"options":{"startBefore":"2999-01-02T03:00:00.000Z"}`) {
		t.Errorf("details %s", details.body)
	}
	h.call(t, 200, h.ada, "patchJob", `{"startBefore":null}`, id)
	started(id, "")

	invite := `{"organizerEmail":"ada@example.com","meetingUrl":"https://zoom.us/j/64","platform":"zoom-web",` +
		`"joinAt":"2020-01-01T00:00:00Z","endsAt":"%s"}`
	h.invite(t, 400, fmt.Sprintf(invite, "soon"))
	invited := h.invite(t, 201, fmt.Sprintf(invite, "2020-01-01T01:00:00Z")).text(t, "jobId")
	late := contractJob(`,"joinAt":"2020-01-01T00:00:00Z","startBefore":"2020-01-01T01:00:00Z"`)
	for id, key := range map[string]string{invited: h.ada, h.create(t, h.ada, late): h.ada, h.create(t, h.adasTest, late): h.adasTest} {
		failed := h.awaitStatus(t, key, id, job.Failed)
		if failed.text(t, "failureCode") != "dispatch_timeout" ||
			failed.text(t, "failureDetail") != "the meeting was over at 2020-01-01T01:00:00Z" {
			t.Errorf("after startBefore: %s", failed.body)
		}
	}
}

// contractDetails tests the details of a finished recording and of failed jobs, alone and
// in lists.
func contractDetails(t *testing.T, h *contractHarness, key, id string) {
	t.Helper()
	details := h.call(t, 200, key, "getJobDetails", "", id)
	var got struct {
		Status, DisplayName string
		EndedAt             time.Time
		DurationSeconds     float64
		Participants        []struct{ ID, Name string }
		Outcome             struct{ Title, EndReason string }
		Recording           struct {
			ManifestURI, MediaURI string
			Bytes                 int64
		}
	}
	if err := json.Unmarshal(details.body, &got); err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(got.Participants))
	for i, p := range got.Participants {
		names[i] = p.Name
	}
	slices.Sort(names)
	if got.Status != "completed" || got.DisplayName != "Standin" || time.Since(got.EndedAt) > time.Hour || got.DurationSeconds < 1 ||
		!slices.Equal(names, []string{"Ada Quill", "Ben Okafor", "Callum Reid"}) ||
		got.Outcome.EndReason != "host_ended" || got.Outcome.Title == "" {
		t.Errorf("details %s", details.body)
	}
	media, _ := strings.CutPrefix(got.Recording.MediaURI, h.BaseURL()+"/api/v1/jobs/"+id+"/media/")
	if video := h.call(t, 200, key, "getMedia", "", id, media); got.Recording.Bytes < int64(len(video.body)) {
		t.Errorf("a recording of %d bytes has a video of %d", got.Recording.Bytes, len(video.body))
	}

	consumer, _ := h.newKey(t, uuid.NewString(), job.Test)
	failed := h.create(t, consumer, contractJob(`,"simulate":{"outcome":"lobby_timeout","speed":100},"metadata":{"subject":"Standup"}`))
	h.awaitStatus(t, consumer, failed, job.Failed)
	page := h.call(t, 200, consumer, "listJobs?expand=details", "")
	listed, _ := page.field(t, "jobs").([]any)
	if len(listed) != 1 {
		t.Fatalf("jobs %s", page.body)
	}
	one := h.call(t, 200, consumer, "getJobDetails", "", failed)
	var alone any
	if err := json.Unmarshal(one.body, &alone); err != nil || fmt.Sprint(alone) != fmt.Sprint(listed[0]) {
		t.Errorf("details in the list %v, alone %v (%v)", listed[0], alone, err)
	}
	outcome, _ := one.field(t, "outcome").(map[string]any)
	if one.text(t, "title") != "Standup" || outcome["cause"] != "meeting" || outcome["stage"] != "while the bot was waiting in the lobby" ||
		outcome["action"] == nil || one.field(t, "endedAt") == nil {
		t.Errorf("details of a failed job: %s", one.body)
	}
	plain := h.call(t, 200, consumer, "listJobs", "")
	if plain.has("displayName") {
		t.Errorf("details that nobody asked for: %s", plain.body)
	}
	h.call(t, 400, consumer, "listJobs?expand=everything", "")
	for range 2 { // a deletion removes who was there
		h.call(t, 204, key, "deleteRecording", "", id)
		after := h.call(t, 200, key, "getJobDetails", "", id)
		if after.has("Ada Quill") || after.field(t, "recording") != nil || after.field(t, "transcript") != nil {
			t.Errorf("details after the deletion: %s", after.body)
		}
	}
}

// contractBatches tests createJobs: a result for each item, in order.
func contractBatches(t *testing.T, h *contractHarness) {
	first, same := contractJob(contractFuture), `{"externalId":"batch","meetingUrl":"https://meet.google.com/new"`+contractFuture+`}`
	items := []string{
		first, `{"externalId":"bad","meetingUrl":"nowhere","autoLeave":{"afterSoloSeconds":0}}`, same, `7`, same, `{"externalId":"batch"}`,
		`{"meetingUrl":"https://meet.google.com/abc-defg-hij","mood":1}`,
	}
	body := `{"jobs":[` + strings.Join(items, ",") + `]}`
	type result struct {
		Status   int
		Job      struct{ ID, ExternalID string }
		Replayed bool
		Warning  string
		Error    struct {
			Error  string
			Issues []struct{ Path []string }
		}
	}
	send := func() (results []result, header string) {
		reply := h.call(t, 200, h.ada, "createJobs", body)
		var answer struct{ Results []result }
		if err := json.Unmarshal(reply.body, &answer); err != nil || len(answer.Results) != len(items) {
			t.Fatalf("results %s (%v)", reply.body, err)
		}
		return answer.Results, reply.header.Get("X-Ignored-Fields")
	}
	results, ignored := send()
	var statuses []int
	for _, r := range results {
		statuses = append(statuses, r.Status)
	}
	if want := []int{201, 400, 201, 400, 200, 200, 400}; !slices.Equal(statuses, want) || ignored != "jobs.6.mood" {
		t.Errorf("statuses %v, want %v; ignored %q", statuses, want, ignored)
	}
	if bad := results[1].Error; bad.Error != "invalid_input" || len(bad.Issues) != 2 ||
		strings.Join(bad.Issues[0].Path, ".") != "autoLeave.afterSoloSeconds" {
		t.Errorf("the error of an item is %+v", bad)
	}
	if a, b := results[2], results[4]; a.Job.ID != b.Job.ID || a.Replayed || !b.Replayed || a.Warning == "" || results[5].Job.ID != a.Job.ID {
		t.Errorf("the same job twice: %+v, %+v", a, b)
	}
	if again, _ := send(); again[0].Job.ID != results[0].Job.ID || again[0].Status != 200 || again[1].Status != 400 {
		t.Errorf("sent again: %+v", again)
	}
	for _, refused := range []string{`{}`, `{"jobs":[]}`, `{"jobs":{}}`, `{"jobs":[` + strings.Repeat("{},", 100) + `{}]}`} {
		h.call(t, 400, h.ada, "createJobs", refused)
	}
}

// contractSeries tests invites for the occurrences of a recurring event, a new subject,
// and the warning about a link.
func contractSeries(t *testing.T, h *contractHarness) {
	invite := func(status int, more string) contractResponse {
		t.Helper()
		return h.invite(t, status, `{"organizerEmail":"ada@example.com","platform":"zoom-web","icalUid":"series",`+more+`}`)
	}
	link := `"meetingUrl":"https://zoom.us/j/81234567890",`
	first := invite(201, link+`"joinAt":"2999-06-01T10:00:00Z","recurrenceId":"20320601T100000Z"`).text(t, "jobId")
	second := invite(201, link+`"joinAt":"2999-06-08T10:00:00Z","recurrenceId":"20320608T100000Z"`).text(t, "jobId")
	moved := invite(200, link+`"joinAt":"2999-06-02T10:00:00Z","recurrenceId":"20320601T100000Z","subject":"Moved"`)
	if first == second || moved.text(t, "jobId") != first || moved.text(t, "kind") != "deduped" {
		t.Errorf("occurrences %s and %s; moved %s", first, second, moved.body)
	}
	for id, want := range map[string]string{first: "2999-06-02T10:00:00.000Z", second: "2999-06-08T10:00:00.000Z"} {
		if got := h.call(t, 200, h.ada, "getJob", "", id).text(t, "joinAt"); got != want {
			t.Errorf("joinAt %s, want %s", got, want)
		}
	}
	// An invite that lacks the recurrenceId, or begins to have it, is for the same occurrence.
	without := invite(200, link+`"joinAt":"2999-06-08T10:00:00Z"`)
	again := invite(200, link+`"joinAt":"2999-06-09T10:00:00Z","recurrenceId":"20320608T100000Z"`)
	if without.text(t, "jobId") != second || again.text(t, "jobId") != second {
		t.Errorf("without the recurrenceId: %s; with it again: %s; want %s", without.body, again.body, second)
	}

	details := h.call(t, 200, h.ada, "getJobDetails", "", first)
	if details.text(t, "title") != "Moved" {
		t.Errorf("the title after a new subject: %s", details.body)
	}
	h.call(t, 200, h.ada, "patchJob", `{"metadata":{"own":1}}`, first)
	invite(200, link+`"joinAt":"2999-06-02T10:00:00Z","recurrenceId":"20320601T100000Z","subject":"Again"`)
	if kept := h.call(t, 200, h.ada, "getJob", "", first); fmt.Sprint(kept.field(t, "metadata")) != "map[own:1]" {
		t.Errorf("the consumer's metadata after an invite: %s", kept.body)
	}
}

// contractSimulatedLive tests the live stream of a simulated meeting: participants and
// speakers, and each event with its name, in the order of time.
func contractSimulatedLive(t *testing.T, h *contractHarness) {
	id := h.create(t, h.adasTest, contractJob(`,"captions":{"enabled":true},"chat":true,"simulate":{"seconds":60,"speed":10}`))
	h.awaitStatus(t, h.adasTest, id, job.RecordingStarted)
	running := h.call(t, 200, h.adasTest, "getJobDetails", "", id)
	live := string(h.call(t, 200, h.adasTest, "liveJob", "", id).body)
	for _, want := range []string{
		`"type":"participants","participants":[{"id":"ada","name":"Ada Quill"},{"id":"ben","name":"Ben Okafor"},`,
		`"type":"speaking","participantIds":["ada"]`, `"type":"speaking","participantIds":["ben"]`,
		`"type":"state"`, `"type":"caption"`, `"type":"chat"`,
	} {
		if !strings.Contains(live, want) {
			t.Errorf("no %s in the stream", want)
		}
	}
	if running.has(`"status":"recording_started"`) && !running.has(`"participants":[`) {
		t.Errorf("details of a running job: %s", running.body)
	}
	// The order is that of arrival until the listeners that followed the meeting have left.
	await.Until(t, "events in the order of their times", func() bool {
		whole := string(h.call(t, 200, h.adasTest, "liveJob", "", id).body)
		started, text := strings.Index(whole, `"status":"recording_started"`), strings.Index(whole, "event: caption")
		stopped, completed := strings.Index(whole, `"status":"recording_stopped"`), strings.Index(whole, `"status":"completed"`)
		return started >= 0 && started < text && text < stopped && strings.LastIndex(whole, "event: chat") < completed
	})
}

// contractPending tests that a job that waits for capacity is scheduled again when it is
// moved into the future.
func contractPending(t *testing.T, h *contractHarness) {
	id := h.create(t, h.bob, contractJob(contractFuture))
	err := h.Store().Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.LockJob(ctx, uuid.MustParse(id))
		if err != nil {
			return err
		}
		r.Status = job.Pending
		return tx.SaveJob(ctx, store.JobChange{Record: r})
	})
	if err != nil {
		t.Fatal(err)
	}
	h.call(t, 200, h.bob, "patchJob", `{"joinAt":"2999-02-01T00:00:00Z"}`, id)
	if got := h.call(t, 200, h.bob, "getJob", "", id); got.text(t, "status") != "scheduled" {
		t.Errorf("moved: %s", got.body)
	}
}
