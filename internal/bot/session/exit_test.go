package session

import (
	"errors"
	"strings"
	"testing"

	"standin/internal/bot/browser"
	"standin/internal/bot/report"
)

// TestPageThatUsesTooMuch checks that a browser which crashed is replaced, and that one
// which was ended because its page used too much is not.
func TestPageThatUsesTooMuch(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cause error
		retry bool
	}{
		"crash":        {errors.New("signal: segmentation fault"), true},
		"too much":     {&browser.ResourceError{Resource: "the browser's files", Limit: 1 << 30}, false},
		"page crashed": {browser.ErrPageCrashed, true},
	}
	for name, test := range tests {
		end := pageFailed(&browser.GoneError{Cause: test.cause})
		if end.retry != test.retry || end.reason != report.ReasonBrowserLost || !strings.Contains(end.detail, test.cause.Error()) {
			t.Errorf("%s: %+v, want another browser %v", name, *end, test.retry)
		}
	}
}
