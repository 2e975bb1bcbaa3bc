package launch_test

import (
	"strings"
	"testing"

	"standin/internal/launch"
)

func TestLogTail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ log, want string }{
		"empty":            {"", ""},
		"one line":         {"it broke\n", "it broke"},
		"last lines":       {"1\n2\n3\n\n4\n5\n", "2 | 3 | 4 | 5"},
		"escape sequences": {"\x1b[31mred\x1b[0m \a\x00 end\r\n", "[31mred[0m end"},
		"invalid UTF-8":    {"\xffbroken", "�broken"},
		"right to left":    {"a\u202eb", "ab"},
		"long":             {strings.Repeat("ä", 700) + "x", "…" + strings.Repeat("ä", 599) + "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := launch.LogTail([]byte(test.log)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got, want := launch.Shorten(strings.Repeat("ü", 700)), strings.Repeat("ü", 600); got != want {
		t.Errorf("a long message is %q", got)
	}
	if got := launch.Shorten(" two\nlines "); got != "two lines" {
		t.Errorf("two lines are %q", got)
	}
}
