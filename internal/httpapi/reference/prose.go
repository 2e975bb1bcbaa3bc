package reference

import (
	"html"
	"html/template"
	"regexp"
	"strings"
)

// The descriptions are Markdown. Of it they use paragraphs, **bold** and
// `code`, and so does this page.
var (
	codeForm = regexp.MustCompile("`([^`]+)`")
	boldForm = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// paragraphs is a description over several paragraphs.
func paragraphs(text string) template.HTML {
	var out strings.Builder
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if paragraph != "" {
			out.WriteString("<p>" + string(inline(paragraph)) + "</p>")
		}
	}
	return template.HTML(out.String()) // #nosec G203 -- escaped by inline
}

// inline is a description within a line.
func inline(text string) template.HTML {
	escaped := html.EscapeString(strings.TrimSpace(text))
	escaped = codeForm.ReplaceAllString(escaped, "<code>$1</code>")
	escaped = boldForm.ReplaceAllString(escaped, "<strong>$1</strong>")
	return template.HTML(escaped) // #nosec G203 -- escaped above
}
