package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"

	"standin/internal/httpmw"
)

// asset is a file that pages load.
type asset struct {
	content     []byte
	contentType string
	version     string // hash of the content
}

// loadAssets reads all assets.
func loadAssets() (map[string]asset, error) {
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	assets := make(map[string]asset)
	err := fs.WalkDir(assetFiles, "assets", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := assetFiles.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		contentType := types[path[strings.LastIndex(path, "."):]]
		assets[strings.TrimPrefix(path, "assets/")] = asset{content: content, contentType: contentType, version: hex.EncodeToString(sum[:8])}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the dashboard's assets: %w", err)
	}
	return assets, nil
}

// serveAsset serves an asset. A URL with its version never changes its content.
func (d *Dashboard) serveAsset(req *pageRequest) error {
	found, ok := d.assets[req.r.PathValue("name")]
	if !ok {
		return notFound("There is no such file.")
	}
	httpmw.RecordOf(req.r).Level = slog.LevelDebug
	header := req.Header()
	header.Set("Content-Type", found.contentType)
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", `"`+found.version+`"`)
	if req.r.URL.Query().Get("v") == found.version {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if req.r.Header.Get("If-None-Match") == `"`+found.version+`"` {
		req.WriteHeader(http.StatusNotModified)
		return nil
	}
	_, _ = req.Write(found.content) // the client may be gone
	return nil
}
