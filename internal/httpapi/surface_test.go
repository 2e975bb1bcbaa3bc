package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/httpapi"
	"standin/internal/httpmw"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/recording"
)

// surfaceCase is a request with the expected response.
type surfaceCase struct {
	name     string
	request  request
	route    string // path template; empty if the request matches no operation
	status   int
	contains []string          // in the body
	excludes []string          // from the body
	header   map[string]string // exact values
}

// run sends each request and checks the response against the case and against the
// description.
func (s *surface) run(t *testing.T, tests []surfaceCase) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := s.send(t, test.request)
			if got.status != test.status {
				t.Fatalf("got %d %s, want %d", got.status, got.body, test.status)
			}
			for _, text := range test.contains {
				if !strings.Contains(got.body, text) {
					t.Errorf("the body lacks %q: %s", text, got.body)
				}
			}
			for _, text := range append(test.excludes, secret, "goroutine") {
				if strings.Contains(got.body, text) {
					t.Errorf("the body contains %q: %s", text, got.body)
				}
			}
			for name, value := range test.header {
				if got.header.Get(name) != value {
					t.Errorf("%s is %q, want %q", name, got.header.Get(name), value)
				}
			}
			if !strings.HasPrefix(got.header.Get(httpmw.RequestIDHeader), "req_") {
				t.Errorf("the request id is %q", got.header.Get(httpmw.RequestIDHeader))
			}
			if got.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Error("the header X-Content-Type-Options is missing")
			}
			if test.status >= 400 && got.body != "" && got.header.Get("Content-Type") != "application/json" {
				t.Errorf("the content type of the error is %q", got.header.Get("Content-Type"))
			}
			err := error(nil)
			if test.route == "" {
				err = s.checker.Error([]byte(got.body))
			} else {
				err = s.checker.Response(test.request.method, test.route, got.status, []byte(got.body))
			}
			if err != nil {
				t.Errorf("the response does not match the description: %v\n%s", err, got.body)
			}
		})
	}
}

const (
	jobsPath      = "/api/v1/jobs"
	jobRoute      = "/api/v1/jobs/{id}"
	manifestRoute = "/api/v1/jobs/{id}/manifest"
	mediaRoute    = "/api/v1/jobs/{id}/media/{name}"
	uploadRoute   = "/api/v1/ingest/media/{jobId}/{attempt}/{name}"

	minimalJob = `{"externalId":"standup","meetingUrl":"https://meet.google.com/abc-defg-hij"}`
)

func TestConsumerSurface(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	own := jobsPath + "/" + adasJob.String()
	unauthorized := []string{`"error":"unauthorized"`}
	challenge := map[string]string{"WWW-Authenticate": "Bearer", "Cache-Control": "no-store"}
	notFound := []string{`"error":"not_found"`}
	s.run(t, []surfaceCase{
		{"create", request{"POST", jobsPath, adasKey, nil, minimalJob}, jobsPath, 201,
			[]string{`"externalId":"standup"`, `"status":"scheduled"`, `"attempts":0`, `"metadata":{}`, `"startedAt":null`}, nil,
			map[string]string{"Content-Type": "application/json", "Idempotent-Replayed": "", "X-Standin-Warning": "", "Cache-Control": "no-store"}},
		{"create with a wrapped URL", request{"POST", jobsPath, adasKey, nil, `{"externalId":"wrapped","meetingUrl":"https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fzoom.us%2Fj%2F1&data=x"}`}, jobsPath, 201,
			[]string{`"platform":"zoom-web"`, "safelinks"}, nil, map[string]string{"X-Standin-Warning": ""}},
		{"create with a URL without a meeting", request{"POST", jobsPath, adasKey, nil, `{"externalId":"numbers","meetingUrl":"https://zoom.us/u/abc"}`}, jobsPath, 201,
			[]string{`"platform":"zoom-web"`}, nil, map[string]string{"X-Standin-Warning": "This Zoom link lists telephone numbers. The link to join the meeting has /j/ in it."}},
		{"create again with an invalid URL", request{"POST", jobsPath, adasKey, nil, `{"externalId":"done","meetingUrl":"nope","joinAt":7}`}, jobsPath, 200,
			[]string{adasJob.String()}, nil, map[string]string{"Idempotent-Replayed": "true"}},
		{"create with unknown fields of objects", request{"POST", jobsPath, adasKey, nil, `{"externalId":"typo 2","meetingUrl":"https://zoom.us/j/1","webhooks":{"on_status_change":"https://a.test","onFinalise":"https://a.test"},"autoLeave":{"after_solo_seconds":3}}`}, jobsPath, 201,
			nil, nil, map[string]string{"X-Ignored-Fields": "autoLeave.after_solo_seconds, webhooks.onFinalise, webhooks.on_status_change", "X-Standin-Warning": ""}},
		{"create with metadata that is nearly right", request{"POST", jobsPath, adasKey, nil, `{"externalId":"nearly","meetingUrl":"https://zoom.us/u/abc","metadata":{"recordingPermission":"Required","captions":"true"}}`}, jobsPath, 201,
			[]string{`"recordingPermission":"Required"`}, nil, map[string]string{"X-Standin-Warning": "metadata.captions is ignored: it is not true or false. " +
				`metadata.recordingPermission is not "required" or false, so the bot asks for permission. ` +
				"This Zoom link lists telephone numbers. The link to join the meeting has /j/ in it."}},
		{"create with another job for the meeting", request{"POST", jobsPath, adasKey, nil, `{"externalId":"second","meetingUrl":"https://zoom.us/j/777"}`}, jobsPath, 201,
			nil, nil, map[string]string{"X-Standin-Warning": "Job " + adasJob.String() + " is for the same meeting at this time: both send a bot."}},
		{"list by two metadata values", request{"GET", jobsPath + "?metadata.a=1&metadata.a=2", adasKey, nil, ""}, jobsPath, 400, []string{`"path":["metadata.a"]`}, nil, nil},
		{"redeliver without a filter", request{"POST", "/api/v1/webhook-deliveries/redeliver", adasKey, nil, `{}`}, "/api/v1/webhook-deliveries/redeliver", 400, []string{`"code":"minProperties"`, "at least one known field"}, nil, nil},
		{"create with the scheme Token", request{"POST", jobsPath, "", map[string]string{"Authorization": "Token " + adasKey}, minimalJob}, jobsPath, 401, []string{"Missing or invalid API key."}, nil, challenge},
		{"create as a form type", request{"POST", jobsPath, adasKey, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, minimalJob2}, jobsPath, 201, nil, nil, nil},
		{"create with a lower-case scheme", request{"POST", jobsPath, "", map[string]string{"Authorization": "bearer " + adasKey}, minimalJob3}, jobsPath, 201, nil, nil, nil},
		{"create with another scheme", request{"POST", jobsPath, "", map[string]string{"Authorization": "Basic YTpi"}, minimalJob}, jobsPath, 401, unauthorized, nil, challenge},
		{"create with an empty key", request{"POST", jobsPath, "", map[string]string{"Authorization": "Bearer "}, minimalJob}, jobsPath, 401, unauthorized, nil, challenge},
		{"401 before 400", request{"POST", jobsPath, "standin_live_eve", nil, `{`}, jobsPath, 401, unauthorized, []string{"issues"}, nil},
		{"401 before 413", request{"POST", jobsPath, "standin_live_eve", nil, strings.Repeat(" ", 2<<20)}, jobsPath, 401, unauthorized, nil, nil},
		{"create with an empty body", request{"POST", jobsPath, adasKey, nil, ""}, jobsPath, 400, []string{`"code":"invalid_json"`, `"path":[]`}, nil, nil},
		{"create with every issue", request{"POST", jobsPath, adasKey, nil, `{"meetingUrl":"x","autoLeave":{"afterSoloSeconds":0}}`}, jobsPath, 400,
			[]string{`"path":["externalId"]`, `"code":"required"`, `"path":["meetingUrl"]`, `"code":"format"`, `"path":["autoLeave","afterSoloSeconds"]`, `"code":"minimum"`, "There are 2 more issues."}, nil, nil},
		{"a body of 10 MiB", request{"POST", jobsPath, adasKey, nil, padded(10 << 20)}, jobsPath, 413, []string{`"error":"payload_too_large"`}, nil, nil},

		{"get with an upper-case id", request{"GET", jobsPath + "/" + strings.ToUpper(adasJob.String()), adasKey, nil, ""}, jobRoute, 200, nil, nil, nil},
		{"get a UUID in another form", request{"GET", jobsPath + "/" + strings.ReplaceAll(adasJob.String(), "-", ""), adasKey, nil, ""}, jobRoute, 404, notFound, nil, nil},
		{"get an escaped NUL", request{"GET", jobsPath + "/%00", adasKey, nil, ""}, jobRoute, 404, notFound, nil, nil},
		{"401 before 404", request{"GET", jobsPath + "/42", "", nil, ""}, jobRoute, 401, unauthorized, nil, nil},

		{"manifest not yet written", request{"GET", jobsPath + "/" + newAdaJob.String() + "/manifest", adasKey, nil, ""}, manifestRoute, 404, notFound, nil, nil},
		{"manifest missing in storage", request{"GET", own + "/manifest", adasKey, nil, ""}, manifestRoute, 404, notFound, nil, nil},
		{"media before the manifest", request{"GET", jobsPath + "/" + newAdaJob.String() + "/media/recording.mp4", adasKey, nil, ""}, mediaRoute, 404, notFound, nil, nil},

		{"internal error", request{"GET", own, brokenKey, nil, ""}, jobRoute, 500, []string{`"error":"internal_server_error"`, "req_"}, nil, nil},
	})
}

const (
	minimalJob2 = `{"externalId":"two","meetingUrl":"https://meet.google.com/abc-defg-hij"}`
	minimalJob3 = `{"externalId":"three","meetingUrl":"https://meet.google.com/abc-defg-hij"}`
)

// padded returns a valid body of a create request with the given length.
func padded(length int) string {
	head := `{"externalId":"padded","meetingUrl":"https://meet.google.com/abc-defg-hij","padding":{"x":"`
	return head + strings.Repeat("x", length-len(head)-3) + `"}}`
}

func TestPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	notFound := []string{`"error":"not_found"`}
	wrong := []string{`"error":"method_not_allowed"`}
	s.run(t, []surfaceCase{
		{"health with a wrong key", request{"GET", "/healthz", "x", nil, ""}, "/healthz", 200, nil, nil, nil},
		{"readiness", request{"GET", "/readyz", "", nil, ""}, "/readyz", 503, []string{`{"ready":false,"checks":[{"name":"database","ok":true},{"name":"launcher","ok":false}]}`}, nil, nil},
		{"readiness without the launcher", request{"GET", "/readyz?exclude=storage,launcher", "", nil, ""}, "/readyz", 200, []string{`{"ready":true,"checks":[{"name":"database","ok":true}]}`}, nil, nil},
		{"readiness without checks", request{"GET", "/readyz?exclude=database&exclude=launcher", "", nil, ""}, "/readyz", 200, []string{`{"ready":true,"checks":[]}`}, nil, nil},
		{"root", request{"GET", "/", "", nil, ""}, "", 404, notFound, nil, nil},
		{"unknown", request{"POST", "/api/v2/jobs", adasKey, nil, minimalJob}, "", 404, notFound, nil, nil},
		{"extra slash at the end", request{"POST", "/api/v1/jobs/", adasKey, nil, minimalJob}, "", 404, notFound, nil, nil},
		{"extra slash inside", request{"POST", "/api/v1//jobs", adasKey, nil, minimalJob}, "", 404, notFound, nil, nil},
		{"only slashes", request{"GET", "//", "", nil, ""}, "", 404, notFound, nil, nil},
		{"dots", request{"POST", "/api/v1/x/../jobs", adasKey, nil, minimalJob}, "", 404, notFound, nil, nil},
		{"escaped dots", request{"GET", "/api/v1/jobs/%2e%2e/jobs", adasKey, nil, ""}, "", 404, notFound, nil, nil},
		{"put jobs", request{"PUT", jobsPath, adasKey, nil, ""}, "", 405, wrong, nil, map[string]string{"Allow": "GET, HEAD, POST"}},
		{"put a job", request{"PUT", jobsPath + "/42", adasKey, nil, "{}"}, "", 405, wrong, nil, map[string]string{"Allow": "DELETE, GET, HEAD, PATCH"}},
		{"get an ingest path", request{"GET", ingest.EventPath, "x", nil, ""}, "", 405, wrong, nil, map[string]string{"Allow": "POST"}},
		{"unknown method", request{"BREW", "/healthz", "", nil, ""}, "", 405, wrong, nil, nil},
		{"options", request{"OPTIONS", jobsPath, adasKey, nil, ""}, "", 405, wrong, nil, nil},
		{"401 before 405 with a key", request{"PUT", jobsPath, "", nil, ""}, "", 401, []string{"unauthorized"}, nil, map[string]string{"Allow": ""}},
		{"401 before 405 with a wrong key", request{"PUT", jobsPath, "x", nil, ""}, "", 401, []string{"unauthorized"}, nil, nil},
		{"401 before 405 with a bot token", request{"GET", ingest.EventPath, "", nil, ""}, "", 401, []string{"unauthorized"}, nil, nil},
		{"401 before 405 with a secret", request{"POST", "/api/v1/admin/host", "", nil, ""}, "", 401, []string{httpapi.AdminSecretHeader}, nil, nil},
	})
}

func TestBotSurface(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	good := token(adasJob, 0)
	identity := `"jobId":"` + adasJob.String() + `","attempt":0`
	event := `{` + identity + `,"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z"}`
	unknown := `{"jobId":"` + nobodysJob.String() + `","attempt":0,"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z"}`
	path, beat := ingest.EventPath, ingest.HeartbeatPath
	unauthorized := []string{`"error":"unauthorized"`}
	s.run(t, []surfaceCase{
		{"event with an upper-case id", request{"POST", path, good, nil, strings.ReplaceAll(event, adasJob.String(), strings.ToUpper(adasJob.String()))}, path, 200, nil, nil, nil},
		{"event with an integer with a decimal point", request{"POST", path, good, nil, strings.Replace(event, `"attempt":0`, `"attempt":0.0`, 1)}, path, 200, nil, nil, nil},
		{"missing bearer is checked first", request{"POST", path, "", nil, "{"}, path, 401, unauthorized, nil, nil},
		{"invalid JSON is checked before the token", request{"POST", path, "x", nil, "{"}, path, 400, []string{"invalid_json"}, nil, nil},
		{"missing jobId is checked before the token", request{"POST", path, "x", nil, `{"attempt":0}`}, path, 400, []string{`"path":["jobId"]`, `"path":["kind"]`}, nil, nil},
		{"malformed jobId is checked before the token", request{"POST", path, "x", nil, `{"jobId":"42","attempt":0}`}, path, 400, []string{`"path":["jobId"]`, `"code":"format"`}, nil, nil},
		{"malformed attempt is checked before the token", request{"POST", path, "x", nil, `{"jobId":"` + adasJob.String() + `","attempt":-1}`}, path, 400, []string{`"path":["attempt"]`, `"code":"minimum"`}, nil, nil},
		{"a list", request{"POST", path, "x", nil, `[]`}, path, 400, []string{`"path":[]`, `"code":"type"`}, nil, nil},
		{"token is checked before other fields", request{"POST", path, "x", nil, `{` + identity + `}`}, path, 401, unauthorized, []string{"kind"}, nil},
		{"the token of another job", request{"POST", path, token(bobsJob, 0), nil, event}, path, 401, unauthorized, nil, nil},
		{"a consumer's key", request{"POST", path, adasKey, nil, event}, path, 401, unauthorized, nil, nil},
		{"other fields", request{"POST", path, good, nil, `{` + identity + `,"kind":"x"}`}, path, 400, []string{`"path":["kind"]`, `"code":"enum"`, `"path":["emittedAt"]`, `"code":"required"`}, nil, nil},
		{"a job that does not exist", request{"POST", path, token(nobodysJob, 0), nil, unknown}, path, 400, []string{`"error":"invalid_input"`, `"path":["jobId"]`}, nil, nil},

		{"heartbeat with everything", request{"POST", beat + "?wait=0", good, nil, `{` + identity + `,"acked":["` + bobsJob.String() + `"],"stats":{"bytesRecorded":1}}`}, beat, 200, nil, nil, nil},
		{"heartbeat with a wrong token", request{"POST", beat + "?wait=x", "x", nil, `{` + identity + `}`}, beat, 401, unauthorized, nil, nil},
		{"heartbeat with a bad wait and a bad list", request{"POST", beat + "?wait=soon", good, nil, `{` + identity + `,"acked":7}`}, beat, 400, []string{`"path":["acked"]`, `"path":["wait"]`}, nil, nil},
		{"heartbeat with a negative wait", request{"POST", beat + "?wait=-1", good, nil, `{` + identity + `}`}, beat, 400, []string{`"path":["wait"]`, `"code":"minimum"`}, nil, nil},
		{"heartbeat with a wait that is not a number", request{"POST", beat + "?wait=NaN", good, nil, `{` + identity + `}`}, beat, 400, []string{`"path":["wait"]`, `"code":"type"`}, nil, nil},
	})
}

// TestUploadBeyondTheQuota checks the status 429 and the code, which bots do not
// retry.
func TestUploadBeyondTheQuota(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	s.fake.quota = recording.UploadQuota{Files: 1, Bytes: 1 << 20}
	const body = "segment"
	for sequence, status := range []int{200, 429} {
		path := ingest.MediaPath + "/" + adasJob.String() + "/0/" + ingest.SegmentName(0, sequence)
		got := s.send(t, request{"PUT", path, token(adasJob, 0), checksum(body), body})
		if got.status != status || status == 429 && !strings.Contains(got.body, `"error":"quota_exceeded"`) {
			t.Errorf("upload %d: %d %s", sequence, got.status, got.body)
		}
	}
}

func TestUploads(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) { settings.MaxUploadBytes = 1 << 20 })
	const segment = "recording-000-000000.mp4s"
	body := strings.Repeat("segment ", 1000)
	at := func(id, attempt, name string) string { return ingest.MediaPath + "/" + id + "/" + attempt + "/" + name }
	path, good := at(adasJob.String(), "0", segment), token(adasJob, 0)
	if got := s.send(t, request{"PUT", path, good, checksum(body), body}); got.status != 200 {
		t.Fatalf("upload: %d %s", got.status, got.body)
	}
	uploads, err := s.storage.Uploads(t.Context(), adasJob)
	if err != nil || len(uploads) != 1 || len(uploads[0].Files) != 1 || uploads[0].Files[0].Bytes != int64(len(body)) {
		t.Fatalf("storage has %+v (%v)", uploads, err)
	}
	unauthorized := []string{`"error":"unauthorized"`}
	s.run(t, []surfaceCase{
		{"another body under the name", request{"PUT", path, good, checksum("other"), "other"}, uploadRoute, 409, []string{`"error":"invalid_state"`}, nil, nil},
		{"missing bearer is checked first", request{"PUT", at("x", "y", "Z"), "", nil, body}, uploadRoute, 401, unauthorized, nil, nil},
		{"malformed jobId is checked before the token", request{"PUT", at("x", "y", "Z"), "x", nil, body}, uploadRoute, 400,
			[]string{`"path":["jobId"]`, `"path":["attempt"]`, `"path":["name"]`, `"path":["x-content-sha256"]`}, nil, nil},
		{"token is checked before other fields", request{"PUT", at(adasJob.String(), "0", "Z"), "x", nil, body}, uploadRoute, 401, unauthorized, nil, nil},
		{"malformed checksum", request{"PUT", path, good, map[string]string{ingest.ChecksumHeader: "abc"}, body}, uploadRoute, 400, []string{`"code":"pattern"`}, nil, nil},
		{"a wrong checksum", request{"PUT", at(adasJob.String(), "0", "recording-000-000001.mp4s"), good, checksum("other"), body}, uploadRoute, 400, []string{`"code":"checksum"`}, nil, nil},
		{"invalid name", request{"PUT", at(adasJob.String(), "0", "a%2Fb.mp4"), good, checksum(body), body}, uploadRoute, 400, []string{`"path":["name"]`}, nil, nil},
		{"reserved name", request{"PUT", at(adasJob.String(), "0", "a.attrs"), good, checksum(body), body}, uploadRoute, 400, []string{`"path":["name"]`}, nil, nil},
		{"a job that does not exist", request{"PUT", at(nobodysJob.String(), "0", segment), token(nobodysJob, 0), checksum(body), body}, uploadRoute, 400, []string{`"path":["jobId"]`}, nil, nil},
	})
}

// endlessConversion makes nothing in time.
type endlessConversion struct{}

func (endlessConversion) Make(context.Context, uuid.UUID, uuid.UUID, []recording.Media, string) (bool, error) {
	return false, context.DeadlineExceeded
}

// TestManifestAndMedia reads a stored recording.
func TestManifestAndMedia(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) { settings.Formats = endlessConversion{} })
	video := strings.Repeat("0123456789", 5000)
	s.storeRecording(video)
	media := jobsPath + "/" + adasJob.String() + "/media/"
	tag := `"` + sumOf(video) + `"`
	whole := map[string]string{"Content-Type": "video/mp4", "Content-Length": "50000", "ETag": tag, "Accept-Ranges": "bytes", "Cache-Control": "private, no-cache"}
	s.run(t, []surfaceCase{
		{"whole", request{"GET", media + "recording.mp4", adasKey, nil, ""}, mediaRoute, 200, []string{video}, nil, whole},
		{"head", request{"HEAD", media + "recording.mp4", adasKey, nil, ""}, mediaRoute, 200, nil, nil, whole},
		{"range", request{"GET", media + "recording.mp4", adasKey, map[string]string{"Range": "bytes=10-14"}, ""}, mediaRoute, 206, []string{"01234"}, []string{"5"},
			map[string]string{"Content-Range": "bytes 10-14/50000", "ETag": tag}},
		{"the end", request{"GET", media + "recording.mp4", adasKey, map[string]string{"Range": "bytes=-3"}, ""}, mediaRoute, 206, []string{"789"}, []string{"6"}, nil},
		{"malformed range", request{"GET", media + "recording.mp4", adasKey, map[string]string{"Range": "bytes=abc"}, ""}, mediaRoute, 200, nil, nil, whole},
		{"beyond the end", request{"GET", media + "recording.mp4", adasKey, map[string]string{"Range": "bytes=50000-"}, ""}, mediaRoute, 416, []string{`"error":"range_not_satisfiable"`}, nil,
			map[string]string{"Content-Range": "bytes */50000"}},
		{"unchanged", request{"GET", media + "recording.mp4", adasKey, map[string]string{"If-None-Match": tag}, ""}, mediaRoute, 304, nil, nil, nil},
		{"another format, not yet made", request{"GET", media + "recording.mp3", adasKey, nil, ""}, mediaRoute, 202, nil, nil, map[string]string{"Retry-After": "5"}},
		{"the head of another format, not yet made", request{"HEAD", media + "recording.mp3", adasKey, nil, ""}, mediaRoute, 202, nil, nil, nil},
		{"a file that is not in the manifest", request{"GET", media + "manifest.json", adasKey, nil, ""}, mediaRoute, 404, []string{"not_found"}, nil, nil},
		{"a path instead of a name", request{"GET", media + "..%2Fmanifest.json", adasKey, nil, ""}, mediaRoute, 404, []string{"not_found"}, nil, nil},
		{"a file missing in storage", request{"GET", media + "lost.mp4", adasKey, nil, ""}, mediaRoute, 404, []string{"not_found"}, nil, nil},
		{"another consumer's file", request{"GET", media + "recording.mp4", bobsKey, nil, ""}, mediaRoute, 404, []string{"not_found"}, nil, nil},
	})
	got := s.send(t, request{"GET", jobsPath + "/" + adasJob.String() + "/manifest", adasKey, nil, ""})
	stored, err := s.storage.Manifest(t.Context(), adasJob)
	if err != nil || got.status != 200 || got.body != string(stored) || got.header.Get("Content-Type") != "application/json" {
		t.Errorf("the manifest is %d %s, stored %s (%v)", got.status, got.body, stored, err)
	}
	if err := s.checker.Response("GET", manifestRoute, got.status, []byte(got.body)); err != nil {
		t.Errorf("the manifest does not match its schema: %v\n%s", err, got.body)
	}
}

func TestMediaIsRedirectedToSignedURLs(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	s.storage.signed = "https://bucket.example/signed/"
	s.storeRecording("video")
	media := jobsPath + "/" + adasJob.String() + "/media/"
	s.run(t, []surfaceCase{
		{"head", request{"HEAD", media + "recording.mp4", adasKey, nil, ""}, mediaRoute, 200, nil, nil, map[string]string{"Content-Length": "5"}},
		{"a file that is not in the manifest", request{"GET", media + "other.mp4", adasKey, nil, ""}, mediaRoute, 404, nil, nil, nil},
	})
}

// TestCreateAppliesDefaults checks the requests that the handler passes on.
func TestCreateAppliesDefaults(t *testing.T) {
	t.Parallel()
	minimal := lifecycle.NewJob{
		ExternalID: "x", MeetingURL: "https://us02web.zoom.us/j/1", Platform: job.ZoomWeb, DisplayName: job.DefaultDisplayName,
		Metadata: json.RawMessage(`{}`), AutoLeave: job.DefaultAutoLeave(),
	}
	all := lifecycle.NewJob{
		ExternalID: "x", MeetingURL: "https://us02web.zoom.us/j/1", Platform: job.Meet, DisplayName: "Notes <b>",
		JoinAt:   time.Date(2026, 11, 20, 13, 0, 0, 500e6, time.UTC),
		Webhooks: job.Webhooks{OnStatusChange: "https://a.example/s", OnFinalize: "https://a.example/f"},
		Metadata: json.RawMessage(`{"big":12345678901234567890123,"html":"<&>"}`),
		AutoLeave: job.AutoLeave{
			AfterEntryDelaySeconds: 1, AfterSilenceSeconds: 60, AfterSoloSeconds: 600, AfterMaxSeconds: 86400, OnBotDetected: true,
		},
		Options: job.Options{Recording: job.RecordingOptions{Mode: job.RecordAudio, Layout: job.LayoutGallery, Resolution: job.Resolution1080p, ParticipantAudio: new(bool)}},
	}
	for _, test := range []struct {
		name, body string
		want       lifecycle.NewJob
	}{
		{"minimal", `{"externalId":"x","meetingUrl":"https://us02web.zoom.us/j/1"}`, minimal},
		{"empty objects", `{"externalId":"x","meetingUrl":"https://us02web.zoom.us/j/1","displayName":" \t\n","webhooks":{},"metadata":{},"autoLeave":{}}`, minimal},
		{"field names in another case", `{"externalId":"x","meetingUrl":"https://us02web.zoom.us/j/1","DisplayName":"no","METADATA":{"no":1}}`, minimal},
		{"all", `{"externalId":"x","meetingUrl":"https://us02web.zoom.us/j/1","platform":"meet","joinAt":"2026-11-20T14:00:00.5+01:00","displayName":" Notes\n <b> ","webhooks":{"onStatusChange":"https://a.example/s","onFinalize":"https://a.example/f"},"metadata":{"html":"<&>","big":12345678901234567890123},"autoLeave":{"afterEntryDelaySeconds":1,"afterSilenceSeconds":60.0,"afterSoloSeconds":6e2,"afterMaxSeconds":86400,"onBotDetected":true},"recording":{"mode":"audio","layout":"gallery","resolution":"1080p","participantAudio":false}}`, all},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSurface(t, nil)
			if got := s.send(t, request{"POST", jobsPath, adasKey, nil, test.body}); got.status != 201 {
				t.Fatalf("%d %s", got.status, got.body)
			}
			if !reflect.DeepEqual(s.fake.last, test.want) {
				t.Errorf("\n got %+v\nwant %+v", s.fake.last, test.want)
			}
		})
	}
}

// TestBotMessagesAreDecoded checks the messages that the handler passes on.
func TestBotMessagesAreDecoded(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	identity := `"jobId":"` + strings.ToUpper(adasJob.String()) + `","attempt":2`
	s.send(t, request{"POST", ingest.EventPath, token(adasJob, 2), nil, `{` + identity + `,"kind":"lifecycle.exited","emittedAt":"2026-11-20T14:00:00.25+01:00","data":{"endReason":"alone","more":[1.0]}}`})
	s.send(t, request{"POST", ingest.HeartbeatPath, token(adasJob, 2), nil, `{` + identity + `,"acked":["a0000000-0000-0000-0000-000000000000"],"stats":{"bytesRecorded":9007199254740991,"recordedMillis":1e3,"coresUsed":1.604,"memoryBytes":734003200}}`})
	wantEvent := ingest.Event{
		Kind: job.BotExited, JobID: adasJob.String(), Attempt: 2,
		EmittedAt: time.Date(2026, 11, 20, 13, 0, 0, 250e6, time.UTC), Data: json.RawMessage(`{"endReason":"alone","more":[1.0]}`),
	}
	wantBeat := ingest.Heartbeat{
		JobID: adasJob.String(), Attempt: 2, Acked: []string{"a0000000-0000-0000-0000-000000000000"},
		Stats: &ingest.Stats{BytesRecorded: 9007199254740991, RecordedMillis: 1000, CoresUsed: 1.604, MemoryBytes: 734003200},
	}
	if len(s.fake.events) != 1 || !reflect.DeepEqual(s.fake.events[0], wantEvent) {
		t.Errorf("event\n got %+v\nwant %+v", s.fake.events, wantEvent)
	}
	if len(s.fake.beats) != 1 || !reflect.DeepEqual(s.fake.beats[0], wantBeat) {
		t.Errorf("heartbeat\n got %+v\nwant %+v", s.fake.beats, wantBeat)
	}
}

func TestInternalErrorsAreHidden(t *testing.T) {
	t.Parallel()
	broken := newSurface(t, nil)
	broken.fake.broken = errors.New(secret)
	panicking := newSurface(t, nil)
	panicking.fake.panics = true
	identity := `{"jobId":"` + adasJob.String() + `","attempt":0`
	for _, test := range []struct {
		surface *surface
		name    string
		request request
		route   string
	}{
		{broken, "create", request{"POST", jobsPath, adasKey, nil, minimalJob}, jobsPath},
		{broken, "get", request{"GET", jobsPath + "/" + adasJob.String(), adasKey, nil, ""}, jobRoute},
		{broken, "cancel", request{"DELETE", jobsPath + "/" + adasJob.String(), adasKey, nil, ""}, jobRoute},
		{broken, "manifest", request{"GET", jobsPath + "/" + adasJob.String() + "/manifest", adasKey, nil, ""}, manifestRoute},
		{broken, "media", request{"GET", jobsPath + "/" + adasJob.String() + "/media/a.mp4", adasKey, nil, ""}, mediaRoute},
		{broken, "event", request{"POST", ingest.EventPath, token(adasJob, 0), nil, identity + `,"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z"}`}, ingest.EventPath},
		{broken, "heartbeat", request{"POST", ingest.HeartbeatPath, token(adasJob, 0), nil, identity + `}`}, ingest.HeartbeatPath},
		{broken, "upload", request{"PUT", ingest.MediaPath + "/" + adasJob.String() + "/0/a.mp4", token(adasJob, 0), checksum(""), ""}, uploadRoute},
		{panicking, "panic", request{"POST", jobsPath, adasKey, nil, minimalJob}, jobsPath},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.surface.run(t, []surfaceCase{{"response", test.request, test.route, 500, []string{"internal_server_error", "req_"}, []string{"panic"}, nil}})
		})
	}
}

// TestEachRequestHasOneLogLine checks the log lines of several requests.
func TestEachRequestHasOneLogLine(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	s.fake.panics = true
	panicked := s.send(t, request{"POST", jobsPath + "?key=hidden", adasKey, nil, minimalJob})
	s.send(t, request{"GET", jobsPath + "/" + adasJob.String() + "?q=hidden", adasKey, nil, ""})
	s.send(t, request{"GET", "/hidden", "", nil, ""})
	lines := eventually(t, "three lines in the log", func() ([]map[string]any, bool) {
		lines := decodeLines(t, s.log.String())
		return lines, len(lines) == 3
	})
	text := s.log.String()
	for _, never := range []string{adasKey, "hidden", "standup"} {
		if strings.Contains(text, never) {
			t.Errorf("the log contains %q: %s", never, text)
		}
	}
	for i, want := range []map[string]any{
		{"level": "ERROR", "method": "POST", "route": jobsPath, "status": 500.0, "request_id": panicked.header.Get(httpmw.RequestIDHeader), "error": "panic: " + secret},
		{"level": "INFO", "method": "GET", "route": jobRoute, "status": 200.0, "job_id": adasJob.String()},
		{"level": "INFO", "method": "GET", "route": "/", "status": 404.0},
	} {
		for key, value := range want {
			if lines[i][key] != value {
				t.Errorf("line %d: %s is %v, want %v", i, key, lines[i][key], value)
			}
		}
		if _, ok := lines[i]["duration"]; !ok {
			t.Errorf("line %d has no duration", i)
		}
	}
	if id, _ := lines[1]["consumer_id"].(string); uuid.Validate(id) != nil {
		t.Errorf("the consumer is %q", id)
	}
	if stack, _ := lines[0]["stack"].(string); !strings.Contains(stack, "Create") {
		t.Errorf("the panic's stack is %q", stack)
	}
}
