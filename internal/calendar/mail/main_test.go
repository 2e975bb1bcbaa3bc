package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/calendar"
	"standin/internal/jobs/runner"
)

// monday is the time of most tests. In the 14 days after it, daylight saving time
// ends in Europe (October 25) and in America (November 1).
var monday = time.Date(2026, 10, 19, 8, 0, 0, 0, time.UTC)

// fakeService is a service that schedules, moves and cancels jobs as
// lifecycle.EventScheduler does, for jobs that are not dispatched.
type fakeService struct {
	mu    sync.Mutex
	jobs  []*fakeJob
	down  bool
	calls int
}

type fakeJob struct {
	calendar.Invite
	id uuid.UUID
}

var errDown = errors.New("connection refused")

// Schedule implements Scheduler.
func (s *fakeService) Schedule(_ context.Context, invite calendar.Invite) (calendar.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.down {
		return calendar.Result{}, errDown
	}
	invite, err := invite.Normal()
	if err != nil {
		return calendar.Result{}, &RejectedError{Reason: err.Error()}
	}
	for _, j := range s.jobs {
		if j.Cancelled || j.OrganizerEmail != invite.OrganizerEmail || j.ICalUID != invite.ICalUID {
			continue
		}
		j.Invite = invite
		return calendar.Result{Kind: calendar.Deduped, JobID: j.id}, nil
	}
	if invite.Cancelled {
		return calendar.Result{}, nil
	}
	j := &fakeJob{Invite: invite, id: uuid.New()}
	s.jobs = append(s.jobs, j)
	return calendar.Result{Kind: calendar.Scheduled, JobID: j.id}, nil
}

// scheduled returns the jobs that are not cancelled, by time: start in UTC, link
// and organizer.
func (s *fakeService) scheduled() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for _, j := range s.jobs {
		if !j.Cancelled {
			found = append(found, fmt.Sprintf("%s %s %s", j.JoinAt.Format("01-02 15:04"), shortLink(j.MeetingURL),
				strings.TrimSuffix(j.OrganizerEmail, "@example.test")))
		}
	}
	slices.Sort(found)
	return found
}

// shortLink abbreviates the links of the corpus.
func shortLink(address string) string {
	for short, start := range map[string]string{
		"meet": "https://meet.google.com/abc-defg-hij", "meet2": "https://meet.google.com/xyz-uvwx-rst",
		"zoom":  "https://us02web.zoom.us/j/81234567890?pwd=QUJDREVG.1",
		"teams": "https://teams.microsoft.com/l/meetup-join/19%3ameeting_ZWQ0NTY%40thread.v2/0?context=",
	} {
		if strings.HasPrefix(address, start) {
			return short
		}
	}
	return address
}

// harness is a worker with a clock that the test sets. The test network is trusted, and
// senders of example.test may schedule everything.
type harness struct {
	*Worker
	service *fakeService
	now     time.Time
}

// prefixes parses networks.
func prefixes(texts ...string) (found []netip.Prefix) {
	for _, text := range texts {
		found = append(found, netip.MustParsePrefix(text))
	}
	return found
}

// emptyDatabase is the database of a worker that has received nothing. Copies of it are
// cheaper than new ones.
var emptyDatabase = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "mail-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	store, err := openStore(context.Background(), dir, 0)
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, fileName))
})

func newHarness(t testing.TB, change func(*Settings)) *harness {
	t.Helper()
	h := &harness{service: &fakeService{}, now: monday}
	settings := Settings{
		Dir: t.TempDir(), Service: h.service, Now: func() time.Time { return h.now }, Log: slog.New(slog.DiscardHandler), MaxMessage: 64 << 10,
		Policy: Policy{
			Senders: []Sender{
				{From: "example.test"}, {From: "example.org"}, {From: "calendly.com"}, {From: "zoom.us"}, {From: "*"},
			}, Networks: prefixes("192.0.2.0/24"), Recipients: []string{"notes@bots.example.test", "@record.example.test"},
			LookupTXT: func(context.Context, string) ([]string, error) { return nil, errors.New("no DNS in tests") },
		},
	}
	if change != nil {
		change(&settings)
	}
	empty, err := emptyDatabase()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(settings.Dir, fileName), empty, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	h.Worker = w
	return h
}

// start runs the worker until the test ends.
func (h *harness) start(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { h.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
}

// process receives a message from a trusted client and does all work that is due.
func (h *harness) process(t testing.TB, raw []byte) Record {
	t.Helper()
	return h.processFrom(t, "smtp", "192.0.2.1", raw)
}

// processFrom receives a message and does all work that is due.
func (h *harness) processFrom(t testing.TB, source, remote string, raw []byte) Record {
	t.Helper()
	if err := h.receive(t.Context(), received{source: source, remote: remote, raw: raw}); err != nil {
		t.Fatal(err)
	}
	return h.run(t)
}

// run does all work that is due and returns the newest message.
func (h *harness) run(t testing.TB) Record {
	t.Helper()
	for _, r := range []*runner.Runner[int64]{h.arrivals, h.messages, h.meetings, h.replies} {
		for r.RunNext(t.Context()) {
		}
	}
	records, err := h.store.Records(t.Context(), 0, 1)
	if err != nil || len(records) != 1 {
		t.Fatalf("%v, %v", records, err)
	}
	return records[0]
}

// sample reads a message of the corpus.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name+".eml"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
