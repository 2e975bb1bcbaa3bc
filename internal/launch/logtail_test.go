package launch_test

import (
	"strings"
	"testing"

	"standin/internal/launch"
)

func TestLogTail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ log, want string }{
		"empty":                     {"", ""},
		"one line":                  {"it broke\n", "it broke"},
		"last lines":                {"1\n2\n3\n\n4\n5\n", "2 | 3 | 4 | 5"},
		"escape sequences":          {"\x1b[31mred\x1b[0m \a\x00 end\r\n", "[31mred [0m end"},
		"invalid UTF-8":             {"\xff\xfebroken", "broken"},
		"right to left":             {"a\u202eb", "a b"},
		"cut within a character":    {strings.Repeat("ä", 400), "…" + strings.Repeat("ä", 300)},
		"cut before it":             {"x" + strings.Repeat("ä", 400), "…" + strings.Repeat("ä", 300)},
		"cut at an odd byte number": {strings.Repeat("ä", 400) + "x", "…" + strings.Repeat("ä", 299) + "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := launch.LogTail([]byte(test.log)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got, want := launch.Shorten(strings.Repeat("ü", 400)), strings.Repeat("ü", 300)+"…"; got != want {
		t.Errorf("a long message is %q", got)
	}
	if got := launch.Shorten(" two\nlines "); got != "two lines" {
		t.Errorf("two lines are %q", got)
	}
}
