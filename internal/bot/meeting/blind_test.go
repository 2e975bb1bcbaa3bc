package meeting

import (
	"os"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"standin/internal/jobs/job"
)

// TestBlindWords checks sentences in 16 languages that were written without the patterns, as the file says: each is
// recognized, and none is taken for another screen.
func TestBlindWords(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/words/blind.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sentences []struct{ Lang, Screen, Text string }
	if err := yaml.Unmarshal(text, &sentences); err != nil {
		t.Fatal(err)
	}
	right := 0
	for _, s := range sentences {
		want := []Screen{Screen(s.Screen)}
		switch s.Screen {
		case "none":
			want = []Screen{Unknown}
		case "denied": // a locked or full meeting is either
			want = append(want, BotWall)
		}
		past := History{Requested: true, Admitted: slices.Contains([]string{"removed", "ended", "reconnecting"}, s.Screen)}
		snapshot := Snapshot{Outline: Outline{Headings: []string{s.Text}, Texts: []string{s.Text}}}
		found := siteOf(t, job.Meet).profile.classify(snapshot, past).screen
		switch {
		case slices.Contains(want, found):
			right++
		case found == Unknown:
			t.Errorf("%s: %q is unknown, not %s", s.Lang, s.Text, s.Screen)
		default:
			t.Errorf("%s: %q is %s, want %s", s.Lang, s.Text, found, want)
		}
	}
	if len(sentences) < 500 {
		t.Errorf("%d of %d sentences are right", right, len(sentences))
	}
}
