package mail

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// corpusTest is an expectation of testdata/corpus.yaml.
type corpusTest struct {
	Messages string
	Jobs     []string
	Verdict  string
	Detail   string
	At       time.Time // monday when zero
}

// november is the time of the later messages.
var november = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// readYAML reads a file of tests.
func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err := errors.Join(err, yaml.Unmarshal(content, into)); err != nil {
		t.Fatal(err)
	}
}

// TestCorpus checks which jobs messages cause, and that receiving the last one again and
// continuing the series changes nothing.
func TestCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.eml")
	if err != nil || len(files) < 60 {
		t.Fatalf("the corpus has %d messages: %v", len(files), err)
	}
	var corpus []corpusTest
	readYAML(t, "corpus", &corpus)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".eml")
		if !slices.ContainsFunc(corpus, func(test corpusTest) bool { return slices.Contains(strings.Fields(test.Messages), name) }) {
			t.Errorf("no expectation for %s", name)
		}
	}
	for _, test := range corpus {
		name := test.Messages
		if !test.At.IsZero() {
			name += test.At.Format(" on 01-02")
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, func(s *Settings) { s.Policy.MeetingHosts = []string{"zoom-x.de"} })
			if !test.At.IsZero() {
				h.now = test.At
			}
			var got Record
			for name := range strings.FieldsSeq(test.Messages) {
				got = h.process(t, sample(t, name))
			}
			if test.Verdict == "" {
				test.Verdict = accepted
			}
			if got.Verdict != test.Verdict || !strings.Contains(got.Detail, test.Detail) || test.Detail == "" && got.Detail != "" {
				t.Errorf("the verdict is %s: %q, want %s: %q", got.Verdict, got.Detail, test.Verdict, test.Detail)
			}
			slices.Sort(test.Jobs)
			if jobs := h.scheduled(t); !slices.Equal(jobs, test.Jobs) {
				t.Errorf("jobs %q, want %q", jobs, test.Jobs)
			}
			messages := strings.Fields(test.Messages)
			again := h.process(t, append(sample(t, messages[len(messages)-1]), '\n'))
			if jobs := h.scheduled(t); !slices.Equal(jobs, test.Jobs) || len(again.Changes) > 0 {
				t.Errorf("after the same message: jobs %q, changes %+v", jobs, again.Changes)
			}
		})
	}
}
