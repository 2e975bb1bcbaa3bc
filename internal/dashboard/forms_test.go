package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestLargeForms posts forms with too many fields, with a field that is too long, and
// with more bytes than a form may have.
func TestLargeForms(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.ada()
	ada := h.signedIn("ada@example.test")
	many := url.Values{}
	for i := range 101 {
		many.Set(fmt.Sprint("field", i), "x")
	}
	for name, test := range map[string]struct {
		form url.Values
		want int
	}{
		"fields":      {many, http.StatusBadRequest},
		"external ID": {url.Values{"externalId": {strings.Repeat("a", 500<<10)}, "mode": {"test"}}, http.StatusBadRequest},
		"bytes":       {url.Values{"externalId": {strings.Repeat("a", 2<<20)}, "mode": {"test"}}, http.StatusRequestEntityTooLarge},
	} {
		test.form.Set("meetingUrl", "https://meet.google.com/abc-defg-hij")
		if got := ada.submit("/jobs/new", "/jobs", test.form); got.status != test.want {
			t.Errorf("%s: %d, want %d", name, got.status, test.want)
		}
	}
}
