package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/api"
	"standin/internal/account"
	"standin/internal/account/billing"
	"standin/internal/account/device"
	"standin/internal/host"
	"standin/internal/httpapi"
	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/recording"
	"standin/internal/recording/storage"
	"standin/internal/store"
	"standin/internal/testing/apicheck"
	"standin/internal/testing/storetest"
)

var (
	signingKey = []byte("a signing key for tests")
	adasJob    = uuid.MustParse("0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80")
	bobsJob    = uuid.MustParse("0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e81")
	newAdaJob  = uuid.MustParse("0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e82")
	nobodysJob = uuid.MustParse("0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e83")
)

const (
	adasKey   = "standin_live_ada"
	bobsKey   = "standin_live_bob"
	brokenKey = "standin_live_broken" // authentication fails with a database error
	secret    = "internal database error"

	intakeSecret  = "the intake worker's secret"
	adminSecret   = "the operator's secret"
	paymentSecret = "whsec_payments"
)

// keyring authenticates the API keys in the map.
type keyring map[string]account.Caller

func (k keyring) Authenticate(_ context.Context, bearer string) (account.Caller, error) {
	if bearer == brokenKey {
		return account.Caller{}, errors.New(secret)
	}
	caller, ok := k[bearer]
	if !ok {
		return account.Caller{}, &job.Error{Code: job.Unauthorized, Message: "missing or invalid API key"}
	}
	if caller.Scope == "" {
		caller.Scope = account.AdminScope
	}
	return caller, nil
}

func (k keyring) Find(ctx context.Context, bearer string) (account.Key, error) {
	caller, err := k.Authenticate(ctx, bearer)
	return account.Key{ID: caller.KeyID, ConsumerID: caller.ConsumerID, Consumer: "ada", Name: "CI", Mode: caller.Mode, Scope: caller.Scope}, err
}

func (keyring) Of(context.Context, account.Caller) ([]account.Key, error) { return nil, nil }

func (keyring) Create(context.Context, account.Caller, job.Mode, account.KeyOptions) (account.Key, string, error) {
	return account.Key{}, "", errors.New(secret)
}

func (keyring) Revoke(context.Context, account.Caller, uuid.UUID) error { return errors.New(secret) }

// fakeJobs is an in-memory implementation of the interfaces for jobs and bots.
type fakeJobs struct {
	mu      sync.Mutex
	jobs    map[uuid.UUID]job.Job
	last    lifecycle.NewJob
	broken  error
	quota   recording.UploadQuota
	panics  bool
	beats   []ingest.Heartbeat
	events  []ingest.Event
	command chan ingest.Command
	waiting chan struct{} // receives a value when a heartbeat starts to wait
}

func (s *fakeJobs) Create(_ context.Context, caller account.Caller, request lifecycle.NewJob) (job.Job, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.panics {
		panic(secret)
	}
	if s.broken != nil {
		return job.Job{}, false, s.broken
	}
	s.last = request
	for _, j := range s.jobs {
		if j.ConsumerID == caller.ConsumerID && j.ExternalID == request.ExternalID {
			return j, true, nil
		}
	}
	joinAt := request.JoinAt
	if joinAt.IsZero() {
		joinAt = time.Now()
	}
	j := job.Job{
		ID: uuid.New(), ConsumerID: caller.ConsumerID, Mode: caller.Mode, ExternalID: request.ExternalID,
		MeetingURL: request.MeetingURL, Platform: request.Platform, DisplayName: request.DisplayName,
		JoinAt: joinAt, CreatedAt: time.Now(), Webhooks: request.Webhooks, Metadata: request.Metadata,
		AutoLeave: request.AutoLeave, State: job.New(),
	}
	s.jobs[j.ID] = j
	return j, false, nil
}

func (s *fakeJobs) Job(_ context.Context, caller account.Caller, id uuid.UUID) (job.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return job.Job{}, s.broken
	}
	j, ok := s.jobs[id]
	if !ok || j.ConsumerID != caller.ConsumerID {
		return job.Job{}, &job.Error{Code: job.NotFound, Message: "no such job"}
	}
	return j, nil
}

func (s *fakeJobs) Details(context.Context, []job.Job) (map[uuid.UUID]lifecycle.Details, error) {
	return nil, s.broken
}

func (s *fakeJobs) Cancel(ctx context.Context, caller account.Caller, id uuid.UUID) error {
	_, err := s.Job(ctx, caller, id)
	return err
}

// OtherJob finds a job for one meeting.
func (s *fakeJobs) OtherJob(_ context.Context, j job.Job) (uuid.UUID, bool, error) {
	return adasJob, j.MeetingURL == "https://zoom.us/j/777", nil
}

// JobByExternalID returns the caller's job with that externalId.
func (s *fakeJobs) JobByExternalID(ctx context.Context, caller account.Caller, externalID string) (job.Job, error) {
	found, _, err := s.Jobs(ctx, caller, job.Filter{ExternalID: externalID}, lifecycle.Page{})
	if err != nil || len(found) == 0 {
		return job.Job{}, &job.Error{Code: job.NotFound, Message: "no such job"}
	}
	return found[0], nil
}

func (s *fakeJobs) Jobs(_ context.Context, caller account.Caller, filter job.Filter, _ lifecycle.Page) ([]job.Job, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var own []job.Job
	for _, j := range s.jobs {
		if j.ConsumerID == caller.ConsumerID && (filter.ExternalID == "" || filter.ExternalID == j.ExternalID) {
			own = append(own, j)
		}
	}
	return own, "", s.broken
}

func (s *fakeJobs) Patch(ctx context.Context, caller account.Caller, id uuid.UUID, _ lifecycle.Patch) (job.Job, error) {
	return s.Job(ctx, caller, id)
}

func (s *fakeJobs) RequestTranscription(ctx context.Context, caller account.Caller, id uuid.UUID, _ job.TranscriptionOptions) error {
	_, err := s.Job(ctx, caller, id)
	return err
}

func (s *fakeJobs) DeleteRecording(ctx context.Context, caller account.Caller, id uuid.UUID) error {
	_, err := s.Job(ctx, caller, id)
	return err
}

func (s *fakeJobs) AdmitOutput(context.Context, uuid.UUID) (*job.OutputOptions, error) {
	return nil, nil
}

func (s *fakeJobs) AdmitUpload(_ context.Context, id uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.jobs[id]; !ok {
		return &job.Error{Code: job.InvalidInput, Message: "no such job", Path: []any{"jobId"}}
	}
	return s.broken
}

func (s *fakeJobs) AdmitSound(ctx context.Context, id uuid.UUID, _ int) error {
	return s.AdmitUpload(ctx, id)
}

func (s *fakeJobs) Screenshot(ctx context.Context, caller account.Caller, id uuid.UUID) (job.Screenshot, error) {
	_, err := s.Job(ctx, caller, id)
	return job.Screenshot{TakenAt: time.Unix(1, 0), Image: []byte("a picture")}, err
}

func (s *fakeJobs) SaveScreenshot(ctx context.Context, id uuid.UUID, attempt int, _ []byte) error {
	return s.AdmitSound(ctx, id, attempt)
}

func (s *fakeJobs) UploadQuota(context.Context, uuid.UUID) (recording.UploadQuota, error) {
	return s.quota, nil
}

func (s *fakeJobs) Ingest(ctx context.Context, event ingest.Event) (ingest.EventResponse, error) {
	if err := s.AdmitUpload(ctx, uuid.MustParse(event.JobID)); err != nil {
		return ingest.EventResponse{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event)
	return ingest.EventResponse{OK: true, Applied: true, Status: job.Joining, Commands: []ingest.Command{}}, nil
}

func (s *fakeJobs) IngestTexts(ctx context.Context, texts ingest.Texts) (ingest.TextsResponse, error) {
	if err := s.AdmitUpload(ctx, uuid.MustParse(texts.JobID)); err != nil {
		return ingest.TextsResponse{}, err
	}
	return ingest.TextsResponse{OK: true, Stored: len(texts.Texts)}, nil
}

func (s *fakeJobs) Heartbeat(ctx context.Context, beat ingest.Heartbeat, wait time.Duration) (ingest.HeartbeatResponse, error) {
	if err := s.AdmitUpload(ctx, uuid.MustParse(beat.JobID)); err != nil {
		return ingest.HeartbeatResponse{}, err
	}
	s.mu.Lock()
	s.beats = append(s.beats, beat)
	s.mu.Unlock()
	answer := ingest.HeartbeatResponse{OK: true, Status: job.InMeeting, NextSeconds: 5, Commands: []ingest.Command{}}
	if wait == 0 {
		return answer, nil
	}
	select {
	case s.waiting <- struct{}{}:
	default:
	}
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	select {
	case command, ok := <-s.command:
		if ok { // closed by tests that do not wait
			answer.Commands = []ingest.Command{command}
		}
	case <-timeout.C:
	case <-ctx.Done():
		return ingest.HeartbeatResponse{}, fmt.Errorf("wait for commands: %w", ctx.Err())
	}
	return answer, nil
}

// recordings is a real storage in a folder that signs URLs if signed is set.
type recordings struct {
	*storage.Recordings
	signed string // prefix of signed URLs
}

func (r *recordings) SignedURL(ctx context.Context, id uuid.UUID, name string, expiry time.Duration) (string, bool, error) {
	if r.signed != "" {
		return r.signed + name, true, nil
	}
	return r.Recordings.SignedURL(ctx, id, name, expiry)
}

// surface is an API that is served over a loopback connection. It uses fake jobs
// unless a test uses realJobs; everything else is real.
type surface struct {
	t        testing.TB
	checker  *apicheck.Checker
	fake     *fakeJobs
	store    *store.Store
	jobs     *lifecycle.Service
	flows    *device.Flows
	ada, bob account.Caller
	clients  atomic.Uint32 // number of client addresses used by fuzz tests
	storage  *recordings
	log      *logText
	api      *httpapi.API
	http     *http.Server
	url      string
}

// logText is a buffer for concurrent use.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(row []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(row)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newSurface starts an API that is closed when the test ends.
func newSurface(t testing.TB, change func(*httpapi.Settings)) *surface {
	t.Helper()
	description, err := api.Load()
	if err != nil {
		t.Fatalf("load the description: %v", err)
	}
	files, err := storage.Open(t.Context(), "file://"+t.TempDir(), nil)
	if err != nil {
		t.Fatalf("open storage: %v", err)
	}
	database, err := store.Open(t.Context(), storetest.FreshSQLite(t))
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	keys := &account.Keys{Store: database, Now: time.Now}
	ada, bob := newCaller(t, keys, "ada"), newCaller(t, keys, "bob")
	s := &surface{
		t: t, checker: apicheck.New(t, description), store: database, ada: ada, bob: bob, storage: &recordings{Recordings: files}, log: &logText{},
		fake: &fakeJobs{
			quota: recording.UploadQuota{Files: 1000, Bytes: 1 << 40},
			jobs: map[uuid.UUID]job.Job{
				adasJob: {
					ID: adasJob, ConsumerID: ada.ConsumerID, ExternalID: "done", MeetingURL: "https://meet.google.com/abc-defg-hij",
					Platform: job.Meet, Metadata: []byte(`{"a":1}`), AutoLeave: job.DefaultAutoLeave(),
					JoinAt: time.UnixMilli(0), CreatedAt: time.UnixMilli(0),
					State: job.State{Status: job.Completed, Attempts: 1, ManifestURI: "https://standin.example.com/m"},
				},
				newAdaJob: {ID: newAdaJob, ConsumerID: ada.ConsumerID, ExternalID: "new", Metadata: []byte(`{}`), State: job.New()},
				bobsJob:   {ID: bobsJob, ConsumerID: bob.ConsumerID, ExternalID: "bobs", Metadata: []byte(`{}`), State: job.New()},
			},
			command: make(chan ingest.Command, 1),
			waiting: make(chan struct{}, 1),
		},
	}
	s.jobs = lifecycle.New(lifecycle.Settings{
		Store: database, Recordings: files, BaseURL: "https://standin.example.com", Now: time.Now,
	})
	s.flows = device.New(device.Settings{
		Store: database, BaseURL: "https://standin.example.com", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	settings := httpapi.Settings{
		Description: description,
		Keys:        keyring{adasKey: ada, bobsKey: bob},
		Audit:       database,
		Jobs:        s.fake,
		Controls:    s.jobs,
		History:     s.jobs,
		Bots:        s.fake,
		Recordings:  s.storage,
		Invites:     &lifecycle.InviteScheduler{Jobs: s.jobs, Plans: database},
		Logins:      s.flows,
		Payments:    &billing.Receiver{Secret: paymentSecret, Store: database, Now: time.Now},
		Host:        host.NewReader(t.TempDir()),
		JobCounts:   database,
		Readiness:   readiness{},
		SigningKey:  signingKey,
		Options:     httpapi.Options{IntakeSecret: intakeSecret, AdminSecret: adminSecret},
		Log:         slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&settings)
	}
	if s.api, err = httpapi.New(settings); err != nil {
		t.Fatalf("create the API: %v", err)
	}
	s.http = httpapi.NewServer(s.api)
	server := httptest.NewUnstartedServer(nil)
	server.Config = s.http
	server.Start()
	s.url = server.URL
	t.Cleanup(func() {
		s.api.Drain()
		server.Close()
		if err := errors.Join(files.Close(), database.Close()); err != nil {
			t.Errorf("close storage and database: %v", err)
		}
	})
	return s
}

// newCaller creates a consumer with an API key in the database and returns the
// caller of that key.
func newCaller(t testing.TB, keys *account.Keys, name string) account.Caller {
	t.Helper()
	key, _, err := keys.Issue(t.Context(), name, "", job.Live)
	if err != nil {
		t.Fatalf("create the consumer %s: %v", name, err)
	}
	return account.Caller{KeyID: key.ID, ConsumerID: key.ConsumerID, Mode: job.Live}
}

// realJobs makes a surface serve jobs from its database.
func realJobs(settings *httpapi.Settings) { settings.Jobs = settings.Controls.(*lifecycle.Service) }

// request is a request of a test.
type request struct {
	method, path string
	bearer       string
	header       map[string]string
	body         string
}

// answer is the response to a request.
type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request and reads the whole response. It does not follow redirects.
func (s *surface) send(t testing.TB, r request) answer {
	t.Helper()
	sent, err := http.NewRequestWithContext(t.Context(), r.method, s.url+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatalf("create the request: %v", err)
	}
	if r.bearer != "" {
		sent.Header.Set("Authorization", "Bearer "+r.bearer)
	}
	for name, value := range r.header {
		sent.Header.Set(name, value)
	}
	sent.Host = r.header["Host"]
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	got, err := client.Do(sent)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	defer got.Body.Close() // read only
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatalf("%s %s: read the response: %v", r.method, r.path, err)
	}
	return answer{got.StatusCode, got.Header, string(body)}
}

func token(id uuid.UUID, attempt int) string { return ingest.Token(signingKey, id.String(), attempt) }

// readiness is a node that cannot launch bots.
type readiness struct{}

func (readiness) Readiness() []httpapi.ReadinessCheck {
	return []httpapi.ReadinessCheck{{Name: "database", OK: true}, {Name: "launcher"}}
}
