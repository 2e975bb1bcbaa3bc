package meeting

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxVisibleText limits the result of VisibleText, in bytes.
const MaxVisibleText = 64 << 10

// visibleTextScript is a JavaScript function; its comment describes it.
//
//go:embed visible.js
var visibleTextScript string

// VisibleText returns the visible text of the page and its frames, so that an
// operator can see what an unrecognized page was. It may contain what
// participants wrote.
func VisibleText(ctx context.Context, page Page) (string, error) {
	var text string
	call := fmt.Sprintf("(%s)(%d)", visibleTextScript, MaxVisibleText)
	if err := page.Eval(ctx, call, &text); err != nil {
		return "", fmt.Errorf("read the page's text: %w", err)
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
