package meeting

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"standin/internal/jobs/job"
)

// TestWords checks that sentences in sixteen languages are recognized as their screens, in most of which the authors of words.yaml had
// not seen them, and that ordinary sentences are recognized as none.
func TestWords(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/words/sentences.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var languages map[string]map[string][]string
	if err := yaml.Unmarshal(text, &languages); err != nil {
		t.Fatal(err)
	}
	wanted := map[string][]Screen{"closed": {Denied, BotWall}, "nothing": {Unknown}}
	if len(languages) != 16 {
		t.Errorf("%d languages", len(languages))
	}
	for language, screens := range languages {
		for screen, sentences := range screens {
			want := wanted[screen]
			if want == nil {
				want = []Screen{Screen(screen)}
			}
			if screen != "nothing" && len(sentences) < 3 {
				t.Errorf("%s: %d sentences of %s", language, len(sentences), screen)
			}
			past := History{Requested: true, Admitted: slices.Contains([]string{"removed", "ended", "reconnecting"}, screen)}
			for _, sentence := range sentences {
				for _, platform := range []job.Platform{job.Meet, job.Teams, job.ZoomWeb} {
					snapshot := Snapshot{Outline: Outline{Headings: []string{sentence}, Texts: []string{sentence}}}
					if found := siteOf(t, platform).profile.classify(snapshot, past); !slices.Contains(want, found.screen) {
						t.Errorf("%s: %q is %s on %s, want %s", language, sentence, found.screen, platform, want)
					}
				}
			}
		}
	}
}

// TestOwnWords checks that words.yaml in the operator's folder replaces the embedded words, and that its mistakes are told with their lines.
// It is not parallel: words are those of the process.
func TestOwnWords(t *testing.T) {
	embedded := string(wordsFile)
	t.Cleanup(func() { operatorWords.Store(nil) })
	for _, c := range []struct {
		name, text, want string
	}{
		{"no YAML", "phrases: [", "did not find expected"},
		{"an empty file", "", "line 1: the key badges is missing"},
		{"an unknown key", strings.Replace(embedded, "\n  denied:", "\n  refused:", 1), "neither a key of the embedded words.yaml nor a phrase: phrases.refused"},
		{"a missing list", embedded[:strings.Index(embedded, "\nicons:")], "line 1: the key icons is missing"},
		{"an empty phrase", strings.Replace(embedded, "\n  removed:", "\n  removed:\n    - ['*']", 1), `nor a phrase: phrases.removed "*"`},
		{"an unmatched parenthesis", strings.Replace(embedded, "\n  removed:", "\n  removed:\n    - ['(a|b']", 1), `nor a phrase: phrases.removed "(a|b"`},
		{"keys instead of a list", strings.Replace(embedded, "\n  removed:", "\n  removed: {en: [a]}\n  other:", 1), "nor a phrase: phrases.other"},
	} {
		folder := t.TempDir()
		file := filepath.Join(folder, "words.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(folder); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), file) ||
			!strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	folder := t.TempDir()
	own := strings.Replace(embedded, "\n  removed:", "\n  removed:\n    - [(you|they) walked*plank]", 1)
	if err := os.WriteFile(filepath.Join(folder, "words.yaml"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	profiles, err := Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := Snapshot{Outline: Outline{Headings: []string{"You walked the plank!"}, Texts: []string{"You walked the plank!"}}}
	if found := profiles[job.Meet].classify(snapshot, in); found.screen != Removed {
		t.Errorf("by the own words, the page is %s", found.screen)
	}
}
