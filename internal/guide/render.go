package guide

import (
	"bytes"
	"html/template"
	"net/url"
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

// part is a heading and the text below it, for the search.
type part struct {
	Heading string `json:"heading"`
	Anchor  string `json:"anchor"`
	Text    string `json:"text"`
}

// entry is a part in the index of the search.
type entry struct {
	Page  string `json:"page"`
	Title string `json:"title"`
	part
}

// render renders a page. Links to other pages lead to their HTML. Links to files that
// are not part of the site, and pictures that hasFile does not know, become text.
func render(source []byte, hasFile func(name string) bool) (document, error) {
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	root := markdown.Parser().Parse(text.NewReader(source))
	if err := adaptLinks(root, source, hasFile); err != nil {
		return document{}, err
	}
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, source, root); err != nil {
		return document{}, err
	}
	parts := split(root, source)
	rendered := document{body: template.HTML(drawDiagrams(out.String())), parts: parts} // #nosec G203 -- our own pages; raw HTML is not rendered
	if len(parts) > 0 {
		rendered.title = parts[0].Heading
	}
	return rendered, nil
}

// adaptLinks adapts the links and pictures of a page to the site, and removes comments.
func adaptLinks(root ast.Node, source []byte, hasFile func(string) bool) error {
	var unlinked, comments []ast.Node
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
			case strings.HasSuffix(destination.Path, ".md") && !strings.Contains(destination.Path, "/"):
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
			if !hasFile(string(node.Destination)) {
				unlinked = append(unlinked, node)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, comment := range comments {
		comment.Parent().RemoveChild(comment.Parent(), comment)
	}
	for _, node := range unlinked {
		label := plainText(node, source)
		if image, ok := node.(*ast.Image); ok && label == "" {
			label = string(image.Destination)
		}
		node.Parent().ReplaceChild(node.Parent(), node, ast.NewString([]byte(label)))
	}
	return err
}

// split returns the text of a page by heading.
func split(root ast.Node, source []byte) []part {
	var parts []part
	for node := root.FirstChild(); node != nil; node = node.NextSibling() {
		if heading, ok := node.(*ast.Heading); ok {
			anchor, _ := heading.AttributeString("id")
			id, _ := anchor.([]byte)
			parts = append(parts, part{Heading: plainText(heading, source), Anchor: string(id)})
			continue
		}
		if last := len(parts) - 1; last >= 0 {
			parts[last].Text = strings.TrimSpace(parts[last].Text + " " + plainText(node, source))
		}
	}
	return parts
}

// plainText returns the text of a node, without markup, in one line.
func plainText(root ast.Node, source []byte) string {
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
			b.Write(node.Segment.Value(source))
			if node.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(node.Value)
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			b.Write(node.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
