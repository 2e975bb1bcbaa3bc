package mail

import (
	"context"
	"encoding/json"
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

	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/runner"
	"standin/internal/store"
	"standin/internal/testing/storetest"
)

// monday is the time of most tests. In the 14 days after it, daylight saving time
// ends in Europe (October 25) and in America (November 1).
var monday = time.Date(2026, 10, 19, 8, 0, 0, 0, time.UTC)

// scheduledJob is a job with the address of its team.
type scheduledJob struct {
	ID             uuid.UUID
	JoinAt         time.Time
	Meeting, Email string
	Status         job.Status
	Options        job.Options
	CreatedAt      time.Time
}

// jobs returns all jobs, in the order of their creation.
func (h *harness) jobs(t testing.TB) []scheduledJob {
	t.Helper()
	found, err := store.List(t.Context(), h.Store.Reader, "list jobs", func(row store.Row, j *scheduledJob) error {
		var options []byte
		err := row.Scan(&j.ID, &j.JoinAt, &j.Meeting, &j.Email, &j.Status, &options, &j.CreatedAt)
		return errors.Join(err, json.Unmarshal(options, &j.Options))
	}, `SELECT j.id, join_at, meeting_url, email, status, options, j.created_at FROM jobs j
		JOIN consumers c ON c.id = j.consumer_id ORDER BY j.id`)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// scheduled returns the jobs that are not cancelled, by time: start in UTC, link
// and organizer.
func (h *harness) scheduled(t testing.TB) []string {
	t.Helper()
	var found []string
	for _, j := range h.jobs(t) {
		if j.Status != job.Cancelled {
			found = append(found, fmt.Sprintf("%s %s %s", j.JoinAt.Format("01-02 15:04"), shortLink(j.Meeting),
				strings.TrimSuffix(j.Email, "@example.test")))
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
	now time.Time
}

// prefixes parses networks.
func prefixes(texts ...string) (found []netip.Prefix) {
	for _, text := range texts {
		found = append(found, netip.MustParsePrefix(text))
	}
	return found
}

// newScheduler returns what keeps the jobs of events in a database.
func newScheduler(s *store.Store, now func() time.Time) *lifecycle.EventScheduler {
	jobs := lifecycle.New(lifecycle.Settings{Store: s, BaseURL: "https://standin.test", Now: now, Events: new(event.Publisher)})
	return &lifecycle.EventScheduler{Jobs: jobs, Plans: s}
}

func newHarness(t testing.TB, change func(*Settings)) *harness {
	t.Helper()
	h := &harness{now: monday}
	database, err := store.Open(t.Context(), storetest.FreshSQLite(t))
	if err != nil {
		t.Fatal(err)
	}
	key, err := calendarsync.NewKey([]byte("a secret of this test"))
	if err != nil {
		t.Fatal(err)
	}
	settings := Settings{
		Store: database, Sealer: key, Now: func() time.Time { return h.now }, Log: slog.New(slog.DiscardHandler), MaxMessage: 64 << 10,
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
	settings.Jobs = newScheduler(settings.Store, settings.Now)
	w, err := Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		settings.Jobs.Jobs.Close()
		if err := database.Close(); err != nil {
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
	for _, r := range []*runner.Runner[uuid.UUID]{h.arrivals, h.messages, h.meetings, h.replies} {
		for r.RunNext(t.Context()) {
		}
	}
	records, err := h.store.Records(t.Context(), uuid.Nil, 1)
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
