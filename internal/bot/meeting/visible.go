package meeting

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxVisibleText bounds what VisibleText returns, in bytes.
const MaxVisibleText = 64 << 10

// visibleScript is a JavaScript function; see there.
//
//go:embed visible.js
var visibleScript string

// VisibleText returns the text that people can read on the page and in its
// frames, for the operator who wants to know what a page was that no profile
// describes. It may hold what participants wrote.
func VisibleText(ctx context.Context, page Page) (string, error) {
	var text string
	call := fmt.Sprintf("(%s)(%d)", visibleScript, MaxVisibleText)
	if err := page.Eval(ctx, call, &text); err != nil {
		return "", fmt.Errorf("reading the page's text: %w", err)
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > MaxVisibleText {
		end := MaxVisibleText
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return text, nil
}
