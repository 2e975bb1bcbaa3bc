package reference

import (
	"html"
	"html/template"
	"regexp"
	"strings"
)

// Descriptions are Markdown of which only paragraphs, **bold** and `code` are
// supported.
var (
	codeForm = regexp.MustCompile("`([^`]+)`")
	boldForm = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// paragraphs renders a description of several paragraphs.
func paragraphs(text string) template.HTML {
	var out strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if paragraph != "" {
			out.WriteString("<p>" + string(inline(paragraph)) + "</p>")
		}
	}
	return template.HTML(out.String()) // #nosec G203 -- escaped by inline
}

// inline renders a description of one paragraph.
func inline(text string) template.HTML {
	escaped := html.EscapeString(strings.TrimSpace(text))
	escaped = codeForm.ReplaceAllString(escaped, "<code>$1</code>")
	escaped = boldForm.ReplaceAllString(escaped, "<strong>$1</strong>")
	return template.HTML(escaped) // #nosec G203 -- escaped above
}
