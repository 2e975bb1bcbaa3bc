package httpapi_test

import (
	"io"
	"net/http"
	"testing"

	"standin/internal/server/httpapi"
)

// TestMetricsRequireASecret checks that metrics require the metrics secret or the
// admin secret, and that the path does not exist without metrics.
func TestMetricsRequireASecret(t *testing.T) {
	t.Parallel()
	s := newSurface(t, func(settings *httpapi.Settings) {
		settings.MetricsSecret = "scrape me"
		settings.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "standin_up 1\n") })
	})
	for name, test := range map[string]struct {
		method, header string
		want           int
	}{
		"metrics secret": {http.MethodGet, "Bearer scrape me", http.StatusOK},
		"admin secret":   {http.MethodGet, "Bearer " + adminSecret, http.StatusOK},
		"HEAD":           {http.MethodHead, "Bearer scrape me", http.StatusOK},
		"wrong secret":   {http.MethodGet, "Bearer scrape you", http.StatusUnauthorized},
		"empty secret":   {http.MethodGet, "Bearer ", http.StatusUnauthorized},
		"another scheme": {http.MethodGet, "Basic scrape me", http.StatusUnauthorized},
		"no header":      {http.MethodGet, "", http.StatusUnauthorized},
		"another method": {http.MethodPost, "Bearer scrape me", http.StatusMethodNotAllowed},
	} {
		got := s.send(t, request{test.method, "/metrics", "", map[string]string{"Authorization": test.header}, ""})
		if got.status != test.want {
			t.Errorf("%s: %d, want %d", name, got.status, test.want)
		}
	}
	without := newSurface(t, nil)
	if got := without.send(t, request{http.MethodGet, "/metrics", adminSecret, nil, ""}); got.status != http.StatusNotFound {
		t.Errorf("without metrics: %d", got.status)
	}
}
