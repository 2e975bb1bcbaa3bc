package zoomsdk

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// parts are what the page is made of, beside the SDK.
//
//go:embed page
var parts embed.FS

// pageParts returns the scripts and styles.
func pageParts() fs.FS {
	sub, err := fs.Sub(parts, "page")
	if err != nil {
		return parts // cannot be: the name is a valid path
	}
	return sub
}

// documentText is the frame of both documents. What the script must know comes
// in data attributes, so that no script stands in the document itself.
const documentText = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{{.Title}}</title>
<link rel="stylesheet" href="{{.Parts}}page.css">
</head>
<body data-version="{{.Version}}" data-library="{{.Library}}" data-left="{{.Left}}" data-service="{{.Service}}">
{{range .Scripts}}<script src="{{.}}"></script>
{{end}}</body>
</html>
`

// document is what fills the frame.
type document struct {
	Title   string
	Parts   string
	Version string // of the SDK
	Library string
	Left    string
	Service string
	Scripts []string
}

// write fills the frame.
func (d document) write() (string, error) {
	frame, err := template.New("document").Parse(documentText)
	if err != nil {
		return "", fmt.Errorf("read the document's frame: %w", err)
	}
	var text strings.Builder
	if err := frame.Execute(&text, d); err != nil {
		return "", fmt.Errorf("write the document: %w", err)
	}
	return text.String(), nil
}

// joinDocument is the page in which the SDK runs.
func joinDocument(lib *library, service string) (string, error) {
	d := document{
		Title: "Zoom Meeting SDK", Parts: partsPath, Version: lib.version,
		Library: filesPath + "lib", Left: leftPath, Service: service,
	}
	for _, name := range lib.scripts {
		d.Scripts = append(d.Scripts, filesPath+strings.TrimPrefix(name, distDir+"/"))
	}
	for _, name := range []string{"events.js", "commands.js", "page.js"} {
		d.Scripts = append(d.Scripts, path.Join(partsPath, name))
	}
	return d.write()
}

// leftDocument is the page after the meeting. It still tells what came before.
func leftDocument() string {
	return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Left</title>` +
		`<script src="` + partsPath + `left.js"></script>`
}

// zoomSources are Zoom's own hosts, as a policy lists them.
func zoomSources(schemes ...string) string {
	var sources []string
	for _, scheme := range schemes {
		for _, domain := range []string{"zoom.us", "zoom.com", governmentDomain} {
			sources = append(sources, scheme+"://"+domain, scheme+"://*."+domain)
		}
	}
	return strings.Join(sources, " ")
}

// setPolicy sets what an answer lets the browser do. Pages may load scripts
// from the bot alone, and may talk to the bot and to Zoom. Texts are evaluated
// by the SDK itself when it joins (seen in version 6.2.0), and WebAssembly
// before. Pages are isolated from other origins, because the SDK has no shared
// memory otherwise; of other origins' pictures the credentialless kind asks
// nothing but that they come without cookies.
func setPolicy(header http.Header) {
	header.Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'none'",
		"script-src 'self' blob: 'unsafe-eval'",
		"worker-src 'self' blob:",
		"connect-src 'self' blob: data: " + zoomSources("https", "wss"),
		"style-src 'self' 'unsafe-inline'",
		"img-src 'self' blob: data: " + zoomSources("https"),
		"media-src 'self' blob: data:",
		"font-src 'self' data:",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors 'none'",
	}, "; "))
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Embedder-Policy", "credentialless")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "origin") // the path is secret
	header.Set("X-Content-Type-Options", "nosniff")
}
