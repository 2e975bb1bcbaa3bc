package httpapi_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/api"
	"standin/internal/account"
	"standin/internal/account/billing"
	"standin/internal/account/device"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/operation/host"
	"standin/internal/recording/storage"
	"standin/internal/server/httpapi"
	"standin/internal/store"
	"standin/internal/testing/apicheck"
	"standin/internal/testing/logtail"
	"standin/internal/testing/storetest"
)

var (
	signingKey = []byte("a signing key for tests")
	adasJob    = uuid.MustParse("0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80")
	bobsJob    = uuid.MustParse("0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e81")
	newAdaJob  = uuid.MustParse("0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e82")
	far        = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
)

const (
	adasKey = "standin_live_ada"
	bobsKey = "standin_live_bob"
	secret  = "what a panic says"

	intakeSecret  = "the intake worker's secret"
	adminSecret   = "the operator's secret"
	paymentSecret = "whsec_payments"
)

// surface is an API that is served over a loopback connection, with a database and storage.
type surface struct {
	t        testing.TB
	checker  *apicheck.Checker
	store    *store.Store
	jobs     *lifecycle.Service
	flows    *device.Flows
	ada, bob account.Caller
	clients  atomic.Uint32 // number of client addresses used by fuzz tests
	storage  *storage.Recordings
	log      *logtail.Buffer
	api      *httpapi.API
	http     *http.Server
	url      string
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
	s := &surface{
		t: t, checker: apicheck.New(t, description), store: database, storage: files, log: &logtail.Buffer{},
		ada: newCaller(t, keys, "ada", adasKey), bob: newCaller(t, keys, "bob", bobsKey),
	}
	s.insert(adasJob, s.ada, "done")
	s.insert(newAdaJob, s.ada, "new")
	s.insert(bobsJob, s.bob, "bobs")
	s.jobs = lifecycle.New(lifecycle.Settings{
		Store: database, Recordings: files, Finalizer: finalizer{}, BaseURL: "https://standin.example.com", Now: time.Now,
	})
	s.flows = device.New(device.Settings{
		Store: database, BaseURL: "https://standin.example.com", Now: time.Now,
	})
	settings := httpapi.Settings{
		Description: description,
		Keys:        keys,
		Jobs:        s.jobs,
		Recordings:  files,
		Invites:     &lifecycle.EventScheduler{Jobs: s.jobs, Plans: database},
		Logins:      s.flows,
		Payments:    &billing.Receiver{Secret: paymentSecret, Store: database, Now: time.Now},
		Host:        host.NewReader(t.TempDir()),
		Readiness:   readiness,
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
		s.jobs.Close()
		if err := errors.Join(files.Close(), database.Close()); err != nil {
			t.Errorf("close storage and database: %v", err)
		}
	})
	return s
}

// newCaller creates a consumer with an API key in the database and returns the
// caller of that key.
func newCaller(t testing.TB, keys *account.Keys, name, secret string) account.Caller {
	t.Helper()
	key, _, err := keys.Issue(t.Context(), name, "", job.Live)
	if err == nil {
		key.ID, key.Hash = uuid.New(), account.Hash(secret)
		err = keys.Store.InsertKey(t.Context(), key)
	}
	if err != nil {
		t.Fatalf("create the consumer %s: %v", name, err)
	}
	return account.Caller{KeyID: key.ID, ConsumerID: key.ConsumerID, Mode: job.Live}
}

// insert stores a job of the far future. Ada's job "done" is completed.
func (s *surface) insert(id uuid.UUID, caller account.Caller, externalID string) {
	s.t.Helper()
	r := job.Record{Job: job.Job{
		ID: id, ConsumerID: caller.ConsumerID, Mode: job.Live, ExternalID: externalID, MeetingURL: "https://zoom.us/j/81200000777",
		Platform:    job.ZoomWeb,
		DisplayName: "Bot", Metadata: []byte(`{"a":1}`), AutoLeave: job.DefaultAutoLeave(), JoinAt: far, CreatedAt: time.UnixMilli(0),
		State: job.New(),
	}, StatusSince: time.Now(), WakeAt: far}
	err := s.store.Write(s.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.InsertJob(ctx, r); err != nil || id != adasJob {
			return err
		}
		r.Status, r.Attempts, r.WakeAt, r.ManifestURI = job.Completed, 1, time.Time{}, "https://standin.example.com/m"
		return tx.SaveJob(ctx, store.JobChange{Record: r})
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

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

// finalizer finds all that bots report complete.
type finalizer struct{ lifecycle.Finalizer }

func (finalizer) WriteManifest(context.Context, job.Record) error { return nil }

// readiness is that of a node that cannot launch bots.
func readiness() []httpapi.ReadinessCheck {
	return []httpapi.ReadinessCheck{{Name: "database", OK: true}, {Name: "launcher"}}
}
