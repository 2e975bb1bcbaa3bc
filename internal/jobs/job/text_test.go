package job

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWithoutRepeatedChat checks what remains of the messages of several attempts.
// A message is "attempt second text".
func TestWithoutRepeatedChat(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ all, want string }{
		"one attempt":              {"0:1:a 0:2:a 0:3:b", "a a b"},
		"no history":               {"0:1:a 0:2:b 1:9:c 1:10:a", "a b c a"},
		"the whole history":        {"0:1:a 0:2:b 1:9:a 1:9:b 1:20:b", "a b b"},
		"its end":                  {"0:1:a 0:2:b 0:3:c 1:9:b 1:10:c 1:11:d", "a b c d"},
		"and a lost message":       {"0:1:a 0:2:b 1:9:a 1:9:b 1:9:c", "a b c"},
		"only a part of it":        {"0:1:a 0:2:b 1:9:a 1:9:c", "a b a c"},
		"written again later":      {"0:1:a 0:2:b 1:9:x 1:20:a 1:21:b", "a b x a b"},
		"three attempts":           {"0:1:a 1:9:a 1:9:b 2:20:a 2:20:b 2:21:c", "a b c"},
		"an attempt without texts": {"0:1:a 2:20:a 2:20:b", "a b"},
	} {
		var texts []MeetingText
		for i, field := range strings.Fields(test.all) {
			parts := strings.Split(field, ":")
			second, err := time.ParseDuration(parts[1] + "s")
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, MeetingText{
				Sequence: int64(i + 1), Attempt: int(parts[0][0] - '0'), Kind: ChatText, Text: parts[2], StartedAt: time.Unix(0, 0).Add(second),
			})
		}
		var got []string
		for _, text := range WithoutRepeatedChat(texts) {
			got = append(got, text.Text)
		}
		if !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("%s: %v, want %s", name, got, test.want)
		}
	}
}

// FuzzWithoutRepeatedChat checks that nothing of the first attempt is lost.
func FuzzWithoutRepeatedChat(f *testing.F) {
	f.Add("ab", "abc", "c")
	f.Fuzz(func(t *testing.T, first, second, third string) {
		var texts []MeetingText
		for attempt, messages := range []string{first, second, third} {
			for i, message := range strings.Split(messages, "") {
				texts = append(texts, MeetingText{
					Sequence: int64(len(texts) + 1), Attempt: attempt, Kind: ChatText, Text: message,
					StartedAt: time.Unix(int64(attempt*1000+i), 0),
				})
			}
		}
		kept := WithoutRepeatedChat(slices.Clone(texts))
		if count := len(strings.Split(first, "")); first != "" && !slices.Equal(kept[:min(count, len(kept))], texts[:count]) {
			t.Errorf("%q changed to %v", first, kept)
		}
	})
}
