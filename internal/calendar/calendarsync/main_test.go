package calendarsync_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/base/dialguard"
	"standin/internal/calendar"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/store"
	"standin/internal/testing/calendartest"
	"standin/internal/testing/storetest"
)

// cluster is the PostgreSQL server that the tests share; nil if it is not installed.
var cluster *storetest.Cluster

func TestMain(m *testing.M) {
	if address := os.Getenv(syncDatabase); address != "" {
		if err := runSync(context.Background(), address); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(storetest.Main(m, func(c *storetest.Cluster) { cluster = c }))
}

// november is the time at which the tests begin, a Thursday.
var november = time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)

// recordAll are the rules of most tests.
var recordAll = calendarsync.Rules{Record: []calendarsync.Condition{calendarsync.RecordAll}, OptOut: calendarsync.DefaultOptOut}

// harness is a service on a real database, with a server of feeds and a clock.
type harness struct {
	*calendarsync.Service
	jobs    *lifecycle.Service
	invites *lifecycle.EventScheduler
	store   *store.Store
	caller  account.Caller
	server  *httptest.Server
	apis    *calendartest.Server

	mu       sync.Mutex
	now      time.Time
	feeds    map[string]string // by path
	status   int               // of all responses; 200 when 0
	requests []*http.Request
	reading  func() // called while a feed is read; may be nil
}

func newHarness(t *testing.T, address string) *harness {
	t.Helper()
	s, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{store: s, now: november, feeds: make(map[string]string), apis: calendartest.New(t)}
	h.server = httptest.NewServer(http.HandlerFunc(h.serve))
	h.jobs = newJobs(s, h.time)
	h.invites = &lifecycle.EventScheduler{Jobs: h.jobs, Plans: h.store}
	t.Cleanup(func() {
		h.server.Close()
		h.jobs.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	h.restart(t)
	consumer, err := s.EnsureConsumer(t.Context(), account.NewConsumer("crew", "crew@example.test", "", november))
	if err != nil {
		t.Fatal(err)
	}
	h.caller = account.Caller{ConsumerID: consumer.ID, Mode: job.Live}
	return h
}

// restart replaces the service by one that remembers nothing but the database.
func (h *harness) restart(t *testing.T) {
	t.Helper()
	settings, err := serviceSettings(h.store, h.invites, h.time)
	if err != nil {
		t.Fatal(err)
	}
	settings.APIs = h.apis.Settings()
	h.Service = calendarsync.New(settings)
}

// serviceSettings returns the settings of a service without APIs.
func serviceSettings(s calendarsync.Store, jobs calendarsync.Jobs, now func() time.Time) (calendarsync.Settings, error) {
	key, err := calendarsync.NewKey([]byte("a key for the tests"))
	return calendarsync.Settings{
		Store: s, Jobs: jobs, Key: key, Now: now, Log: slog.New(slog.DiscardHandler),
		Network: dialguard.Network{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, BaseURL: "https://standin.test", SendsMail: true,
	}, err
}

func newJobs(s *store.Store, now func() time.Time) *lifecycle.Service {
	return lifecycle.New(lifecycle.Settings{Store: s, BaseURL: "https://standin.test", Now: now, Events: new(event.Publisher)})
}

// onBoth runs a test on SQLite and on PostgreSQL.
func onBoth(t *testing.T, test func(t *testing.T, h *harness)) {
	t.Helper()
	storetest.OnBoth(t, cluster, func(t *testing.T, address string) { test(t, newHarness(t, address)) })
}

func newSQLiteHarness(t *testing.T) *harness {
	t.Helper()
	return newHarness(t, storetest.FreshSQLite(t))
}

func (h *harness) time() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// pass lets time pass.
func (h *harness) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// serve serves the feeds with an ETag.
func (h *harness) serve(w http.ResponseWriter, r *http.Request) {
	if h.reading != nil {
		h.reading()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, r)
	feed, ok := h.feeds[r.URL.Path]
	tag := fmt.Sprintf(`"%x"`, uuid.NewSHA1(uuid.Nil, []byte(feed)))
	switch {
	case r.URL.Path == "/redirect.ics":
		http.Redirect(w, r, "http://10.0.0.1/ann.ics", http.StatusFound)
	case h.status != 0:
		w.WriteHeader(h.status)
	case !ok:
		http.NotFound(w, r)
	case r.Header.Get("If-None-Match") == tag:
		w.WriteHeader(http.StatusNotModified)
	default:
		w.Header().Set("ETag", tag)
		_, _ = w.Write([]byte(feed))
	}
}

// set publishes events at a path.
func (h *harness) set(path string, events ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.feeds[path] = feed(events...)
}

// feed returns a calendar. The lines of an event are separated by |.
func feed(events ...string) string {
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//\r\n")
	for _, event := range events {
		fmt.Fprintf(&b, "BEGIN:VEVENT\r\nDTSTAMP:20261126T080000Z\r\n%s\r\nEND:VEVENT\r\n", strings.ReplaceAll(event, "|", "\r\n"))
	}
	return b.String() + "END:VCALENDAR\r\n"
}

// connect connects the calendar at a path.
func (h *harness) connect(t *testing.T, path string, change func(*calendarsync.Connection)) uuid.UUID {
	t.Helper()
	request := calendarsync.Connection{
		Name: path, Address: h.server.URL + path, Email: "ann@example.test", Rules: recordAll, Poll: calendarsync.DefaultPoll,
	}
	if change != nil {
		change(&request)
	}
	c, err := h.Connect(t.Context(), h.caller, request)
	if err != nil {
		t.Fatal(err)
	}
	return c.ID
}

// sync reads a calendar.
func (h *harness) sync(t *testing.T, id uuid.UUID) calendarsync.Changes {
	t.Helper()
	c, changes, err := h.SyncNow(t.Context(), h.caller, id)
	if err != nil || c.State != calendarsync.Active {
		t.Fatalf("sync: %v, the calendar is %s: %s", err, c.State, c.Error)
	}
	return changes
}

// scheduled returns the jobs that have not ended: start, link and title.
func (h *harness) scheduled(t *testing.T) []string {
	t.Helper()
	found := []string{}
	for _, j := range h.all(t) {
		if !j.Status.Terminal() {
			found = append(found, fmt.Sprintf("%s %s %s", j.JoinAt.Format("01-02 15:04"), j.MeetingURL[strings.LastIndexByte(j.MeetingURL, '/')+1:],
				j.Title()))
		}
	}
	slices.Sort(found)
	return found
}

// all returns the jobs of the team.
func (h *harness) all(t *testing.T) (found []job.Job) {
	t.Helper()
	page := lifecycle.Page{Limit: 100}
	for {
		jobs, next, err := h.jobs.Jobs(t.Context(), h.caller, job.Filter{}, page)
		if err != nil {
			t.Fatal(err)
		}
		if found = append(found, jobs...); next == "" {
			return found
		}
		page.Cursor = next
	}
}

// decisions returns the decisions about the meetings of a calendar: start, title and
// reason.
func (h *harness) decisions(t *testing.T, id uuid.UUID) []string {
	t.Helper()
	found := []string{}
	for _, e := range h.events(t, id) {
		found = append(found, fmt.Sprintf("%s %s %s", e.Start.Format("01-02 15:04"), e.Title, e.Reason))
	}
	return found
}

func (h *harness) events(t *testing.T, id uuid.UUID) []calendarsync.Event {
	t.Helper()
	events, err := h.Events(t.Context(), h.caller, id, h.time(), h.time().Add(100*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// expect checks lines.
func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if len(want) == 0 {
		want = []string{}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// setStatus sets the status of a job as if a bot had reported it.
func (h *harness) setStatus(t *testing.T, id uuid.UUID, status job.Status) {
	t.Helper()
	_, err := h.jobs.Change(t.Context(), id, func(_ context.Context, c *lifecycle.Change) error {
		c.Status = status
		if status.Terminal() {
			c.WakeAt = time.Time{}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// newJob returns a request of the team itself.
func newJob(address string, at time.Time) lifecycle.NewJob {
	return lifecycle.NewJob{
		ExternalID: "own", MeetingURL: address, Platform: job.Meet, JoinAt: at, DisplayName: job.DefaultDisplayName,
		Metadata: []byte("{}"), AutoLeave: job.DefaultAutoLeave(),
	}
}

// mail tells a node by mail of an event, which takes place as an invite says or is cancelled. It returns what became of
// it, as lifecycle.Outcome has it; empty if nothing did.
func (h *harness) mail(t *testing.T, node *lifecycle.EventScheduler, invite calendar.Invite) (kind string) {
	t.Helper()
	told := lifecycle.Invitation{
		Organizer: invite.OrganizerEmail, UID: invite.ICalUID,
		IsNewest: func(context.Context, *store.Tx) (bool, error) { return true, nil },
		Admit:    func(context.Context, *store.Tx, calendarsync.Event) (bool, error) { return true, nil },
		Note: func(_ context.Context, _ *store.Tx, o lifecycle.Outcome) error {
			kind = o.Kind
			return nil
		},
	}
	if !invite.Cancelled {
		told.Occurrences = []calendarsync.Event{calendarsync.NewInvitation(calendar.Event{
			UID: invite.ICalUID, Organizer: invite.OrganizerEmail, Summary: invite.Subject, Start: invite.JoinAt,
			End: job.Latest(invite.EndsAt, invite.JoinAt), MeetingURL: invite.MeetingURL, Platform: invite.Platform,
		})}
	}
	if err := node.SyncInvitation(t.Context(), told); err != nil {
		t.Error(err)
	}
	return kind
}
