// Package reference renders the API description as an HTML page: every operation
// with its fields, statuses and examples, and every schema. The page has no
// scripts and loads nothing.
package reference

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the template and its style
	"encoding/base64"
	"fmt"
	"html/template"

	"standin/api"
)

//go:embed page.html
var pageHTML string

//go:embed style.css
var styleCSS string

// Page is the rendered reference.
type Page struct {
	HTML []byte

	// Policy is the Content-Security-Policy of the page, which allows only its own
	// style.
	Policy string
}

// New renders the page. It fails when the description has an unsupported element.
func New(description *api.Description) (*Page, error) {
	layout, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("parse the page: %w", err)
	}
	content, err := read(description)
	if err != nil {
		return nil, err
	}
	content.Style = template.CSS(styleCSS) // #nosec G203 -- our own file
	var page bytes.Buffer
	if err := layout.Execute(&page, content); err != nil {
		return nil, fmt.Errorf("render the page: %w", err)
	}
	sum := sha256.Sum256([]byte(styleCSS))
	return &Page{
		HTML: page.Bytes(),
		Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}, nil
}
