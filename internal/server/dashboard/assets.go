package dashboard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"path"
	"sync"
	"time"

	"standin/internal/base/brand"
)

// asset is a file that pages load.
type asset struct {
	content     []byte
	contentType string
	version     string // hash of the content
}

// assets returns the assets by name: the dashboard's own, and those of all pages.
var assets = sync.OnceValue(func() map[string]asset {
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	files := brand.Files()
	files["standin.css"], files["standin.js"] = styleCSS, scriptJS
	loaded := make(map[string]asset)
	for name, content := range files {
		sum := sha256.Sum256(content)
		loaded[name] = asset{content: content, contentType: types[path.Ext(name)], version: hex.EncodeToString(sum[:8])}
	}
	return loaded
})

// serveAsset serves an asset. A URL with its version never changes its content.
func (d *Dashboard) serveAsset(req *pageRequest) error {
	found, ok := assets()[req.PathValue("name")]
	if !ok {
		return notFound("There is no such file.")
	}
	req.Level = slog.LevelDebug
	header := req.Header()
	header.Set("Content-Type", found.contentType)
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", `"`+found.version+`"`)
	if req.URL.Query().Get("v") == found.version {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(req, req.Request, "", time.Time{}, bytes.NewReader(found.content))
	return nil
}
