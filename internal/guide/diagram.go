package guide

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
)

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
