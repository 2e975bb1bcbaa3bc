package service_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/jobs/zoomstream"
)

// contractZoomEvent returns an event of Zoom that is signed with a secret token at a time.
func contractZoomEvent(token, body string, at time.Time) contractRequest {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	return contractRequest{op: "receiveZoom", body: body, header: map[string]string{
		"x-zm-request-timestamp": timestamp, "x-zm-signature": "v0=" + zoomstream.Sign(token, "v0:"+timestamp+":"+body),
	}}
}

// contractZoom tests the apps of Zoom and the events that Zoom sends for them.
func contractZoom(t *testing.T, h *contractHarness) {
	key, _ := h.newKey(t, "zoomers", job.Live)
	other, _ := h.newKey(t, "zoom strangers", job.Live)
	app := `{"clientId":"client","clientSecret":"very secret","secretToken":"token of zoomers","record":true}`
	created := h.call(t, 201, key, "createZoomApp", app)
	id := created.text(t, "id")
	if created.has("secret") || created.has("token") || !created.has(`"heardAt":null`) || created.text(t, "label") != "client" {
		t.Errorf("created %s", created.body)
	}
	h.call(t, 409, key, "createZoomApp", app)
	h.call(t, 409, h.adasTest, "createZoomApp", app)
	for _, invalid := range []string{`{"clientId":"x","clientSecret":"x"}`, `{"clientId":"","clientSecret":"x","secretToken":"x"}`} {
		h.call(t, 400, key, "createZoomApp", invalid)
	}
	h.expect(t, 400, contractRequest{op: "listZoomApps", query: "limit=x", bearer: key})
	h.call(t, 404, other, "deleteZoomApp", "", id)

	now, validation := time.Now(), `{"event":"endpoint.url_validation","payload":{"plainToken":"abc"}}`
	if answer := h.expect(t, 200, contractZoomEvent("token of zoomers", validation, now)); answer.text(t, "plainToken") != "abc" ||
		answer.text(t, "encryptedToken") != zoomstream.Sign("token of zoomers", "abc") {
		t.Errorf("the answer to a validation: %s", answer.body)
	}
	for what, forged := range map[string]contractRequest{
		"another token": contractZoomEvent("token", validation, now),
		"old":           contractZoomEvent("token of zoomers", validation, now.Add(-6*time.Minute)),
		"unsigned":      {op: "receiveZoom", body: validation},
	} {
		if reply := h.expect(t, 401, forged); reply.has("encryptedToken") {
			t.Errorf("%s: %s", what, reply.body)
		}
	}
	for _, invalid := range []string{"{", `{"event":"meeting.rtms_started","payload":{}}`, `{"event":"meeting.rtms_started","payload":{"rtms_stream_id":"a\u0000","meeting_uuid":"u"}}`} {
		h.expect(t, 400, contractZoomEvent("token of zoomers", invalid, now))
	}
	h.expect(t, 200, contractZoomEvent("token of zoomers", `{"event":"meeting.ended","payload":null}`, now))
	if reply := h.call(t, 200, key, "listZoomApps", ""); reply.has(`"heardAt":null`) || !reply.has(id) || reply.has("very secret") {
		t.Errorf("the apps: %s", reply.body)
	}
	if reply := h.call(t, 200, other, "listZoomApps", ""); reply.has(id) {
		t.Errorf("the apps of another team: %s", reply.body)
	}

	// A stream gets a job, the same one however often it is announced, for whichever shape the event has.
	uuid := "4444AAAi/AAA=="
	for _, shape := range []string{
		`{"event":"meeting.rtms_started","payload":{"meeting_uuid":%q,"meeting_id":999888777,"rtms_stream_id":"s1","server_urls":"wss://127.0.0.1:1"}}`,
		`{"event":"webinar.rtms_started","payload":{"object":{"meeting_uuid":%q,"meeting_id":"999888777","rtms_stream_id":"s1","server_urls":"wss://127.0.0.1:1"}}}`,
	} {
		h.expect(t, 200, contractZoomEvent("token of zoomers", fmt.Sprintf(shape, uuid), now))
	}
	jobs := h.expect(t, 200, contractRequest{op: "listJobs", bearer: key, query: "externalId=zoom:4444AAAi%2FAAA%3D%3D"})
	if !jobs.has(`"platform":"zoom-sdk"`) || !jobs.has("https://zoom.us/j/999888777") {
		t.Errorf("the job of a stream: %s", jobs.body)
	}
	var found struct{ Jobs []struct{ ID string } }
	if err := json.Unmarshal(jobs.body, &found); err != nil || len(found.Jobs) != 1 {
		t.Fatalf("the jobs of a stream: %s, %v", jobs.body, err)
	}
	h.awaitStatus(t, key, found.Jobs[0].ID, job.Dispatching)
	// While the job's bot may be there, Zoom is to tell again that the recording must be deleted.
	revoked := contractZoomEvent("token of zoomers", `{"event":"meeting.rtms_stopped","payload":{"rtms_stream_id":"s1","stop_reason":8}}`, now)
	h.expect(t, 409, revoked)
	h.call(t, 204, key, "cancelJob", "", found.Jobs[0].ID)
	h.expect(t, 200, contractZoomEvent("token of zoomers", `{"event":"meeting.rtms_stopped","payload":{"rtms_stream_id":"unknown","stop_reason":8}}`, now))

	// A job that is due waits for its stream, also if that event does not tell the number of the meeting.
	id2 := h.create(t, key, `{"externalId":"waits","meetingUrl":"https://zoom.us/j/111222333","platform":"zoom-sdk"}`)
	h.awaitStatus(t, key, id2, job.Pending)
	h.expect(t, 200, contractZoomEvent("token of zoomers", `{"event":"meeting.started","payload":{"object":{"uuid":"u2","id":"111222333"}}}`, now))
	h.expect(t, 200, contractZoomEvent("token of zoomers", `{"event":"meeting.rtms_started","payload":{"meeting_uuid":"u2","rtms_stream_id":"s3","server_urls":"wss://127.0.0.1:1"}}`, now))
	h.awaitStatus(t, key, id2, job.Dispatching)
	h.call(t, 204, key, "cancelJob", "", id2)
	stopped := `{"event":"meeting.rtms_stopped","payload":{"rtms_stream_id":"s3","stop_reason":6}}`
	h.expect(t, 200, contractZoomEvent("token of zoomers", stopped, now))
	late := h.create(t, key, `{"externalId":"late","meetingUrl":"https://zoom.us/j/111222333","platform":"zoom-sdk"}`)
	h.awaitStatus(t, key, late, job.Pending) // the stream has ended
	h.call(t, 204, key, "cancelJob", "", late)
	id3 := h.create(t, other, `{"externalId":"no app","meetingUrl":"https://zoom.us/j/111222333","platform":"zoom-sdk"}`)
	if failed := h.awaitStatus(t, other, id3, job.Failed); !failed.has("internal_error") || !failed.has("no credentials of an app of Zoom") {
		t.Errorf("a job without an app: %s", failed.body)
	}
	h.call(t, 204, key, "deleteZoomApp", "", id)
	h.call(t, 404, key, "deleteZoomApp", "", id)
	h.expect(t, 401, contractZoomEvent("token of zoomers", validation, now))
}
