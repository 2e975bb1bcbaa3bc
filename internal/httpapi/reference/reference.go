// Package reference writes the API description as a page for people: every
// operation with its fields, statuses and examples, and every schema. The page
// is one text without scripts, and needs nothing from elsewhere.
//
// It knows OpenAPI and HTML. It knows nothing of what the operations do: all
// that is to be read stands in the description.
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

// Page is the reference, ready to be served.
type Page struct {
	HTML []byte

	// Policy is the Content-Security-Policy that the page needs: its own style
	// and nothing else.
	Policy string
}

// New writes the page. It fails when the description has something that the
// page does not know how to show.
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
		return nil, fmt.Errorf("fill the page: %w", err)
	}
	sum := sha256.Sum256([]byte(styleCSS))
	return &Page{
		HTML: page.Bytes(),
		Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}, nil
}
