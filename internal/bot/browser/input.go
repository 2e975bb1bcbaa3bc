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

// aimScript returns the centre of the first visible one of the elements, in
// coordinates of the page, after scrolling it into view. Elements in frames of
// the same origin count from the frame's corner, so the corners are added up.
//
// Until releaseScript, a press that would land on anything else is taken away
// before the page sees it: a dialog may come, or go, between the aim and the
// press, and the button that lies there then was not meant.
const aimScript = `(found => {
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
	const views = [element.ownerDocument.defaultView];
	for (let frame = views[0].frameElement; frame; frame = frame.ownerDocument.defaultView.frameElement) {
		const corner = frame.getBoundingClientRect();
		x += corner.x + frame.clientLeft;
		y += corner.y + frame.clientTop;
		views.push(frame.ownerDocument.defaultView);
	}

	const meant = event => {
		if (event.view !== views[0]) return false; // over the frame, not in it
		const target = event.composedPath()[0];
		return event.composedPath().includes(element) || target.contains(element) || Array.from(element.labels || []).some(label => label.contains(target));
	};
	const kinds = ["pointerdown", "mousedown", "pointerup", "mouseup", "click"];
	const aim = {hit: false, missed: false};
	const watch = event => {
		if (!event.isTrusted || aim.hit) return;
		if (!aim.missed && meant(event)) { aim.hit = true; return; }
		aim.missed = true;
		event.preventDefault();
		event.stopImmediatePropagation();
	};
	const each = act => views.forEach(view => kinds.forEach(kind => view[act](kind, watch, {capture: true})));
	aim.release = () => each("removeEventListener");
	const name = Symbol.for("standin.aim");
	if (window[name]) window[name].release();
	window[name] = aim;
	each("addEventListener");
	return {state: "visible", x, y};
})`

// releaseScript takes the watch of aimScript away and tells whether the press
// would have landed elsewhere.
const releaseScript = `(() => {
	const name = Symbol.for("standin.aim"), aim = window[name];
	if (!aim) return false; // another document by now: the press did it
	aim.release();
	delete window[name];
	return aim.missed;
})()`

// Click clicks the middle of the first visible element that matches the CSS
// selector, with real mouse events. It does not wait for the element: when none
// can be clicked, or something else lies there when the button goes down, it
// returns an *ElementError.
func (p *Page) Click(ctx context.Context, selector string) error {
	return p.click(ctx, selectorExpression(selector), selector)
}

// ClickElement is Click for the element, or the first visible one of the
// elements, that a JavaScript expression yields. The expression may reach into
// frames of the page's own origin.
func (p *Page) ClickElement(ctx context.Context, expression string) error {
	return p.click(ctx, expression, expression)
}

// click aims at an element and presses; name stands for it in errors.
func (p *Page) click(ctx context.Context, expression, name string) error {
	x, y, err := p.aim(ctx, expression, name)
	if err != nil {
		return err
	}
	if err := p.ClickAt(ctx, x, y); err != nil {
		return err
	}
	// Without an answer the press was sent, and the page it was sent to is gone.
	missed := false
	if err := p.Eval(ctx, releaseScript, &missed); err == nil && missed {
		return &ElementError{Locator: name, Covered: true}
	}
	return nil
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
	if err := p.click(ctx, expression, name); err != nil {
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

// aim returns where to click an element, and has the page keep a press that
// would land on another one.
func (p *Page) aim(ctx context.Context, expression, name string) (x, y float64, err error) {
	var place struct {
		State string  `json:"state"`
		X     float64 `json:"x"`
		Y     float64 `json:"y"`
	}
	if err := p.Eval(ctx, aimScript+"("+expression+")", &place); err != nil {
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
