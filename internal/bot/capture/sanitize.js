// Returns a copy of the page's document and of its same-origin frames as XHTML,
// with each element's position and visibility, whether it can be clicked, and without
// scripts and what participants wrote. It does not change the page. See sanitize.go
// for the options, and listeners.js for the listeners.
(options, listeners) => {
	const shortText = 300;     // longer texts are no evidence to the probe
	const maxElements = 20000;
	const maxLength = 4 << 20; // characters of XHTML
	const maxAttribute = 200;  // characters of a value
	const maxDepth = 250;
	const maxFrames = 20;
	const maxBoxes = 2000;

	// Positions mean other elements when the page has changed since.
	const all = [...document.querySelectorAll("*")];
	const listening = new Set(listeners && listeners[0] === all.length ? listeners.slice(1).map(position => all[position]) : []);

	const words = new Set(options.words), phrases = new Set(options.phrases);
	const fold = text => text.normalize("NFKC").replace(/[\u2018\u2019\u02BC]/g, "'").replace(/\s+/g, " ").trim().toLowerCase();
	const literal = text => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

	// The names of participants, the longest first. Words that the profile knows are
	// no names, because a participant may be called "Leave call".
	const named = ([name, alias]) => {
		const bounded = !/\s/.test(name.trim()) && /^[\p{Script=Latin}\p{M}\p{N}\p{P}\p{S}\s]+$/u.test(name);
		const pattern = literal(name).replace(/\s+/g, "\\s+");
		return {alias, folded: fold(name), pattern: new RegExp(bounded ? `(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])` : pattern, "giu")};
	};
	const names = options.names.map(named);
	const replaceNames = text => {
		for (const name of names) text = text.replace(name.pattern, name.alias);
		return text;
	};

	const meetingCode = /\b[a-z]{3}-[a-z]{4}-[a-z]{3}\b/g; // of Google Meet
	const email = /[^\s<>()"'@]+@[^\s<>()"'@]+\.[^\s<>()"'@]+/gu;
	const clean = text => replaceNames(text.replace(email, "[email]").replace(/\b[a-z][a-z0-9+.-]*:\/\/[^\s<>"']+/giu, address => urlOf(address, true)))
		.replace(meetingCode, "xxx-xxxx-xxx")
		.replace(/\d[\d\s().-]{5,}\d/g, digits => digits.replace(/\d/g, "0"));
	const masked = text => text.trim().slice(0, 60).replace(/[\p{L}\p{M}]/gu, "x").replace(/\p{N}/gu, "0").replace(/[^x0\s]/gu, "-");
	// Keeps the words of the interface.
	const withoutOthers = text => replaceNames(text.replace(email, "x")).slice(0, shortText)
		.replace(/[\p{L}\p{M}\p{N}']+/gu, word => words.has(word.toLowerCase()) || /^(Person|Bot)$/.test(word) || /^\d{1,3}$/.test(word) ? word : masked(word));

	// Returns an address without user, query and fragment, and without the segments
	// of its path that may be an identifier or a name.
	const urlOf = (address, hostOnly) => {
		let url;
		try { url = new URL(address, document.baseURI); } catch { return ""; }
		if (!["http:", "https:"].includes(url.protocol)) return url.protocol;
		const path = hostOnly ? "/" : url.pathname.split("/").map(segment =>
			/^[a-z][a-z_.-]{0,30}$/i.test(segment) && segment.replace(meetingCode, "") === segment || segment === "" ? segment : "x").join("/");
		return url.protocol + "//" + url.host + path;
	};

	const ids = new Map();
	const idOf = value => {
		if (!ids.has(value)) ids.set(value, "id-" + (ids.size + 1));
		return ids.get(value);
	};

	const addresses = new Set(["href", "src", "action", "formaction", "data", "poster", "cite", "background"]);
	const dropped = new Set(["style", "srcdoc", "srcset", "imagesrcset", "nonce", "integrity", "ping", "value", "jsdata", "jsmodel", "xmlns"]);
	const structural = /^(class|role|type|jsname|jsaction|jscontroller|tabindex|dir|lang|hidden|disabled|checked|open|autocomplete|contenteditable|aria-(?!label$|description$|roledescription$|valuetext$|placeholder$|braillelabel$).*)$/;
	const identifier = /^[a-z][A-Za-z0-9]*([-_:.][A-Za-z0-9]+)+$|^[a-z]+[A-Z]\w*$/;
	const secret = /[A-Za-z0-9+/=_-]{32,}/g;

	// Returns the value of an attribute to keep, or null.
	const attributeOf = (element, {name, value}, inside) => {
		if (!/^[a-z_][\w.-]*$/i.test(name) || /^(on|data-standin-)/i.test(name) || dropped.has(name)) return null;
		if (addresses.has(name)) return urlOf(value, ["img", "image", "video", "audio", "source"].includes(element.localName));
		if (inside && options.ids.includes(name) && !control(element)) return idOf(value);
		if (value.length > maxAttribute) value = value.slice(0, maxAttribute);
		if (value === "" || name === "class") return value;
		if (name === "alt") return withoutOthers(value);
		if (!inside || structural.test(name)) {
			const kept = clean(value).replace(secret, "x");
			if (!inside && ["aria-label", "title", "placeholder"].includes(name)) texts.push(kept);
			return kept;
		}
		if (/^(true|false|\d{1,3})$/.test(value)) return value;
		if (identifier.test(value) && !/\d{4}/.test(value) && replaceNames(value) === value) return value;
		return withoutOthers(value);
	};

	const escape = text => text.replace(/[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
		.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");

	const texts = [], boxes = [];
	const pieces = [];
	let elements = 0, length = 0, frames = 0, truncated = false;
	const emit = piece => { pieces.push(piece); length += piece.length; };
	const cover = (bounds, x, y) => {
		if (boxes.length < maxBoxes && bounds.width > 0 && bounds.height > 0) {
			boxes.push([x + bounds.left, y + bounds.top, bounds.width, bounds.height].map(Math.round));
		}
	};

	const px = number => String(Math.round(number * 10) / 10);
	const control = element => element.closest("button, a, summary, option, [role=button], [role=menuitem], [role=tab], [role=switch], [role=link], [role=checkbox], [role=radio]");

	// Returns the style that reproduces an element's position and visibility, given
	// the box that positions are relative to.
	const styleOf = (element, style, from, parent) => {
		if (style.display === "none") return "display:none";
		if (style.display === "contents") return "display:contents";
		const bounds = element.getBoundingClientRect();
		const fixed = style.position === "fixed";
		const left = fixed ? bounds.left : bounds.left - from.left, top = fixed ? bounds.top : bounds.top - from.top;
		let css = `left:${px(left)}px;top:${px(top)}px;width:${px(bounds.width)}px;height:${px(bounds.height)}px`;
		if (fixed) css += ";position:fixed";
		const hidden = style.visibility !== "visible";
		if (hidden || parent && parent.visibility !== "visible") css += ";visibility:" + (hidden ? "hidden" : "visible");
		else if (!element.checkVisibility({visibilityProperty: true, contentVisibilityAuto: true})) css += ";visibility:hidden";
		if (Number(style.opacity) === 0) css += ";opacity:0";
		if (style.overflowX !== "visible" || style.overflowY !== "visible") css += `;overflow:${style.overflowX} ${style.overflowY}`;
		const top_ = element.matches(":modal, :popover-open") ? "2147483647" : style.zIndex;
		if (top_ !== "auto") css += ";z-index:" + top_;
		if (style.pointerEvents === "none" || parent && parent.pointerEvents === "none") css += ";pointer-events:" + style.pointerEvents;
		return css;
	};

	// The elements that hold what participants wrote, by the profile and by roles
	// that platforms use for chat, captions and lists of people.
	const contentOf = doc => {
		const found = new Set();
		for (const selector of options.content) {
			try { for (const element of doc.querySelectorAll(selector)) found.add(element); } catch { /* of another version */ }
		}
		// A picture of a person, with the name beside it.
		for (const picture of doc.querySelectorAll("video, canvas")) {
			const area = element => { const {width, height} = element.getBoundingClientRect(); return width * height; };
			found.add(picture);
			for (let around = picture.parentElement; around && around !== doc.body; around = around.parentElement) {
				if (around.textContent.length > 120 || area(around) > 2.2 * area(picture) || area(picture) < 2000 || around.querySelector("h1, h2, input, [role=dialog]")) break;
				found.add(around);
			}
		}
		return found;
	};

	// Short texts in participants' content may be names that the profile does not
	// find, and be repeated elsewhere on the page.
	const foundNames = new Set();
	const addNames = elements => {
		const add = text => {
			text = (text || "").replace(/\s+/g, " ").trim();
			const others = (text.match(/[\p{L}\p{M}\p{N}']+/gu) || []).filter(word => !words.has(word.toLowerCase()));
			if (text.length < 3 || text.length > 60 || text.split(" ").length > 5 || !/\p{L}/u.test(others.join(""))) return;
			if (foundNames.size < 500 && !names.some(name => name.folded === fold(text))) foundNames.add(text);
		};
		for (const element of elements) {
			add(element.getAttribute("aria-label"));
			const walker = element.ownerDocument.createTreeWalker(element, NodeFilter.SHOW_TEXT);
			for (let node = walker.nextNode(), most = 200; node && most > 0; node = walker.nextNode(), most--) {
				if (!["script", "style", "noscript"].includes(node.parentElement.localName)) add(node.data);
			}
		}
	};

	const walk = (element, context) => {
		const name = element.localName;
		if (["script", "style", "link", "meta", "noscript", "template", "base", "head", "object", "embed"].includes(name)) return;
		if (elements >= maxElements || length >= maxLength || context.depth > maxDepth) { truncated = true; return; }
		elements++;
		const view = element.ownerDocument.defaultView;
		const style = context.none ? null : view.getComputedStyle(element);
		const inside = context.inside || context.content.has(element);
		const tag = /^[a-z][a-z0-9-]*$/.test(name) ? name : "div";
		emit("<" + tag);
		for (const attribute of element.attributes) {
			const value = attributeOf(element, attribute, inside);
			if (value !== null) emit(` ${attribute.name}="${escape(value)}"`);
		}
		if (element.disabled === true && !element.hasAttribute("disabled")) emit(` disabled=""`);
		const pointer = style && style.cursor === "pointer" && context.parent?.cursor !== "pointer";
		if (listening.has(element)) emit(` data-standin-click="listener"`);
		else if (pointer) emit(` data-standin-click="pointer"`);
		const shown = style && style.display !== "none";
		if (shown && (inside && !context.inside || ["img", "video", "canvas"].includes(name))) cover(element.getBoundingClientRect(), context.x, context.y);
		if (typeof element.value === "string" && !["button", "li", "option", "param", "data"].includes(name)) {
			if (["submit", "button", "reset"].includes(element.type)) emit(` value="${escape(inside ? withoutOthers(element.value) : clean(element.value))}"`);
			else if (element.value !== "" && !["checkbox", "radio"].includes(element.type)) {
				emit(` value="x"`);
				if (shown) cover(element.getBoundingClientRect(), context.x, context.y);
			}
			if (element.checked === true && !element.hasAttribute("checked")) emit(` checked=""`);
			if (element.checked === false && element.hasAttribute("checked")) emit(` data-standin-unchecked=""`);
		}
		let from = context.from;
		if (style) {
			emit(` style="${styleOf(element, style, from, context.parent)}"`);
			if (shown && style.display !== "contents") from = element.getBoundingClientRect();
		}
		const inner = {...context, inside, from, none: !shown, parent: style, depth: context.depth + 1};
		if (name === "iframe" || name === "frame") { walkFrame(element, inner); return; }
		emit("\n>");
		if (name !== "svg" && name !== "textarea") {
			for (const child of element.childNodes) {
				if (child.nodeType === Node.ELEMENT_NODE) walk(child, inner);
				else if (child.nodeType === Node.TEXT_NODE) walkText(element, child.data, inner);
			}
		}
		emit(`</${tag}>`);
	};

	const walkText = (element, text, context) => {
		if (text.trim() === "") { if (text !== "") emit(" "); return; }
		let kept;
		if (context.inside) {
			if (phrases.has(fold(text)) && control(element)) kept = text;
			else if (control(element)) kept = withoutOthers(text);
			else kept = names.find(name => name.folded === fold(text))?.alias || masked(text);
		} else {
			kept = text.length > shortText ? "x".repeat(shortText + 1) : clean(text);
			texts.push(kept.replace(/\s+/g, " ").trim());
			if (kept !== text && !context.none) cover(element.getBoundingClientRect(), context.x, context.y);
		}
		emit(escape(kept));
	};

	const walkFrame = (frame, context) => {
		let within = null;
		try { within = frame.contentDocument; } catch { /* of another origin */ }
		if (!within || !within.documentElement || !within.body || ++frames > maxFrames) {
			emit(` data-standin-frame="other"\n></iframe>`);
			return;
		}
		emit(` data-standin-frame="same"\n>`);
		const corner = frame.getBoundingClientRect();
		walkDocument(within, context.x + corner.left + frame.clientLeft, context.y + corner.top + frame.clientTop, context);
		emit("</iframe>");
	};

	const walkDocument = (doc, x, y, context) => {
		const view = doc.defaultView, page = doc.scrollingElement || doc.documentElement;
		emit(`<html xmlns="http://www.w3.org/1999/xhtml"`);
		for (const attribute of doc.documentElement.attributes) {
			const value = attributeOf(doc.documentElement, attribute, false);
			if (value !== null) emit(` ${attribute.name}="${escape(value)}"`);
		}
		emit(` data-standin-scroll="${[view.scrollX, view.scrollY, page.scrollWidth, page.scrollHeight].map(Math.round).join(" ")}"`);
		emit(`><head><title>${escape(clean(doc.title.slice(0, shortText)))}</title></head>`);
		if (doc.body) {
			walk(doc.body, {
				content: contentOf(doc), inside: context.inside, none: context.none, parent: null, depth: context.depth, x, y,
				from: {left: -view.scrollX, top: -view.scrollY},
			});
		}
		emit("</html>");
	};
	// Frames first, because a name may be outside of the frame that holds the list.
	const eachDocument = (doc, act, depth = 0) => {
		act(doc);
		for (const frame of depth > maxFrames ? [] : doc.querySelectorAll("iframe, frame")) {
			let within = null;
			try { within = frame.contentDocument; } catch { /* of another origin */ }
			if (within && within.body) eachDocument(within, act, depth + 1);
		}
	};
	eachDocument(document, doc => addNames(contentOf(doc)));
	const longest = (a, b) => b.length - a.length;
	names.push(...[...foundNames].sort(longest).map(name => named([name, "Person"])));
	walkDocument(document, 0, 0, {inside: false, none: false, depth: 0});
	const blank = doc => !doc.body || doc.body.innerText.trim() === "" && [...doc.querySelectorAll("iframe, frame")].every(frame => {
		try { return !frame.contentDocument || blank(frame.contentDocument); } catch { return true; }
	});
	return {
		page: pieces.join(""), truncated, boxes, blank: blank(document), names: [...foundNames],
		texts: [...new Set(texts)].slice(0, 5000), title: clean(document.title.slice(0, shortText)),
		address: urlOf(location.href), width: innerWidth, height: innerHeight,
	};
}
