package recorder

import _ "embed"

// recorderScript runs in the recorder tab.
//
//go:embed recorder.js
var recorderScript []byte

// recorderPage is the recorder tab's document.
const recorderPage = `<!doctype html><meta charset="utf-8"><title>Recorder</title><script src="recorder.js"></script>`

// recorderPolicy lets the recorder tab load its script and talk to the bot, and
// nothing else.
const recorderPolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// holdTitleScript gives the page a title and keeps it, since meeting pages set
// their titles at any time, by document.title or in the title element. It
// remembers what the page wants to be called.
const holdTitleScript = `(title => {
	const key = Symbol.for("standin.title");
	const own = Object.getOwnPropertyDescriptor(Document.prototype, "title");
	const held = {wanted: document.title};
	const hold = () => {
		const current = own.get.call(document);
		if (current === title) return;
		held.wanted = current;
		own.set.call(document, title);
	};
	Object.defineProperty(document, "title", {
		configurable: true, enumerable: true,
		get: () => held.wanted, set: wanted => { held.wanted = String(wanted); },
	});
	held.observer = new MutationObserver(hold);
	held.observer.observe(document.head || document.documentElement, {subtree: true, childList: true, characterData: true});
	own.set.call(document, title);
	window[key] = held;
})`

// releaseTitleScript puts back what the page wants to be called. A page that
// has navigated meanwhile has nothing to put back.
const releaseTitleScript = `(() => {
	const key = Symbol.for("standin.title");
	const held = window[key];
	if (!held) return;
	held.observer.disconnect();
	delete window[key];
	delete document.title;
	document.title = held.wanted;
})()`
