package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"standin/client"
	"standin/internal/ingest"
	"standin/internal/job"
)

const folder = "../../clients"

// rows returns the names of clients/conformance.json.
func rows(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, "conformance.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Rows map[string]string `json:"rows"`
	}
	if err := json.Unmarshal(content, &list); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(list.Rows))
}

// pagedJobs is more than a page of a list.
const pagedJobs = 101

// world is a service and what the tests of a client need to know of it.
type world struct {
	harness
	faults string // URL of a proxy that breaks requests

	uploadJob, uploadToken string // a job that a bot may upload files for
}

func newWorld(t *testing.T) world {
	t.Helper()
	h := newHarness(t)
	w := world{harness: h, faults: newFaults(t, h.base)}
	later := time.Now().Add(time.Hour)
	for number := range pagedJobs {
		_, _, err := h.CreateJob(t.Context(), client.NewJob{
			ExternalID: fmt.Sprintf("page %d", number), MeetingURL: "https://meet.google.com/abc-defg-hij",
			JoinAt: &later, Metadata: json.RawMessage(`{"list":"pages"}`),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, key, err := h.keys.Issue(t.Context(), "ada", "", job.Live)
	if err != nil {
		t.Fatal(err)
	}
	live, err := client.New(h.base, key)
	if err != nil {
		t.Fatal(err)
	}
	created, _, err := live.CreateJob(t.Context(), client.NewJob{ExternalID: "upload", MeetingURL: "https://meet.google.com/abc-defg-hij"})
	if err != nil {
		t.Fatal(err)
	}
	w.uploadJob, w.uploadToken = created.ID, ingest.Token([]byte(signingKey), created.ID, 0)
	return w
}
