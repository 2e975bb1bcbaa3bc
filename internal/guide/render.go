package guide

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"net/url"
	"regexp"
	"slices"
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

// mermaid is a state diagram in a rendered page.
var mermaid = regexp.MustCompile(`(?s)<pre><code class="language-mermaid">(.*?)</code></pre>`)

// transition is a line "from --> to: label" of a state diagram.
type transition struct{ from, to, label string }

// transitionLine matches a transition between two states.
var transitionLine = regexp.MustCompile(`^\s*(\w+) --> (\w+)(?:: (.*))?$`)

// drawDiagrams replaces the state diagrams of a page by drawings.
func drawDiagrams(page string) string {
	return mermaid.ReplaceAllStringFunc(page, func(block string) string {
		var transitions []transition
		for row := range strings.Lines(html.UnescapeString(mermaid.FindStringSubmatch(block)[1])) {
			if parts := transitionLine.FindStringSubmatch(strings.TrimRight(row, "\n")); parts != nil {
				transitions = append(transitions, transition{parts[1], parts[2], parts[3]})
			}
		}
		if len(transitions) == 0 {
			return block
		}
		return drawStates(transitions)
	})
}

const (
	stateHeight, stateGap = 30, 52 // of a state, and from one to the next, in pixels
	stateLeft, stateWidth = 330, 200
	drawingWidth          = 860
)

// drawStates draws the states in a column: forward transitions as arcs on the right,
// others on the left, each with its number in the list below.
func drawStates(transitions []transition) string {
	var states []string
	for _, one := range transitions {
		for _, state := range []string{one.from, one.to} {
			if !slices.Contains(states, state) {
				states = append(states, state)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="states" viewBox="0 0 %d %d" role="img" aria-label="State diagram; the list below has its transitions">`, drawingWidth, len(states)*stateGap+10)
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0l8 4-8 4z"/></marker></defs>`)
	for i, state := range states {
		y := 10 + i*stateGap
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" rx="6"/><text x="%d" y="%d">%s</text>`,
			stateLeft, y, stateWidth, stateHeight, stateLeft+stateWidth/2, y+stateHeight/2+5, html.EscapeString(state))
	}
	var list strings.Builder
	for i, one := range transitions {
		drawTransition(&b, i+1, slices.Index(states, one.from), slices.Index(states, one.to))
		fmt.Fprintf(&list, "<li><code>%s</code> → <code>%s</code>: %s</li>\n", html.EscapeString(one.from), html.EscapeString(one.to), html.EscapeString(one.label))
	}
	b.WriteString("</svg>\n<ol>\n" + list.String() + "</ol>")
	return b.String()
}

// drawTransition draws an arc from one state to another, with its number.
func drawTransition(b *strings.Builder, number, from, to int) {
	middle := func(i int) int { return 10 + i*stateGap + stateHeight/2 }
	start, side := stateLeft+stateWidth, 1
	if to < from {
		start, side = stateLeft, -1
	}
	distance := max(to-from, from-to)
	bulge := start + side*(24+distance*22)
	y1, y2 := middle(from)+side*4, middle(to)-side*4
	fmt.Fprintf(b, `<path class="arc" d="M%d %dC%d %d %d %d %d %d" marker-end="url(#arrow)"/>`, start, y1, bulge, y1, bulge, y2, start+side*2, y2)
	// The middle of the curve, shifted by its number so that those of equal arcs differ.
	fmt.Fprintf(b, `<text class="number" x="%d" y="%d">%d</text>`, start+(bulge-start)*3/4+side*(4+number%2*12), (y1+y2)/2+4+(number%3-1)*6, number)
}
