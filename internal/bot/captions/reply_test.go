package captions

import (
	"strings"
	"testing"
)

// TestReadReply: only a whole message is an answer.
func TestReadReply(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"yes": "yes", "Yes!": "yes", " YES. ": "yes", "ok": "yes", "Okay": "yes", "yes, please": "yes", "Sure 👍": "", "👍": "yes", "👍🏽": "yes",
		"go ahead": "yes", "Allow": "yes", "that’s fine": "yes", "No problem!": "yes", "yes\n": "yes",
		"no": "no", "No!!": "no", "no, thanks": "no", "Don’t": "no", "please don't record": "no", "👎": "no", "Not allowed.": "no", "stop recording": "no",
		"": "", "...": "", "I said yes to lunch": "", "yesterday": "", "no idea": "", "know": "", "is it ok?": "", "ok so next topic": "",
		"yes or no": "", "notes": "", "yes no": "", "record": "",
		strings.Repeat("yes ", 500): "",
	} {
		granted, ok := readReply(text)
		got := map[bool]string{true: "yes", false: "no"}[granted]
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%.40q is read as %q, want %q", text, got, want)
		}
	}
	for _, text := range append(consentingReplies(), refusingReplies()...) {
		if _, ok := readReply(text); !ok {
			t.Errorf("%q is in a list and never matches", text)
		}
	}
	for _, text := range consentingReplies() {
		if granted, _ := readReply(text); !granted {
			t.Errorf("%q is in both lists", text)
		}
	}
}
