package zoomsdk

import (
	"embed"
	"fmt"
	"html/template"
	"path"
	"strings"
)

// parts holds the page's own scripts and styles, below partsPath.
//
//go:embed page
var parts embed.FS

// documentTemplate is the page. The scripts read their settings from data attributes,
// so that the document needs no inline script.
var documentTemplate = template.Must(template.New("document").Parse(`<!doctype html>
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
`))

// document is the data of the template.
type document struct {
	Title   string
	Parts   string
	Version string // version of the SDK
	Library string
	Left    string
	Service string
	Scripts []string
}

// joinDocument returns the page in which the SDK runs.
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
	var text strings.Builder
	if err := documentTemplate.Execute(&text, d); err != nil {
		return "", fmt.Errorf("render the document: %w", err)
	}
	return text.String(), nil
}

// zoomSources returns Zoom's hosts in the form of a content security policy.
func zoomSources(schemes ...string) string {
	var sources []string
	for _, scheme := range schemes {
		for _, domain := range []string{"zoom.us", "zoom.com", governmentDomain} {
			sources = append(sources, scheme+"://"+domain, scheme+"://*."+domain)
		}
	}
	return strings.Join(sources, " ")
}
