package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/cors"
)

// newCORS returns middleware that lets pages of some origins call an operation from a
// browser, with an API key but without cookies. Without origins it is nil.
func newCORS(origins []string) (func(http.Handler) http.Handler, error) {
	if len(origins) == 0 {
		return nil, nil
	}
	for _, origin := range origins {
		parsed, err := url.Parse(origin)
		if err != nil || parsed.Host == "" || parsed.Scheme+"://"+parsed.Host != origin || parsed.Scheme != "https" && parsed.Scheme != "http" {
			return nil, fmt.Errorf("the CORS origin %q is not a scheme and a host such as https://app.example.com", origin)
		}
		if strings.Contains(origin, "*") {
			return nil, fmt.Errorf("the CORS origin %q has a wildcard; list each origin", origin)
		}
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{"Authorization", "Content-Type", "Last-Event-ID", "Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"},
		ExposedHeaders: []string{
			"X-Request-Id", warningHeader, ignoredFieldsHeader, "Idempotent-Replayed", "Location", "Retry-After",
			"ETag", "Accept-Ranges", "Content-Range", "Content-Length",
		},
		MaxAge: int((2 * time.Hour).Seconds()),
	}).Handler, nil
}

// forPages adds CORS to the operations that pages of other origins may call: those with
// an API key, and the description.
func forPages(shared func(http.Handler) http.Handler, path, security string, handle http.Handler) http.Handler {
	if shared != nil && (security == "apiKey" || strings.HasPrefix(path, "/openapi.")) {
		return shared(handle)
	}
	return handle
}
