package recorder

import (
	_ "embed" // for the scripts
	"fmt"
	"strings"
)

// recorderScript is the script of the recorder tab, after liveSoundScript and voiceScript.
//
//go:embed recorder.js
var recorderScript string

//go:embed voice.js
var voiceScript string

// remoteAudioScript declares what the scripts that read the tracks of participants share.
//
//go:embed remoteaudio.js
var remoteAudioScript string

// inScope returns scripts whose declarations only they see.
func inScope(scripts ...string) string { return "(() => {\n" + strings.Join(scripts, "") + "})();" }

// viewsScript is a JavaScript function; its comment describes it.
//
//go:embed views.js
var viewsScript string

// withViews returns the call of a JavaScript function whose first argument is that of
// views.js, and whose second one may be given as JSON.
func withViews(function string, arguments ...any) string {
	script := fmt.Sprintf("(%s)(%s", function, viewsScript)
	for _, argument := range arguments {
		script += ", " + encoded(argument)
	}
	return script + ")"
}

// recorderPage is the document of the recorder tab.
const recorderPage = `<!doctype html><meta charset="utf-8"><title>Recorder</title><script src="recorder.js"></script>`

// recorderPolicy allows the recorder tab to load its script and to send requests to
// the chunk server.
const recorderPolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// setTitleScript sets the page's title and keeps it, because meeting pages change
// their titles at any time. It remembers the page's own title.
const setTitleScript = `(title => {
	const key = Symbol.for("standin.title");
	const own = Object.getOwnPropertyDescriptor(Document.prototype, "title");
	const override = {pageTitle: document.title};
	const apply = () => {
		const current = own.get.call(document);
		if (current === title) return;
		override.pageTitle = current;
		own.set.call(document, title);
	};
	Object.defineProperty(document, "title", {
		configurable: true, enumerable: true,
		get: () => override.pageTitle, set: value => { override.pageTitle = String(value); },
	});
	override.observer = new MutationObserver(apply);
	override.observer.observe(document.head || document.documentElement, {subtree: true, childList: true, characterData: true});
	own.set.call(document, title);
	window[key] = override;
})`

// restoreTitleScript restores the page's own title. If the page has navigated, it
// does nothing.
const restoreTitleScript = `(() => {
	const key = Symbol.for("standin.title");
	const override = window[key];
	if (!override) return;
	override.observer.disconnect();
	delete window[key];
	delete document.title;
	document.title = override.pageTitle;
})()`
