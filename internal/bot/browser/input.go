package browser

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
)

// Keys for Press beyond plain characters.
const (
	KeyEnter  = kb.Enter
	KeyEscape = kb.Escape
	KeyTab    = kb.Tab
)

// locateScript returns the centre of the first visible one of the elements, in
// coordinates of the page, after scrolling it into view. Elements in frames of
// the same origin count from the frame's corner, so the corners are added up.
const locateScript = `(found => {
	const isElement = node => node && node.nodeType === 1;
	const elements = (isElement(found) ? [found] : Array.from(found || [])).filter(isElement);
	if (elements.length === 0) return {state: "missing"};
	const visible = element => {
		const style = element.ownerDocument.defaultView.getComputedStyle(element);
		const box = element.getBoundingClientRect();
		return box.width > 0 && box.height > 0 && style.visibility === "visible";
	};
	const element = elements.find(visible);
	if (!element) return {state: "hidden"};
	element.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
	const box = element.getBoundingClientRect();
	let x = box.x + box.width / 2, y = box.y + box.height / 2;
	for (let frame = element.ownerDocument.defaultView.frameElement; frame; frame = frame.ownerDocument.defaultView.frameElement) {
		const corner = frame.getBoundingClientRect();
		x += corner.x + frame.clientLeft;
		y += corner.y + frame.clientTop;
	}
	return {state: "visible", x, y};
})`

// Click clicks the middle of the first visible element that matches the CSS
// selector, with real mouse events. It does not wait for the element: when none
// can be clicked it returns an *ElementError.
func (p *Page) Click(ctx context.Context, selector string) error {
	x, y, err := p.locate(ctx, selectorExpression(selector), selector)
	if err != nil {
		return err
	}
	return p.ClickAt(ctx, x, y)
}

// ClickElement is Click for the element, or the first visible one of the
// elements, that a JavaScript expression yields. The expression may reach into
// frames of the page's own origin.
func (p *Page) ClickElement(ctx context.Context, expression string) error {
	x, y, err := p.locate(ctx, expression, expression)
	if err != nil {
		return err
	}
	return p.ClickAt(ctx, x, y)
}

// ClickAt moves the mouse to a place on the page, in CSS pixels from its upper
// left corner, and clicks the left button there.
func (p *Page) ClickAt(ctx context.Context, x, y float64) error {
	if err := p.MoveMouse(ctx, x, y); err != nil {
		return err
	}
	for _, kind := range []input.DispatchMouseEventType{
		input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased,
	} {
		event := input.DispatchMouseEventParams{Type: kind, X: x, Y: y, Button: input.MouseButtonLeft, ClickCount: 1}
		if kind == input.DispatchMouseEventTypeMousePressed {
			event.Buttons = 1
		}
		if err := p.mouse(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

// MoveMouse moves the mouse to a place on the page.
func (p *Page) MoveMouse(ctx context.Context, x, y float64) error {
	return p.mouse(ctx, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y})
}

// Type clicks the first visible field that matches the CSS selector, selects
// what it holds, and types the text over it with real key events.
func (p *Page) Type(ctx context.Context, selector, text string) error {
	return p.TypeInto(ctx, selectorExpression(selector), selector, text)
}

// PasteInto is TypeInto at once, as text that is pasted: for texts that are too
// long for key after key.
func (p *Page) PasteInto(ctx context.Context, expression, name, text string) error {
	if err := p.TypeInto(ctx, expression, name, ""); err != nil {
		return err
	}
	return p.call(ctx, func(ctx context.Context) error {
		_, err := cdp.Call(ctx, p.session, input.InsertText, input.InsertTextParams{Text: text})
		return err
	})
}

// TypeInto is Type for the field that a JavaScript expression yields; name
// stands for it in errors.
func (p *Page) TypeInto(ctx context.Context, expression, name, text string) error {
	x, y, err := p.locate(ctx, expression, name)
	if err != nil {
		return err
	}
	if err := p.ClickAt(ctx, x, y); err != nil {
		return err
	}
	if err := p.selectAll(ctx); err != nil {
		return err
	}
	if text == "" {
		return p.Press(ctx, kb.Delete)
	}
	return p.Press(ctx, text)
}

// Press sends the keys, one after the other, to whatever has the focus. Beside
// characters it takes the Key constants.
func (p *Page) Press(ctx context.Context, keys string) error {
	for _, key := range keys {
		for _, event := range kb.Encode(key) {
			if err := p.key(ctx, *event); err != nil {
				return err
			}
		}
	}
	return nil
}

// selectAll presses Ctrl+A. The editing command is named because a browser
// without a window system has no key bindings of its own.
func (p *Page) selectAll(ctx context.Context) error {
	press := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeRawKeyDown, Key: "a", Code: "KeyA", WindowsVirtualKeyCode: 'A',
		Modifiers: int64(kb.ModifierCtrl), Commands: []string{"selectAll"},
	}
	if err := p.key(ctx, press); err != nil {
		return err
	}
	press.Type, press.Commands = input.DispatchKeyEventTypeKeyUp, nil
	return p.key(ctx, press)
}

// locate returns where to click an element.
func (p *Page) locate(ctx context.Context, expression, name string) (x, y float64, err error) {
	var place struct {
		State string  `json:"state"`
		X     float64 `json:"x"`
		Y     float64 `json:"y"`
	}
	if err := p.Eval(ctx, locateScript+"("+expression+")", &place); err != nil {
		return 0, 0, fmt.Errorf("looking for element %s: %w", name, err)
	}
	if place.State != "visible" {
		return 0, 0, &ElementError{Locator: name, Hidden: place.State == "hidden"}
	}
	return place.X, place.Y, nil
}

// selectorExpression returns the script that finds the selector's matches.
func selectorExpression(selector string) string {
	// A string always encodes, and JSON strings are JavaScript strings.
	quoted, _ := json.Marshal(selector)
	return "document.querySelectorAll(" + string(quoted) + ")"
}

// mouse sends one mouse event.
func (p *Page) mouse(ctx context.Context, event input.DispatchMouseEventParams) error {
	return p.call(ctx, func(ctx context.Context) error {
		_, err := cdp.Call(ctx, p.session, input.DispatchMouseEvent, event)
		return err
	})
}

// key sends one key event.
func (p *Page) key(ctx context.Context, event input.DispatchKeyEventParams) error {
	return p.call(ctx, func(ctx context.Context) error {
		_, err := cdp.Call(ctx, p.session, input.DispatchKeyEvent, event)
		return err
	})
}
