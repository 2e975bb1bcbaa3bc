package guide

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// document is a rendered page.
type document struct {
	title string
	body  template.HTML
	parts []part
}

// part is a heading and the text below it.
type part struct {
	Level   int
	Heading string
	Anchor  string
	Text    string
}

// mostHeadings is the number of headings up to which those of the third level are listed.
const mostHeadings = 36

// headings returns the headings that are listed beside the page.
func (d document) headings() []part {
	var second, both []part
	for _, one := range d.parts {
		switch one.Level {
		case 2:
			second = append(second, one)
			fallthrough
		case 3:
			both = append(both, one)
		}
	}
	if len(both) <= mostHeadings {
		return both
	}
	return second
}

// render renders a page. Links to other pages lead to their HTML. Links to files that
// are not part of the site, and pictures that it does not have, become text.
func render(name string, content []byte, source fs.FS) (document, error) {
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	root := markdown.Parser().Parse(text.NewReader(content))
	if err := adaptLinks(name, root, content, source); err != nil {
		return document{}, err
	}
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, content, root); err != nil {
		return document{}, err
	}
	var parts []part
	for node := root.FirstChild(); node != nil; node = node.NextSibling() {
		if heading, ok := node.(*ast.Heading); ok {
			anchor, _ := heading.AttributeString("id")
			id, _ := anchor.([]byte)
			parts = append(parts, part{Level: heading.Level, Heading: plainText(heading, content), Anchor: string(id)})
			continue
		}
		if last := len(parts) - 1; last >= 0 {
			parts[last].Text = strings.TrimSpace(parts[last].Text + " " + plainText(node, content))
		}
	}
	rendered := document{body: template.HTML(decorate(out.String())), parts: parts} // #nosec G203 -- our own pages; raw HTML is not rendered
	if len(parts) > 0 {
		rendered.title = parts[0].Heading
	}
	return rendered, nil
}

// adaptLinks adapts the links and pictures of a page to the site, and removes comments.
func adaptLinks(name string, root ast.Node, content []byte, source fs.FS) error {
	var unlinked, comments []ast.Node
	has := func(destination string) bool {
		_, err := fs.Stat(source, path.Join(path.Dir(name), destination))
		return err == nil
	}
	err := ast.Walk(root, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Link:
			destination, err := url.Parse(string(node.Destination))
			if err != nil {
				return ast.WalkStop, err
			}
			switch {
			case destination.IsAbs() || destination.Path == "":
			case strings.HasSuffix(destination.Path, ".md") && has(destination.Path):
				destination.Path = strings.TrimSuffix(destination.Path, ".md") + ".html"
				node.Destination = []byte(destination.String())
			default:
				unlinked = append(unlinked, node)
			}
		case *ast.HTMLBlock: // any other HTML is left out by the renderer
			if node.HTMLBlockType == ast.HTMLBlockType2 {
				comments = append(comments, node)
			}
		case *ast.Image:
			if !has(string(node.Destination)) {
				unlinked = append(unlinked, node)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, comment := range comments {
		comment.Parent().RemoveChild(comment.Parent(), comment)
	}
	for _, node := range unlinked {
		label := plainText(node, content)
		if image, ok := node.(*ast.Image); ok && label == "" {
			label = string(image.Destination)
		}
		node.Parent().ReplaceChild(node.Parent(), node, ast.NewString([]byte(label)))
	}
	return err
}

// plainText returns the text of a node, without markup, in one line.
func plainText(root ast.Node, content []byte) string {
	var b strings.Builder
	_ = ast.Walk(root, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if node.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Text:
			b.Write(node.Segment.Value(content))
			if node.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(node.Value)
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			b.Write(node.Lines().Value(content))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

var (
	codeBlocks = regexp.MustCompile(`(?s)(?:<pre><code class="language-[a-z]+">.*?</code></pre>\n)+`)
	codeBlock  = regexp.MustCompile(`(?s)<pre><code class="language-([a-z]+)">(.*?)</code></pre>\n`)
)

// languages are the names of languages on tabs, if they are not as in Markdown.
var languages = map[string]string{
	"sh": "Shell", "python": "Python", "javascript": "JavaScript", "go": "Go", "json": "JSON", "caddy": "Caddy", "nginx": "nginx",
}

// decorate makes the code blocks of a page ready for copying, blocks in different languages that
// follow each other tabs, and wide tables scrollable.
func decorate(page string) string {
	page = codeBlocks.ReplaceAllStringFunc(page, func(group string) string {
		var b strings.Builder
		blocks := codeBlock.FindAllStringSubmatch(group, -1)
		tabs := len(blocks) > 1
		if tabs {
			b.WriteString("<div class=\"tabs\">\n")
		}
		for _, block := range blocks {
			label := cmp.Or(languages[block[1]], block[1])
			fmt.Fprintf(&b, "<div class=\"code\" data-language=%q><pre tabindex=\"0\"><code>%s</code></pre></div>\n", html.EscapeString(label),
				block[2])
		}
		if tabs {
			b.WriteString("</div>\n")
		}
		return b.String()
	})
	page = strings.ReplaceAll(page, "<table>", `<div class="table" tabindex="0" role="region" aria-label="Table"><table>`)
	return strings.ReplaceAll(page, "</table>", "</table></div>")
}
