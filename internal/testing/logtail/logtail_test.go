package logtail

import (
	"fmt"
	"strings"
	"testing"
)

func TestLast(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for number := range 50 {
		fmt.Fprintln(&long, number)
	}
	for log, want := range map[string]string{
		"":                              "",
		"one\ntwo\n":                    "one\ntwo",
		strings.Repeat("x", 301) + "\n": strings.Repeat("x", 300) + "…",
	} {
		if got := Last(log); got != want {
			t.Errorf("Last(%q) = %q, want %q", log, got, want)
		}
	}
	if got := Last(long.String()); !strings.HasPrefix(got, "20\n") || !strings.HasSuffix(got, "\n49") {
		t.Errorf("of the lines 0 to 49, these remain: %q", got)
	}
}
