package httpapi

import (
	"fmt"
	"log/slog"
	"net/http"

	"standin/internal/httpmw"
)

// health responds as soon as the process is up.
func (a *API) health(w http.ResponseWriter, r *http.Request) error {
	httpmw.RecordOf(r).Level = slog.LevelDebug
	a.write(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
	return nil
}

// reference serves the description as a page, which loads nothing and cannot be
// framed.
func (a *API) reference(w http.ResponseWriter, _ *http.Request) error {
	page, err := a.page()
	if err != nil {
		return fmt.Errorf("render the API reference: %w", err)
	}
	header := w.Header()
	header.Set("Content-Security-Policy", page.Policy)
	header.Set("Referrer-Policy", "no-referrer")
	a.write(w, http.StatusOK, "text/html; charset=utf-8", page.HTML)
	return nil
}

func (a *API) describe(w http.ResponseWriter, _ *http.Request) error {
	a.write(w, http.StatusOK, "application/json", a.settings.Description.JSON())
	return nil
}

func (a *API) describeManifest(w http.ResponseWriter, _ *http.Request) error {
	a.write(w, http.StatusOK, "application/schema+json", a.settings.Description.ManifestSchema())
	return nil
}
