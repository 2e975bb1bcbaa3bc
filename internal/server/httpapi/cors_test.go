package httpapi_test

import (
	"strings"
	"testing"

	"standin/internal/server/httpapi"
)

// TestCORS checks what a browser asks and reads before a page of another origin gets a
// response.
func TestCORS(t *testing.T) {
	t.Parallel()
	const page, stranger = "https://app.example.com", "https://other.example.com"
	s := newSurface(t, func(settings *httpapi.Settings) { settings.CORSOrigins = []string{page, "http://localhost:3000"} })
	preflight := func(origin, method string) map[string]string {
		return map[string]string{
			"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": "authorization,content-type",
		}
	}
	for name, test := range map[string]struct {
		request request
		status  int
		allowed string // Access-Control-Allow-Origin
	}{
		"preflight": {request{"OPTIONS", jobsPath, "", preflight(page, "POST"), ""}, 204, page},
		"preflight of a job": {
			request{"OPTIONS", jobsPath + "/x", "", preflight("http://localhost:3000", "PATCH"), ""}, 204, "http://localhost:3000",
		},
		"preflight of a stranger":      {request{"OPTIONS", jobsPath, "", preflight(stranger, "POST"), ""}, 204, ""},
		"preflight of a bot's path":    {request{"OPTIONS", "/api/v1/ingest", "", preflight(page, "POST"), ""}, 401, ""},
		"preflight of an admin path":   {request{"OPTIONS", "/api/v1/admin/host", "", preflight(page, "GET"), ""}, 401, ""},
		"preflight of the device flow": {request{"OPTIONS", "/api/v1/cli-auth/init", "", preflight(page, "POST"), ""}, 405, ""},
		"list":                         {request{"GET", jobsPath, adasKey, map[string]string{"Origin": page}, ""}, 200, page},
		"list of a stranger":           {request{"GET", jobsPath, adasKey, map[string]string{"Origin": stranger}, ""}, 200, ""},
		"error":                        {request{"GET", jobsPath, "", map[string]string{"Origin": page}, ""}, 401, page},
		"description":                  {request{"GET", "/openapi.json", "", map[string]string{"Origin": page}, ""}, 200, page},
		"dashboard's login":            {request{"GET", "/healthz", "", map[string]string{"Origin": page}, ""}, 200, ""},
	} {
		got := s.send(t, test.request)
		if got.status != test.status || got.header.Get("Access-Control-Allow-Origin") != test.allowed {
			t.Errorf("%s: %d, allowed origin %q; want %d, %q", name, got.status, got.header.Get("Access-Control-Allow-Origin"), test.status,
				test.allowed)
		}
		if got.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: cookies are allowed", name)
		}
	}
	got := s.send(t, request{"GET", jobsPath + "?unknown=1", adasKey, map[string]string{"Origin": page}, ""})
	if exposed := got.header.Get("Access-Control-Expose-Headers"); !strings.Contains(exposed, "X-Ignored-Fields") ||
		!strings.Contains(exposed, "Retry-After") {
		t.Errorf("the exposed headers are %q", exposed)
	}
	without := newSurface(t, nil)
	if got := without.send(t, request{
		"OPTIONS", jobsPath, adasKey, preflight(page, "POST"), "",
	}); got.status != 405 || got.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("without origins: %d, %v", got.status, got.header)
	}
}

// TestInvalidOptions checks that an API does not start with settings that it cannot use.
func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	var valid httpapi.Settings
	newSurface(t, func(settings *httpapi.Settings) { valid = *settings })
	for name, change := range map[string]func(*httpapi.Settings){
		"wildcard":       func(s *httpapi.Settings) { s.CORSOrigins = []string{"*"} },
		"part wildcard":  func(s *httpapi.Settings) { s.CORSOrigins = []string{"https://*.example.com"} },
		"path":           func(s *httpapi.Settings) { s.CORSOrigins = []string{"https://example.com/"} },
		"no scheme":      func(s *httpapi.Settings) { s.CORSOrigins = []string{"example.com"} },
		"address":        func(s *httpapi.Settings) { s.SecurityContact = "security@example.com" },
		"line break":     func(s *httpapi.Settings) { s.SecurityContact = "mailto:a@example.com\nContact: mailto:b@example.com" },
		"other protocol": func(s *httpapi.Settings) { s.SecurityContact = "http://example.com" },
	} {
		settings := valid
		change(&settings)
		if _, err := httpapi.New(settings); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
