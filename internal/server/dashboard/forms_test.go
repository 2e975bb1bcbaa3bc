package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestFormSentTwice checks that a form that is sent twice makes one job, and that the
// form filled in differently, or another one, makes another.
func TestFormSentTwice(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.ada()
	ada := h.signedIn("ada@example.test")
	formID := regexp.MustCompile(`name="formId" value="([^"]+)"`)
	open := func() string {
		found := formID.FindStringSubmatch(ada.get("/jobs/new").body)
		if found == nil {
			t.Fatal("the form has no ID")
		}
		return found[1]
	}
	send := func(id, name string) string {
		sent := ada.submit("/jobs/new", "/jobs", url.Values{
			"formId": {id}, "displayName": {name}, "mode": {"test"}, "meetingUrl": {"https://meet.google.com/abc-defg-hij"},
		})
		path, _, _ := strings.Cut(sent.header.Get("Location"), "?")
		if sent.status != http.StatusSeeOther || !strings.HasPrefix(path, "/jobs/") {
			t.Fatalf("the form was answered with %d, to %q", sent.status, path)
		}
		return path
	}
	first := open()
	sent := send(first, "Notes")
	if again := send(first, "Notes"); again != sent {
		t.Errorf("sent twice, the form made %s and %s", sent, again)
	}
	if changed := send(first, "Other notes"); changed == sent {
		t.Error("filled in differently, the form made no other job")
	}
	if other := send(open(), "Notes"); other == sent {
		t.Error("another form made no other job")
	}
}

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
		ada.submit("/jobs/new", "/jobs", test.form).want(t, name, test.want)
	}
}
