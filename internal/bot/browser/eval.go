package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"standin/internal/base/text"
)

const (
	// maxResult limits the JSON text of an evaluation's value, in UTF-16 units. It
	// is more than a captured page or the audio of all participants needs.
	maxResult = 8 << 20

	// maxDescription limits the description of a ScriptError, in characters.
	maxDescription = 2000

	// worldName is the name of the isolated world of this package's scripts.
	worldName = "standin"
)

// boundedScript evaluates an expression. Its value is one string: "=" and the
// value as JSON, "!" and the description of an exception, or "" for undefined. In
// the page's own world, everything that it calls may be the page's, so the length
// is checked last and with an operator.
const boundedScript = `(async () => {
	let text = "";
	try {
		const json = JSON.stringify(await (%s
));
		if (json !== undefined) text = "=" + json;
	} catch (error) {
		try { text = "!" + (error && error.stack || error); } catch { text = "!"; }
	}
	return typeof text === "string" && text.length <= %d ? text : "!the value is longer than %[2]d characters";
})()`

// Eval evaluates a JavaScript expression, awaits a promise, and decodes the JSON
// value into out, which may be nil. An undefined value does not change out. The
// expression has the document, and none of the page's scripts and values: it runs
// in a world of its own, where the page cannot replace what it calls.
func (p *Page) Eval(ctx context.Context, expression string, out any) error {
	world, err := send(ctx, p, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{
		FrameID: cdp.FrameID(p.session.TargetID), WorldName: worldName, // the same one until the page navigates
	})
	if err != nil {
		return err
	}
	return p.evaluate(ctx, runtime.EvaluateParams{Expression: expression, ContextID: world.ExecutionContextID}, out)
}

// EvalInPage is like Eval, among the page's own scripts. It is for pages of this
// program and for values that only the page's scripts have, such as its WebRTC
// connections. The page may have replaced what the expression calls.
func (p *Page) EvalInPage(ctx context.Context, expression string, out any) error {
	return p.evaluate(ctx, runtime.EvaluateParams{Expression: expression}, out)
}

// EvalInConsole is like EvalInPage, with the functions of the developer tools' console,
// such as getEventListeners, until the expression awaits something.
func (p *Page) EvalInConsole(ctx context.Context, expression string, out any) error {
	return p.evaluate(ctx, runtime.EvaluateParams{Expression: expression, IncludeCommandLineAPI: new(true)}, out)
}

// EvalWithGesture is like EvalInPage, as if the user had clicked: the script has
// user activation.
func (p *Page) EvalWithGesture(ctx context.Context, expression string, out any) error {
	return p.evaluate(ctx, runtime.EvaluateParams{Expression: expression, UserGesture: new(true)}, out)
}

// evaluate evaluates an expression in the main frame.
func (p *Page) evaluate(ctx context.Context, params runtime.EvaluateParams, out any) error {
	params.Expression = fmt.Sprintf(boundedScript, params.Expression, maxResult)
	params.ReturnByValue, params.AwaitPromise = new(true), new(true)
	answer, err := send(ctx, p, runtime.Evaluate, params)
	if err != nil {
		return err
	}
	if thrown := answer.ExceptionDetails; thrown != nil { // the expression cannot be parsed
		description := thrown.Text
		if thrown.Exception != nil && thrown.Exception.Description != "" {
			description = thrown.Exception.Description
		}
		return &ScriptError{Description: text.Clean(description, maxDescription)}
	}
	var value string
	if answer.Result != nil {
		if err := json.Unmarshal(answer.Result.Value, &value); err != nil {
			return &ScriptError{Description: "the page has replaced the result"}
		}
	}
	if description, failed := strings.CutPrefix(value, "!"); failed {
		return &ScriptError{Description: text.Clean(description, maxDescription)}
	}
	if value == "" || out == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(value[1:]), out); err != nil {
		return fmt.Errorf("decode the script's value: %w", err)
	}
	return nil
}
