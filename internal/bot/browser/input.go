package browser

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
)

// Keys for Press beyond plain characters.
const (
	KeyEnter  = kb.Enter
	KeyEscape = kb.Escape
)

// aimScript scrolls the first visible element into view and returns its center in
// page coordinates. The coordinates of an element in a same-origin frame are
// relative to the frame, so the script adds the positions of the frames.
//
// Until releaseScript runs, mouse events on any other element are canceled before
// the page gets them: a dialog may open or close between aiming and clicking, and
// the button that is then at that place must not be clicked.
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

	const hits = event => {
		if (event.view !== views[0]) return false; // on top of the frame, not in it
		const target = event.composedPath()[0];
		return event.composedPath().includes(element) || target.contains(element) ||
			Array.from(element.labels || []).some(label => label.contains(target));
	};
	const kinds = ["pointerdown", "mousedown", "pointerup", "mouseup", "click"];
	const aim = {hit: false, missed: false};
	const filter = event => {
		if (!event.isTrusted || aim.hit) return;
		if (!aim.missed && hits(event)) { aim.hit = true; return; }
		aim.missed = true;
		event.preventDefault();
		event.stopImmediatePropagation();
	};
	const each = act => views.forEach(view => kinds.forEach(kind => view[act](kind, filter, {capture: true})));
	aim.release = () => each("removeEventListener");
	const name = Symbol.for("standin.aim");
	if (window[name]) window[name].release();
	window[name] = aim;
	each("addEventListener");
	return {state: "visible", x, y};
})`

// releaseScript removes the event filter of aimScript and returns whether the
// click missed the element.
const releaseScript = `(() => {
	const name = Symbol.for("standin.aim"), aim = window[name];
	if (!aim) return false; // the click loaded another document
	aim.release();
	delete window[name];
	return aim.missed;
})()`

// ClickElement clicks the center of the first visible element of the value of a
// JavaScript expression, an element or a list, with mouse events. The expression may use
// same-origin frames. ClickElement does not wait for the element: if no element is
// visible, or another one covers it, it returns an *ElementError.
func (p *Page) ClickElement(ctx context.Context, expression string) error {
	return p.click(ctx, expression, expression)
}

// click clicks an element. name is its locator in errors.
func (p *Page) click(ctx context.Context, expression, name string) error {
	x, y, err := p.aim(ctx, expression, name)
	if err != nil {
		return err
	}
	if p.browser.options.Mode == Headed {
		// The element may move while the mouse is on its way.
		if err := p.MoveMouse(ctx, x, y); err != nil {
			return err
		}
		if x, y, err = p.aim(ctx, expression, name); err != nil {
			return err
		}
	}
	if err := p.ClickAt(ctx, x, y); err != nil {
		return err
	}
	// An error means that the click was sent and the document is gone.
	missed := false
	if err := p.Eval(ctx, releaseScript, &missed); err == nil && missed {
		return &ElementError{Locator: name, Covered: true}
	}
	return nil
}

// ClickAt moves the mouse to a position on the page, in CSS pixels from the top
// left corner, and clicks the left button.
func (p *Page) ClickAt(ctx context.Context, x, y float64) error {
	if err := p.MoveMouse(ctx, x, y); err != nil {
		return err
	}
	event := input.DispatchMouseEventParams{
		Type: input.DispatchMouseEventTypeMousePressed, X: x, Y: y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1,
	}
	if err := p.mouse(ctx, event); err != nil {
		return err
	}
	// A button that was pressed is released even if ctx ends meanwhile.
	err := p.pause(ctx, pressTime)
	event.Type, event.Buttons = input.DispatchMouseEventTypeMouseReleased, 0
	return errors.Join(err, p.mouse(context.WithoutCancel(ctx), event))
}

// MoveMouse moves the mouse to a position on the page. In a headed browser it moves
// along a path.
func (p *Page) MoveMouse(ctx context.Context, x, y float64) error {
	p.pointer.Lock()
	defer p.pointer.Unlock()
	from, to, steps := p.pointer.at, point{x, y}, 1
	if distance := math.Hypot(to.x-from.x, to.y-from.y); p.browser.options.Mode == Headed && distance >= 1 {
		steps = int((moveBase + time.Duration(distance*float64(movePerPixel))) / moveInterval)
	}
	for step := 1; step <= steps; step++ {
		at := to
		if step < steps { // slow at both ends
			progress := (1 - math.Cos(math.Pi*float64(step)/float64(steps))) / 2
			at = point{from.x + (to.x-from.x)*progress, from.y + (to.y-from.y)*progress}
		}
		if step > 1 {
			if err := p.pause(ctx, moveInterval); err != nil {
				return err
			}
		}
		if err := p.mouse(ctx, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: at.x, Y: at.y}); err != nil {
			return err
		}
		p.pointer.at = at
	}
	return nil
}

// PasteInto is like TypeInto but inserts the whole text in one step. Use it for
// long texts.
func (p *Page) PasteInto(ctx context.Context, expression, name, text string) error {
	if err := p.TypeInto(ctx, expression, name, ""); err != nil {
		return err
	}
	_, err := send(ctx, p, input.InsertText, input.InsertTextParams{Text: text})
	return err
}

// TypeInto clicks the field that a JavaScript expression returns and replaces its
// content with the text, using key events. name is the locator in errors.
func (p *Page) TypeInto(ctx context.Context, expression, name, text string) error {
	if err := p.click(ctx, expression, name); err != nil {
		return err
	}
	press := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeRawKeyDown, Key: "a", Code: "KeyA", WindowsVirtualKeyCode: 'A',
		Modifiers: int64(kb.ModifierCtrl), Commands: []string{"selectAll"},
	}
	if err := p.key(ctx, press); err != nil {
		return err
	}
	press.Type, press.Commands = input.DispatchKeyEventTypeKeyUp, nil
	if err := p.key(ctx, press); err != nil {
		return err
	}
	if text == "" {
		return p.Press(ctx, kb.Delete)
	}
	return p.Press(ctx, text)
}

// Press sends the keys to the focused element, one after the other. Keys are
// characters and the Key constants.
func (p *Page) Press(ctx context.Context, keys string) error {
	for _, key := range keys {
		for _, event := range kb.Encode(key) {
			if err := p.key(ctx, *event); err != nil {
				return err
			}
		}
		if err := p.pause(ctx, keyInterval); err != nil {
			return err
		}
	}
	return nil
}

// aim returns the position at which to click an element and installs the event
// filter of aimScript.
func (p *Page) aim(ctx context.Context, expression, name string) (x, y float64, err error) {
	var target struct {
		State string
		X, Y  float64
	}
	if err := p.Eval(ctx, aimScript+"("+expression+")", &target); err != nil {
		return 0, 0, fmt.Errorf("locate element %s: %w", name, err)
	}
	if target.State != "visible" {
		return 0, 0, &ElementError{Locator: name, Hidden: target.State == "hidden"}
	}
	return target.X, target.Y, nil
}

// mouse sends one mouse event.
func (p *Page) mouse(ctx context.Context, event input.DispatchMouseEventParams) error {
	_, err := send(ctx, p, input.DispatchMouseEvent, event)
	return err
}

// key sends one key event.
func (p *Page) key(ctx context.Context, event input.DispatchKeyEventParams) error {
	_, err := send(ctx, p, input.DispatchKeyEvent, event)
	return err
}
