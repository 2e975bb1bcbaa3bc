package httpapi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/base/budget"
	"standin/internal/bot/ingest"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
	"standin/internal/recording"
	"standin/internal/server/httpapi"
	"standin/internal/server/httpmw"
	"standin/internal/store"
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
	own, unstored := jobsPath+"/"+adasJob.String(), jobsPath+"/"+newAdaJob.String()
	notFound := []string{`"error":"not_found"`}
	create := func(body string) request { return request{"POST", jobsPath, adasKey, nil, body} }
	s.run(t, []surfaceCase{
		{"create", create(`{"externalId":"all","meetingUrl":"https://us02web.zoom.us/j/81200000020","platform":"meet","displayName":" \t\n","METADATA":{"no":1},"metadata":{"big":12345678901234567890123,"html":"<&>"},"autoLeave":{"afterSilenceSeconds":60.0,"afterSoloSeconds":6e2}}`), jobsPath, 201,
			[]string{
				`"platform":"meet"`, `"big":12345678901234567890123`, `"html":"<&>"`, `"afterSilenceSeconds":60,"afterSoloSeconds":600`,
			}, []string{`"no"`},
			map[string]string{
				"Content-Type": "application/json", "Idempotent-Replayed": "", "X-Standin-Warning": "", "X-Ignored-Fields": "METADATA",
				"Cache-Control": "no-store",
			}},
		{"create with a URL without a meeting", create(`{"externalId":"numbers","meetingUrl":"https://zoom.us/u/abc"}`), jobsPath, 201,
			[]string{`"platform":"zoom-web"`}, nil, map[string]string{
				"X-Standin-Warning": "This Zoom link lists telephone numbers. The link to join the meeting has /j/ in it.",
			}},
		{"create with unknown fields of objects", create(`{"externalId":"typo 2","meetingUrl":"https://zoom.us/j/1","webhooks":{"on_status_change":"https://a.test","onFinalise":"https://a.test"},"autoLeave":{"after_solo_seconds":3}}`), jobsPath, 201,
			nil, nil, map[string]string{"X-Ignored-Fields": "autoLeave.after_solo_seconds, webhooks.onFinalise, webhooks.on_status_change"}},
		{"create with metadata that is nearly right", create(`{"externalId":"nearly","meetingUrl":"https://zoom.us/u/def","metadata":{"recordingPermission":"Required","captions":"true"}}`), jobsPath, 201,
			[]string{
				`"recordingPermission":"Required"`,
			}, nil, map[string]string{"X-Standin-Warning": "metadata.captions is ignored: it is not true or false. " +
				`metadata.recordingPermission is not "required" or false, so the bot asks for permission. ` +
				"This Zoom link lists telephone numbers. The link to join the meeting has /j/ in it."}},
		{"create with another job for the meeting",
			create(`{"externalId":"second","meetingUrl":"https://zoom.us/j/81200000777","joinAt":"2999-01-01T00:01:00Z"}`), jobsPath, 201,
			nil, nil, map[string]string{"X-Standin-Warning": "Job " + newAdaJob.String() +
				" is for the same meeting at this time: both send a bot."}},
		{"list by two metadata values", request{
			"GET", jobsPath + "?metadata.a=1&metadata.a=2", adasKey, nil, "",
		}, jobsPath, 400, []string{`"path":["metadata.a"]`}, nil, nil},
		{"redeliver without a filter", request{
			"POST", "/api/v1/deliveries/redeliver", adasKey, nil, `{}`,
		}, "/api/v1/deliveries/redeliver", 400, []string{`"code":"minProperties"`, "at least one known field"}, nil, nil},
		{"create as a form type", request{
			"POST", jobsPath, adasKey, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, minimalJob2,
		}, jobsPath, 201, nil, nil, nil},
		{"create with a lower-case scheme", request{
			"POST", jobsPath, "", map[string]string{"Authorization": "bearer " + adasKey}, minimalJob,
		}, jobsPath, 201, nil, nil, nil},
		{"401 before 413", request{
			"POST", jobsPath, "standin_live_eve", nil, strings.Repeat(" ", 2<<20),
		}, jobsPath, 401, nil, nil, map[string]string{"WWW-Authenticate": "Bearer", "Cache-Control": "no-store"}},
		{"create with every issue", create(`{"meetingUrl":"x","autoLeave":{"afterSoloSeconds":0}}`), jobsPath, 400,
			[]string{
				`"path":["externalId"]`, `"code":"required"`, `"path":["meetingUrl"]`, `"code":"format"`, `"path":["autoLeave","afterSoloSeconds"]`,
				`"code":"minimum"`, "There are 2 more issues.",
			}, nil, nil},
		{"a body of 10 MiB", create(padded(10 << 20)), jobsPath, 413, []string{`"error":"payload_too_large"`}, nil, nil},
		{"get with an upper-case id", request{
			"GET", jobsPath + "/" + strings.ToUpper(adasJob.String()), adasKey, nil, "",
		}, jobRoute, 200, nil, nil, nil},
		{"manifest not yet written", request{"GET", unstored + "/manifest", adasKey, nil, ""}, manifestRoute, 404, notFound, nil, nil},
		{"manifest missing in storage", request{"GET", own + "/manifest", adasKey, nil, ""}, manifestRoute, 404, notFound, nil, nil},
	})
}

const minimalJob2 = `{"externalId":"two","meetingUrl":"https://meet.google.com/abc-defg-hij"}`

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
		{"readiness", request{
			"GET", "/readyz", "", nil, "",
		}, "/readyz", 503, []string{`{"ready":false,"checks":[{"name":"database","ok":true},{"name":"launcher","ok":false}]}`}, nil, nil},
		{"readiness without the launcher", request{
			"GET", "/readyz?exclude=storage,launcher", "", nil, "",
		}, "/readyz", 200, []string{`{"ready":true,"checks":[{"name":"database","ok":true}]}`}, nil, nil},
		{"readiness without checks", request{
			"GET", "/readyz?exclude=database&exclude=launcher", "", nil, "",
		}, "/readyz", 200, []string{`{"ready":true,"checks":[]}`}, nil, nil},
		{"root", request{"GET", "/", "", nil, ""}, "", 404, notFound, nil, nil},
		{"unknown", request{"POST", "/api/v2/jobs", adasKey, nil, minimalJob}, "", 404, notFound, nil, nil},
		{"extra slash at the end", request{"POST", "/api/v1/jobs/", adasKey, nil, minimalJob}, "", 404, notFound, nil, nil},
		{"extra slash inside", request{"POST", "/api/v1//jobs", adasKey, nil, minimalJob}, "", 404, notFound, nil, nil},
		{"only slashes", request{"GET", "//", "", nil, ""}, "", 404, notFound, nil, nil},
		{"dots", request{"POST", "/api/v1/x/../jobs", adasKey, nil, minimalJob}, "", 404, notFound, nil, nil},
		{"escaped dots", request{"GET", "/api/v1/jobs/%2e%2e/jobs", adasKey, nil, ""}, "", 404, notFound, nil, nil},
		{"put jobs", request{"PUT", jobsPath, adasKey, nil, ""}, "", 405, wrong, nil, map[string]string{"Allow": "GET, HEAD, POST"}},
		{"put a job", request{
			"PUT", jobsPath + "/42", adasKey, nil, "{}",
		}, "", 405, wrong, nil, map[string]string{"Allow": "DELETE, GET, HEAD, PATCH"}},
		{"get an ingest path", request{"GET", ingest.EventPath, "x", nil, ""}, "", 405, wrong, nil, map[string]string{"Allow": "POST"}},
		{"patch a poll", request{"PATCH", "/api/v1/cli-auth/poll/%20%00%ff", "", nil, ""}, "", 405, wrong, nil, nil},
		{"unknown path of a job", request{"POST", jobsPath + "/x/nothing", adasKey, nil, ""}, "", 404, notFound, nil, nil},
		{"unknown method", request{"BREW", "/healthz", "", nil, ""}, "", 405, wrong, nil, nil},
		{"options", request{"OPTIONS", jobsPath, adasKey, nil, ""}, "", 405, wrong, nil, nil},
		{"401 before 405 with a key", request{"PUT", jobsPath, "", nil, ""}, "", 401, []string{"unauthorized"}, nil, map[string]string{"Allow": ""}},
		{"401 before 405 with a wrong key", request{"PUT", jobsPath, "x", nil, ""}, "", 401, []string{"unauthorized"}, nil, nil},
		{"401 before 405 with a bot token", request{"GET", ingest.EventPath, "", nil, ""}, "", 401, []string{"unauthorized"}, nil, nil},
		{"401 before 405 with a secret", request{
			"POST", "/api/v1/admin/host", "", nil, "",
		}, "", 401, []string{httpapi.AdminSecretHeader}, nil, nil},
	})
}

func TestBotSurface(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	good := token(newAdaJob, 0)
	identity := `"jobId":"` + newAdaJob.String() + `","attempt":0`
	path, beat := ingest.EventPath, ingest.HeartbeatPath
	s.run(t, []surfaceCase{
		{"event with an upper-case id and an integer with a decimal point", request{
			"POST", path, good, nil,
			`{"jobId":"` + strings.ToUpper(newAdaJob.String()) + `","attempt":0.0,"kind":"lifecycle.joined","emittedAt":"2026-11-20T13:00:00Z"}`,
		}, path, 200, []string{`"applied":true`}, nil, nil},
		{"other fields", request{"POST", path, good, nil, `{` + identity + `,"kind":"x"}`}, path, 400, []string{
			`"path":["kind"]`, `"code":"enum"`, `"path":["emittedAt"]`, `"code":"required"`,
		}, nil, nil},
		{"heartbeat with everything", request{
			"POST", beat + "?wait=0", good, nil, `{` + identity + `,"acked":["` + bobsJob.String() + `"],"stats":{"bytesRecorded":1}}`,
		}, beat, 200, nil, nil, nil},
		{"heartbeat with a bad wait and a bad list", request{
			"POST", beat + "?wait=soon", good, nil, `{` + identity + `,"acked":7}`,
		}, beat, 400, []string{`"path":["acked"]`, `"path":["wait"]`}, nil, nil},
		{"heartbeat with a negative wait", request{
			"POST", beat + "?wait=-1", good, nil, `{` + identity + `}`,
		}, beat, 400, []string{`"path":["wait"]`, `"code":"minimum"`}, nil, nil},
		{"heartbeat with a wait that is not a number", request{
			"POST", beat + "?wait=NaN", good, nil, `{` + identity + `}`,
		}, beat, 400, []string{`"path":["wait"]`, `"code":"type"`}, nil, nil},
	})
}

// TestUploadBeyondTheQuota checks the status 429 and the code, which bots do not
// retry.
func TestUploadBeyondTheQuota(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	const body = "segment"
	for sequence, status := range []int{200, 429} {
		path := ingest.MediaPath + "/" + newAdaJob.String() + "/0/" + ingest.SegmentName(0, sequence)
		got := s.send(t, request{"PUT", path, token(newAdaJob, 0), checksum(body), body})
		if got.status != status || status == 429 && !strings.Contains(got.body, `"error":"quota_exceeded"`) {
			t.Errorf("upload %d: %d %s", sequence, got.status, got.body)
		}
		s.jobs.RecordingBitRate = -1 << 40 // leaves no space
	}
}

// endlessConversion makes nothing in time.
type endlessConversion struct{}

func (endlessConversion) Make(context.Context, uuid.UUID, uuid.UUID, []recording.Media, string) (bool, error) {
	return false, context.DeadlineExceeded
}

// full is what a team uses whose budgets are used up.
type full struct{}

type calendars = httpapi.Calendars

type fullCalendars struct{ calendars }

func (full) Make(context.Context, uuid.UUID, uuid.UUID, []recording.Media, string) (bool, error) {
	return false, budget.ErrFull
}

func (fullCalendars) SyncNow(context.Context, account.Caller, uuid.UUID) (c calendarsync.Calendar, changes calendarsync.Changes, err error) {
	return c, changes, budget.ErrFull
}

// TestBudgets checks the response to a team whose budgets are used up.
func TestBudgets(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(s *httpapi.Settings) { s.Formats, s.Calendars = full{}, fullCalendars{} })
	s.storeRecording("video")
	of := jobsPath + "/" + adasJob.String()
	for _, r := range []request{
		{"GET", of + "/media/recording.mp3", adasKey, nil, ""},
		{"POST", "/api/v1/calendars/" + adasJob.String() + "/sync", adasKey, nil, ""},
	} {
		got := s.send(t, r)
		if got.status != 429 || got.header.Get("Retry-After") != "5" || !strings.Contains(got.body, "Too many requests. Try again in 5 seconds.") {
			t.Errorf("%s: %d %s", r.path, got.status, got.body)
		}
	}
}

// TestManifestAndMedia reads a stored recording.
func TestManifestAndMedia(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) { settings.Formats = endlessConversion{} })
	video := strings.Repeat("0123456789", 5000)
	s.storeRecording(video)
	media := jobsPath + "/" + adasJob.String() + "/media/"
	tag := `"` + sumOf(video) + `"`
	whole := map[string]string{
		"Content-Type": "video/mp4", "Content-Length": "50000", "ETag": tag, "Accept-Ranges": "bytes", "Cache-Control": "private, no-cache",
	}
	s.run(t, []surfaceCase{
		{"whole", request{"GET", media + "recording.mp4", adasKey, nil, ""}, mediaRoute, 200, []string{video}, nil, whole},
		{"range", request{
			"GET", media + "recording.mp4", adasKey, map[string]string{"Range": "bytes=10-14"}, "",
		}, mediaRoute, 206, []string{"01234"}, []string{"5"},
			map[string]string{"Content-Range": "bytes 10-14/50000", "ETag": tag}},
		{"another format, not yet made", request{
			"GET", media + "recording.mp3", adasKey, nil, "",
		}, mediaRoute, 202, nil, nil, map[string]string{"Retry-After": "5"}},
		{"the head of another format, not yet made", request{"HEAD", media + "recording.mp3", adasKey, nil, ""}, mediaRoute, 202, nil, nil, nil},
		{"a file that is not in the manifest", request{
			"GET", media + "manifest.json", adasKey, nil, "",
		}, mediaRoute, 404, []string{"not_found"}, nil, nil},
		{"a path instead of a name", request{
			"GET", media + "..%2Fmanifest.json", adasKey, nil, "",
		}, mediaRoute, 404, []string{"not_found"}, nil, nil},
		{"a file missing in storage", request{"GET", media + "lost.mp4", adasKey, nil, ""}, mediaRoute, 404, []string{"not_found"}, nil, nil},
	})
}

// TestHostileResponses lists a delivery whose receiver answered with bytes that are no text.
func TestHostileResponses(t *testing.T) {
	t.Parallel()
	s := newSurface(t, nil)
	at := time.UnixMilli(0)
	d := webhook.Delivery{
		ID: webhook.NewDeliveryID(), JobID: adasJob, ConsumerID: s.ada.ConsumerID, Mode: job.Live, URL: "https://a.example/?a&b",
		Event: webhook.JobFailed, Sequence: 1, EmittedAt: at, Data: []byte(`{}`), Version: 1,
	}
	err := s.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertDelivery(ctx, d) })
	claimed, _, claimErr := webhook.ClaimDeliveries(t.Context(), s.store, webhook.Claim{Now: at, Lease: time.Minute, Limit: 1})
	if err != nil || claimErr != nil || len(claimed) != 1 {
		t.Fatalf("claimed %v (%v, %v)", claimed, err, claimErr)
	}
	try := webhook.Try{
		DeliveryID: d.ID, Number: 1, StartedAt: at, Latency: 1500 * time.Microsecond, StatusCode: 410, ResponseBody: []byte("gone\xff\x00é"),
	}
	if _, err := s.store.RecordTry(t.Context(), webhook.Result{
		Delivery: claimed[0], Try: try, Verdict: webhook.Verdict{Outcome: webhook.PermanentFailure, Reason: "gone"},
	}); err != nil {
		t.Fatal(err)
	}
	s.run(t, []surfaceCase{{"deliveries", request{
		"GET", jobsPath + "/" + adasJob.String() + "/deliveries", adasKey, nil, "",
	}, jobRoute + "/deliveries", 200, []string{
		`"url":"https://a.example/?a&b"`, `"state":"failed"`, `"nextTryAt":null`, `"endReason":"gone"`,
		`{"number":1,"startedAt":"1970-01-01T00:00:00.000Z","latencyMs":1,"status":410,"error":null,"responseBody":"gone` + "\uFFFD" +
			`\u0000é"}`,
	}, nil, nil}})
}

// TestEachRequestHasOneLogLine checks the log lines of several requests.
func TestEachRequestHasOneLogLine(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) { settings.Jobs.Now = func() time.Time { panic(secret) } })
	panicked := s.send(t, request{"POST", jobsPath + "?key=hidden", adasKey, nil, minimalJob})
	if panicked.status != 500 || strings.Contains(panicked.body, secret) || !strings.Contains(panicked.body, "internal_server_error") {
		t.Errorf("after a panic: %d %s", panicked.status, panicked.body)
	}
	s.send(t, request{"GET", jobsPath + "/" + adasJob.String() + "?q=hidden", adasKey, nil, ""})
	s.send(t, request{"GET", "/hidden", "", nil, ""})
	lines := s.logged(t, 3)
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
