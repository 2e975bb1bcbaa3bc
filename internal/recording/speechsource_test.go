package recording

import (
	"testing"

	"standin/internal/ingest"
)

// TestSpeechSource checks that the manifest names the evidence of speech of all
// attempts, and none when nothing is known.
func TestSpeechSource(t *testing.T) {
	t.Parallel()
	speech := []ingest.Speech{{PersonID: "ada"}}
	for name, c := range map[string]struct {
		reports []ingest.Report
		want    SpeechSource
	}{
		"no report":                      {nil, SpeechUnknown},
		"nothing is known":               {[]ingest.Report{{}}, SpeechUnknown},
		"a report of an earlier version": {[]ingest.Report{{Speech: speech}}, SpeechByPage},
		"marks":                          {[]ingest.Report{{SpeechSources: []string{"page"}}}, SpeechByPage},
		"levels":                         {[]ingest.Report{{SpeechSources: []string{"audio"}, Speech: speech}}, SpeechByAudio},
		"one attempt each":               {[]ingest.Report{{SpeechSources: []string{"audio"}}, {SpeechSources: []string{"page"}}}, SpeechByPageAndAudio},
		"an unknown kind":                {[]ingest.Report{{SpeechSources: []string{"guess"}}}, SpeechUnknown},
	} {
		if got := (&builder{reports: c.reports}).speechSource(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
