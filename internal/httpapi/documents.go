package httpapi

import (
	"log/slog"
	"net/http"

	"standin/internal/httpapi/reference"
	"standin/internal/httpmw"
)

// health responds as soon as the process is up.
func (a *API) health(w http.ResponseWriter, r *http.Request) error {
	httpmw.RecordOf(r).Level = slog.LevelDebug
	a.write(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
	return nil
}

// reference serves the page that shows the description.
func (a *API) reference(w http.ResponseWriter, _ *http.Request) error {
	header := w.Header()
	header.Set("Content-Security-Policy", reference.Policy)
	header.Set("Referrer-Policy", "no-referrer")
	a.write(w, http.StatusOK, "text/html; charset=utf-8", reference.Page)
	return nil
}

// referenceAsset serves a script or a style of that page.
func (a *API) referenceAsset(w http.ResponseWriter, r *http.Request) error {
	content, mediaType, ok := reference.Asset(r.PathValue("name"))
	if !ok {
		return noSuchPath(w, r)
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	a.write(w, http.StatusOK, mediaType, content)
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
