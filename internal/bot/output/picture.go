package output

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"standin/internal/bot/browser"
)

// Screen is where a bot shows pictures in a prepared page.
type Screen string

// The screens.
const (
	Camera       Screen = "camera"
	SharedScreen Screen = "screen" // the page gets it only after Offer
)

// ErrNotUsed means that the page has not asked for the camera or the screen.
var ErrNotUsed = errors.New("the page does not use it")

// pictures is the expression of the object that pictures.js makes.
const pictures = `window[Symbol.for("standin.pictures")]`

// Show shows an image in a format that browsers know, until the next one.
func (s Screen) Show(ctx context.Context, page *browser.Page, image []byte) error {
	return s.call(ctx, page, "show", `"`+base64.StdEncoding.EncodeToString(image)+`"`)
}

// ShowName shows a name card.
func (s Screen) ShowName(ctx context.Context, page *browser.Page, name string) error {
	text, _ := json.Marshal(name) // texts always encode
	return s.call(ctx, page, "showName", string(text))
}

// Clear shows a black picture.
func (s Screen) Clear(ctx context.Context, page *browser.Page) error {
	return s.call(ctx, page, "clear")
}

// Offer lets the page share the screen.
func (s Screen) Offer(ctx context.Context, page *browser.Page) error {
	return s.call(ctx, page, "offer")
}

// End ends the sharing of the screen, as if a person had ended it in the browser.
func (s Screen) End(ctx context.Context, page *browser.Page) error {
	return s.call(ctx, page, "end")
}

// CheckUsed returns ErrNotUsed if the page has not asked for the camera or the screen.
func (s Screen) CheckUsed(ctx context.Context, page *browser.Page) error {
	var opened bool
	if err := eval(ctx, page, fmt.Sprintf("%s.opened(%q)", pictures, s), &opened); err != nil {
		return fmt.Errorf("ask whether the page uses the %s: %w", s, err)
	}
	if !opened {
		return ErrNotUsed
	}
	return nil
}

// call calls a function of pictures.js with JavaScript expressions as arguments.
func (s Screen) call(ctx context.Context, page *browser.Page, function string, arguments ...string) error {
	call := fmt.Sprintf("%s.%s(%q", pictures, function, s)
	for _, argument := range arguments {
		call += ", " + argument
	}
	if err := eval(ctx, page, call+")", nil); err != nil {
		return fmt.Errorf("show a picture on the page's %s: %w", s, err)
	}
	return nil
}
