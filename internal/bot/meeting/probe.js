// The probe returns a snapshot: which of a profile's elements, texts and people
// the page shows now, in its document and in its same-origin frames. Its
// arguments are the profile as probe.go encodes it and, to return one element
// instead, what is wanted: an element's name, a control of a participant, or a
// button of the dialog that covers the page; and whether the bot is in the meeting,
// where texts of the whole page are not searched and audio levels are read. It does
// not change the page.
(profile, wanted, inMeeting) => {
	const shortText = 300;    // longer texts are prose, not labels
	const longText = 2000;    // of a dialog
	const maxMessage = 10000; // of a chat message, and of the end of a caption
	const maxTexts = 3000;    // per region
	const maxPeople = 1000;
	const maxMessages = 200;
	const maxCaptions = 50;
	const maxFrames = 20;
	const maxFolds = 5000;
	const maxControls = 60;   // of the outline, and of a dialog

	// Texts are compared in folded form. Each is folded once for many snapshots.
	const folds = profile.folds ??= new Map();
	if (folds.size > maxFolds) folds.clear();
	const fold = text => {
		let folded = folds.get(text);
		if (folded === undefined) {
			folded = text.normalize("NFKC").replace(/[\u2018\u2019\u02BC]/g, "'").replace(/\s+/g, " ").trim()
				.replace(/[.! ]+$/, "").toLowerCase().replace(/\u0307/g, "");
			folds.set(text, folded);
		}
		return folded;
	};
	// What these elements hold is no text of the page: scripts quote its sentences, and
	// fields hold what can be chosen or was typed.
	const hiddenContent = "script, style, template, noscript, select, datalist, textarea";
	// The open shadow trees, which show an element's content in their slots.
	const shadows = [];
	const contentOf = node => node.shadowRoot ? node.shadowRoot.childNodes :
		node.localName === "slot" && node.assignedNodes().length > 0 ? node.assignedNodes() : node.childNodes;
	// A picture of an emoji is text.
	const isEmoji = node => node.localName === "img" && /\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20E3/u.test(node.alt);
	const textWithout = (element, rejects) => {
		let text = "";
		for (const node of contentOf(element)) {
			if (node.nodeType === Node.TEXT_NODE) text += node.data;
			else if (isEmoji(node)) text += node.alt;
			else if (node.nodeType === Node.ELEMENT_NODE && !rejects(node)) text += textWithout(node, rejects);
		}
		return text;
	};
	const textOf = element => shadows.length === 0 && element.querySelector(hiddenContent) === null ? element.textContent :
		textWithout(element, node => node.matches(hiddenContent));
	const opaque = {opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true};
	// Returns the text of an element without that of its hidden parts. An element that is
	// hidden itself has its text, and the title of an icon is its label.
	const visibleTextOf = element => element.firstElementChild === null && !element.shadowRoot || !element.checkVisibility(opaque) ? textOf(element) :
		textWithout(element, node => node.matches(hiddenContent) || !node.checkVisibility(opaque) && node.localName !== "title");
	const clean = (text, max = shortText) => (text || "").replace(/\s+/g, " ").trim().slice(0, max);

	const elementOf = node => node.nodeType === Node.DOCUMENT_FRAGMENT_NODE ? node.host : node;
	// Returns the parent of an element or text. That of a shadow tree's is its host.
	const parentIn = node => node.parentElement || node.parentNode?.host || null;

	// Returns the visible part of an element in its own document, or null when it
	// or an ancestor is hidden, transparent, clipped away or off the page.
	const boxInDocument = element => {
		// A switch may be a transparent checkbox over the picture of a switch.
		const transparent = element.localName === "input" && ["checkbox", "radio"].includes(element.type) && element.parentElement;
		const drawn = transparent ? element.parentElement : element;
		if (!element.checkVisibility({visibilityProperty: true, contentVisibilityAuto: true}) || !drawn.checkVisibility(opaque)) return null;
		const doc = element.ownerDocument, view = doc.defaultView;
		const bounds = element.getBoundingClientRect();
		let {left, top, right, bottom} = bounds;
		let position = view.getComputedStyle(element).position;
		for (let ancestor = parentIn(element); ancestor && ancestor !== doc.body && position !== "fixed"; ancestor = parentIn(ancestor)) {
			const style = view.getComputedStyle(ancestor);
			if (style.overflowX !== "visible" || style.overflowY !== "visible") {
				const edge = ancestor.getBoundingClientRect();
				if (style.overflowX === "hidden" || style.overflowX === "clip") {
					left = Math.max(left, edge.left); right = Math.min(right, edge.right);
				}
				if (style.overflowY === "hidden" || style.overflowY === "clip") {
					top = Math.max(top, edge.top); bottom = Math.min(bottom, edge.bottom);
				}
			}
			position = style.position;
		}
		left = Math.max(left, -view.scrollX); top = Math.max(top, -view.scrollY);
		const page = doc.scrollingElement || doc.documentElement;
		right = Math.min(right, Math.max(page.scrollWidth - view.scrollX, view.innerWidth));
		bottom = Math.min(bottom, Math.max(page.scrollHeight - view.scrollY, view.innerHeight));
		const width = right - left, height = bottom - top;
		return width >= 2 && height >= 2 ? {left, top, width, height} : null;
	};

	// The page's document and those of its frames: each with the frame that holds
	// it, the frame's position on the page, and whether the frame is visible.
	const documents = [], documentOf = new Map();
	const addDocument = (doc, frame, x, y, shown) => {
		const entry = {doc, frame, x, y, shown};
		documents.push(entry);
		documentOf.set(doc, entry);
		for (const inner of doc.querySelectorAll("iframe, frame")) {
			let within = null;
			try { within = inner.contentDocument; } catch { /* of another origin */ }
			if (!within || !within.documentElement || documents.length > maxFrames) continue;
			const corner = inner.getBoundingClientRect();
			addDocument(within, inner, x + corner.left + inner.clientLeft, y + corner.top + inner.clientTop, shown && boxInDocument(inner) !== null);
		}
	};
	addDocument(document, null, 0, 0, true);
	const addShadows = tree => {
		for (const element of tree.querySelectorAll("*")) {
			if (!element.shadowRoot) continue;
			shadows.push(element.shadowRoot);
			addShadows(element.shadowRoot);
		}
	};
	for (const {doc} of documents) addShadows(doc);
	const box = element => documentOf.get(element.ownerDocument).shown ? boxInDocument(element) : null;

	// Returns the parent of an element. The parent of a frame's document is the
	// frame.
	const parentOf = element => parentIn(element) || documentOf.get(element.ownerDocument).frame;
	const holds = (outer, inner) => {
		while (inner && inner !== outer) inner = parentOf(inner);
		return inner !== null;
	};

	const matches = (match, folded) => folded !== "" && (
		(match.equals || []).some(text => folded === fold(text)) ||
		(match.startsWith || []).some(text => folded.startsWith(fold(text))) ||
		(match.contains || []).some(text => folded.includes(fold(text))));

	// Returns the folded labels of an element.
	const labelsOf = element => {
		const ids = (element.getAttribute("aria-labelledby") || "").split(" ").filter(Boolean);
		const labeling = [...ids.map(id => element.ownerDocument.getElementById(id)).filter(Boolean), ...element.labels || []];
		return [element.ariaLabel || element.title, element.placeholder, ...labeling.map(one => clean(textOf(one)))].filter(text => typeof text === "string" && text !== "").map(fold);
	};

	// Returns the folded texts of an element: its labels, its whole text when it is
	// short, and its text nodes.
	const cachedTexts = new Map();
	const textsOf = element => {
		let texts = cachedTexts.get(element);
		if (texts) return texts;
		cachedTexts.set(element, texts = []);
		texts.push(...labelsOf(element));
		const whole = textOf(element);
		if (whole.length <= shortText) texts.push(fold(whole));
		if (element.firstElementChild) {
			const walker = element.ownerDocument.createTreeWalker(element, NodeFilter.SHOW_TEXT);
			for (let node = walker.nextNode(); node && texts.length < 50; node = walker.nextNode()) {
				if (node.data.length <= shortText && !node.parentElement.matches(hiddenContent)) texts.push(fold(node.data));
			}
		}
		return texts;
	};

	// Returns those texts of an element that it shows.
	const shownTextsOf = element => {
		const shown = fold(visibleTextOf(element)), labels = labelsOf(element);
		return new Set(textsOf(element).filter(text => shown.includes(text) || labels.includes(text)));
	};

	const select = (tree, selector) => {
		try {
			return tree.querySelectorAll(selector);
		} catch (error) {
			throw new Error("the profile's selector " + JSON.stringify(selector) + " is not valid: " + error.message);
		}
	};
	const query = (root, selector) => shadows.length === 0 ? select(root, selector) :
		[root, ...shadows.filter(shadow => holds(root, shadow.host))].flatMap(tree => [...select(tree, selector)]);
	const queryAll = selectors => selectors.length === 0 ? [] :
		[...documents.map(entry => entry.doc), ...shadows].flatMap(tree => [...select(tree, selectors.join(","))]);

	const fits = (candidate, element) => {
		if (candidate.text) {
			const said = textsOf(element).filter(text => matches(candidate.text, text));
			if (said.length === 0) return false;
			if (element.firstElementChild && said.every(text => !shownTextsOf(element).has(text))) return false;
		}
		if (!candidate.within) return true;
		for (let ancestor = parentOf(element); ancestor; ancestor = parentOf(ancestor)) {
			if (ancestor.matches(candidate.within.css) && fits(candidate.within, ancestor)) return true;
		}
		return false;
	};

	// Returns the first visible element of the first candidate that has one, or
	// else the index of the first candidate that matches a hidden element.
	const find = candidates => {
		let hidden = -1, hiddenElement = null;
		for (let i = 0; i < candidates.length; i++) {
			const candidate = candidates[i];
			for (const element of queryAll([candidate.css])) {
				if (!fits(candidate, element)) continue;
				const bounds = box(element);
				if (!bounds) { if (hidden < 0) { hidden = i; hiddenElement = element; } continue; }
				const view = element.ownerDocument.defaultView;
				const width = Math.min(bounds.left + bounds.width, view.innerWidth) - Math.max(bounds.left, 0);
				const height = Math.min(bounds.top + bounds.height, view.innerHeight) - Math.max(bounds.top, 0);
				if (candidate.minWidth && width < candidate.minWidth || candidate.minHeight && height < candidate.minHeight) continue;
				return {element, candidate: i, bounds};
			}
		}
		return {hidden, hiddenElement};
	};

	// A device's button says whether the device is on by an attribute, by its label, and by an
	// icon. Returns what each button says of a device: for on and off, the kind of what says so
	// (0 for an attribute, 1 for a label, 2 for an icon) and the index of the candidate.
	const kindOf = css => /data-is-muted|data-state|data-track-action|aria-checked|aria-pressed|:checked/.test(css) ? 0 : /svg|> :is\(i|icon/.test(css) ? 2 : 1;
	const sayings = {};
	const sayingsOf = device => {
		if (sayings[device]) return sayings[device];
		const buttons = sayings[device] = new Map();
		for (const state of ["On", "Off"]) {
			(profile.elements[device + state] || []).forEach((candidate, index) => {
				for (const element of queryAll([candidate.css])) {
					if (!fits(candidate, element)) continue;
					const button = element.closest('button, [role="button"], [role="switch"], input') || element, kind = kindOf(candidate.css);
					if (!buttons.has(button)) buttons.set(button, {});
					const said = buttons.get(button)[state];
					buttons.get(button)[state] = {kind: Math.min(kind, said?.kind ?? kind), index: said?.index ?? index, named: kind > 0 || said?.named};
				}
			});
		}
		for (const [button, said] of buttons) {
			const state = {true: "Off", false: "On"}[button.dataset?.isMuted];
			if (state) said[state] = {kind: 0, index: said[state]?.index ?? -1, named: said[state]?.named};
		}
		return buttons;
	};
	// Returns what find returns for a device in a state: the button that says so, or one that
	// contradicts itself and says so by the stronger sign. An attribute that all devices have
	// says nothing of a button that a label or icon makes the other device's.
	const findDevice = (device, state) => {
		const other = sayingsOf(device === "camera" ? "microphone" : "camera");
		const named = said => said !== undefined && (said.On?.named || said.Off?.named);
		const matched = [...sayingsOf(device)].filter(([button, said]) => {
			const opposite = said[state === "On" ? "Off" : "On"];
			return said[state] && said[state].index >= 0 && (named(said) || !named(other.get(button))) &&
				(!opposite || said[state].kind < opposite.kind || said[state].kind === opposite.kind && state === "Off");
		}).map(([element, said]) => ({element, candidate: said[state].index, bounds: box(element), contradicted: said.On !== undefined && said.Off !== undefined}));
		matched.sort((a, b) => a.candidate - b.candidate);
		const shown = matched.find(one => one.bounds);
		return shown || (matched.length > 0 ? {hidden: matched[0].candidate, hiddenElement: matched[0].element} : {hidden: -1});
	};

	// Returns what find returns for an element of the profile. A field that asks for
	// the passcode does not ask for the name.
	const findElement = name => {
		const device = name.match(/^(microphone|camera)(On|Off)$/);
		if (device) return findDevice(device[1], device[2]);
		const found = find(profile.elements[name] || []);
		return name === "nameInput" && found.element && found.element === findElement("passcodeInput").element ? {hidden: -1} : found;
	};

	// Returns the first visible element of the candidates in an element, which may
	// be the element itself.
	const findWithin = (root, candidates) => {
		for (const candidate of candidates) {
			const matched = [...query(root, candidate.css)];
			if (root.matches(candidate.css)) matched.unshift(root);
			const found = matched.find(element => fits(candidate, element) && box(element));
			if (found) return found;
		}
		return null;
	};

	// Icons and buttons are no part of a name, nor are badges beside it.
	const icons = 'i, svg, button, [role="button"], [class*="material-icons"], [class*="google-symbols"]';
	const isBadge = node => profile.badges.includes(fold(textOf(node)));
	const nameIn = element => {
		if (element.firstElementChild === null) return textOf(element);
		const visible = element.querySelector(icons) === null && element.checkVisibility(opaque);
		const rejects = node => node.matches(hiddenContent) || node.matches(icons) || visible && !node.checkVisibility(opaque) && node.localName !== "title";
		return clean(textWithout(element, node => rejects(node) || isBadge(node))) || textWithout(element, rejects);
	};
	const read = (root, source, content = textOf) => {
		const element = root.matches(source.css) ? root : query(root, source.css)[0];
		if (!element) return null;
		const text = clean(content(element));
		const value = source.attribute ? clean(element.getAttribute(source.attribute)) : text;
		if (!source.pattern) return {text, value, element};
		const found = value.match(new RegExp(source.pattern));
		return {text, value: found ? found[1] : "", element};
	};
	const attributeOf = (element, names) => names.map(name => element.getAttribute(name)).find(value => value) || "";
	const withoutNested = elements => {
		const all = new Set(elements);
		return elements.filter(element => {
			for (let ancestor = parentOf(element); ancestor; ancestor = parentOf(ancestor)) if (all.has(ancestor)) return false;
			return true;
		});
	};
	// Returns the ids of the tracks that players in an element play.
	const tracksIn = element => [...query(element, "audio, video")].flatMap(player => {
		const stream = player.srcObject;
		return stream && stream.getTracks ? stream.getTracks().map(track => track.id) : [];
	});
	const controls = ["pin", "pinned", "menu"];
	// Reports whether a person is marked as speaking. A mark may have no size.
	const isMarked = root => profile.roster.speaking.some(candidate =>
		[root, ...query(root, candidate.css)].some(element => element.matches(candidate.css) && fits(candidate, element) && element.checkVisibility(opaque))) ||
		profile.roster.speakingColors.length > 0 && [root, ...query(root, "*")].slice(0, maxControls).some(isColored);
	const isColored = element => {
		if (element.closest('button, [role="button"]')) return false;
		const style = element.ownerDocument.defaultView.getComputedStyle(element);
		const colors = [style.boxShadow, style.borderTopStyle !== "none" ? style.borderTopColor : "", // arrange.js takes the width
			style.outlineStyle !== "none" ? style.outlineColor : "",
			element.textContent.trim() === "" ? style.backgroundColor : ""];
		return profile.roster.speakingColors.some(color => colors.some(shown => shown.includes(color))) && element.checkVisibility(opaque);
	};
	// Returns the place of a person in a list that scrolls, or "".
	const placeOf = element => {
		const place = attributeOf(element, ["aria-posinset", "data-index", "aria-rowindex", "data-item-index"]);
		if (place !== "") return place;
		for (let list = element.parentElement; list; list = list.parentElement) {
			if (list.scrollHeight <= list.clientHeight + 4 || list.ownerDocument.defaultView.getComputedStyle(list).overflowY === "visible") continue;
			return String(Math.round(element.getBoundingClientRect().top - list.getBoundingClientRect().top + list.scrollTop));
		}
		return "";
	};
	// Returns where a person is drawn, or null. In the meeting a tile may have no size.
	const placeOnPage = element => {
		const bounds = box(element);
		if (bounds || !inMeeting || !element.checkVisibility(opaque) || !documentOf.get(element.ownerDocument).shown) return bounds;
		const {left, top, width, height} = element.getBoundingClientRect();
		return width < 2 && height < 2 ? {left, top, width, height} : null;
	};
	const people = selectors => withoutNested(queryAll(selectors)).slice(0, maxPeople).flatMap(element => {
		const bounds = placeOnPage(element);
		if (!bounds || findWithin(element, profile.roster.ignore)) return [];
		const {x, y} = documentOf.get(element.ownerDocument);
		const person = {
			element,
			id: attributeOf(element, profile.roster.id),
			names: profile.roster.name.map(source => (read(element, source, nameIn) || {value: ""}).value).filter(name => name !== ""),
			place: placeOf(element),
			kind: selectors.findIndex(selector => element.matches(selector)),
			speaking: isMarked(element),
			tracks: tracksIn(element),
			controls: controls.filter(control => findWithin(element, profile.roster[control])),
			x: x + bounds.left + bounds.width / 2,
			y: y + bounds.top + bounds.height / 2,
		};
		for (const source of profile.roster.self) {
			const mark = read(element, source);
			if (mark && (!source.pattern || mark.value !== "")) { person.mark = mark.value; person.markText = mark.text; break; }
		}
		return [person];
	});

	if (typeof wanted === "string") return findElement(wanted).element || null;
	if (wanted !== undefined && wanted.hidden !== undefined) {
		const found = findElement(wanted.hidden);
		return found.element || found.hiddenElement || null;
	}
	const buttons = 'button, [role="button"], a[href], input[type="button"], input[type="submit"]';
	const fields = 'input:not([type="hidden"], [type="button"], [type="submit"], [type="checkbox"], [type="radio"]), textarea, [contenteditable="true"]';
	const labelOf = element => clean(element.getAttribute("aria-label") || textOf(element) || element.value || element.getAttribute("title") || element.getAttribute("placeholder"));

	// Returns the dialog that lies over the page: one that is marked as a dialog, or
	// else a layer over the center of the page, or null. What holds a field, a
	// participant or the call's controls is no dialog.
	const coveringDialog = () => {
		const holdsPage = element => [...query(element, fields)].some(box) ||
			profile.participantContent.some(selector => element.matches(selector)) ||
			profile.roster.tiles.some(selector => query(element, selector).length > 0);
		const holdsControls = element => ["leaveButton", "joinButton"].some(name => {
			const found = findElement(name).element;
			return found && holds(element, found);
		});
		const marked = queryAll(['[aria-modal="true"]', '[role="dialog"]', '[role="alertdialog"]', "dialog[open]"]).filter(element => box(element));
		for (const element of marked.reverse()) {
			if (element.getAttribute("aria-modal") === "true" || element.localName === "dialog" || coversCenter(element)) {
				if (!holdsPage(element)) return {element, marked: true};
			}
		}
		for (const {doc} of documents) {
			const view = doc.defaultView;
			let layer = doc.elementFromPoint(view.innerWidth / 2, view.innerHeight / 2);
			if (!layer || layer.localName === "iframe" || profile.participantContent.some(selector => layer.closest(selector))) continue;
			for (let found = null; layer && layer !== doc.body; layer = layer.parentElement) {
				const bounds = layer.getBoundingClientRect(), style = view.getComputedStyle(layer);
				if (!["fixed", "absolute"].includes(style.position) || bounds.width * bounds.height < view.innerWidth * view.innerHeight / 20) continue;
				if (holdsPage(layer) || holdsControls(layer) || textOf(layer).length > longText) break;
				if ([...query(layer, buttons)].some(box)) found = layer;
				if (found && (style.position === "fixed" || !layer.parentElement || layer.parentElement === doc.body)) return {element: found, marked: false};
			}
		}
		return null;
	};
	const coversCenter = element => {
		const view = element.ownerDocument.defaultView, bounds = element.getBoundingClientRect();
		const x = view.innerWidth / 2, y = view.innerHeight / 2;
		return bounds.left <= x && bounds.right >= x && bounds.top <= y && bounds.bottom >= y;
	};
	const buttonsOf = element => [...query(element, buttons)].filter(button => box(button)).slice(0, maxControls);
	const disabled = element => element.disabled === true || element.getAttribute("aria-disabled") === "true" || element.classList.contains("disabled");
	const boxOf = element => [...query(element, 'input[type="checkbox"]:not(:checked), [role="checkbox"][aria-checked="false"]')].find(one => box(one) && !disabled(one)) || null;
	if (wanted !== undefined && wanted.dialogBox) {
		const dialog = coveringDialog();
		return dialog && boxOf(dialog.element);
	}
	if (wanted !== undefined && wanted.dialogButton !== undefined) {
		const dialog = coveringDialog();
		const button = dialog && buttonsOf(dialog.element)[wanted.dialogButton];
		return button && labelOf(button) === wanted.label ? button : null;
	}
	if (wanted !== undefined) {
		const person = [...people(profile.roster.tiles), ...people(profile.roster.rows)]
			.find(one => one.id === wanted.id && (one.names[0] || "") === wanted.name && one.controls.includes(wanted.control));
		return person ? findWithin(person.element, profile.roster[wanted.control]) : null;
	}

	// Reports whether another element lies over the center of an element and would
	// get its click, in its document or over a frame around it.
	const covered = (element, bounds) => {
		let x = bounds.left + bounds.width / 2, y = bounds.top + bounds.height / 2;
		while (element) {
			const over = element.getRootNode().elementFromPoint(x, y);
			if (over !== null && !holds(element, over) && !holds(over, element)) return true;
			element = documentOf.get(element.ownerDocument).frame;
			if (element) {
				const corner = element.getBoundingClientRect();
				x += corner.left + element.clientLeft; y += corner.top + element.clientTop;
			}
		}
		return false;
	};

	const valueOf = element => {
		if (typeof element.value === "string") return element.value;
		return element.isContentEditable ? element.textContent : "";
	};
	const elements = {}, hidden = {};
	for (const name of Object.keys(profile.elements)) {
		const found = findElement(name);
		if (found.element) {
			elements[name] = {
				candidate: found.candidate,
				text: clean(found.element.getAttribute("aria-label") || textOf(found.element)),
				value: valueOf(found.element),
				disabled: disabled(found.element),
				covered: covered(found.element, found.bounds),
				contradicted: found.contradicted === true,
			};
		} else if (found.hidden >= 0) {
			hidden[name] = found.hidden;
		}
	}

	// The elements with participants' names and messages, and their ancestors.
	const excluded = new Set(queryAll(profile.participantContent)), ancestors = new Set();
	for (const element of excluded) {
		for (let parent = parentOf(element); parent && !ancestors.has(parent); parent = parentOf(parent)) ancestors.add(parent);
	}
	const isExcluded = element => {
		while (element && !excluded.has(element)) element = parentOf(element);
		return element !== null;
	};

	// Returns the texts of a region outside participants' content, each with its
	// element: text nodes, and elements whose text is in several nodes.
	const cachedRegions = {};
	const regionTexts = region => cachedRegions[region] ||= textsIn(queryAll(profile.regions[region] ?? []));
	const textsIn = elements => {
		const texts = [], roots = [...elements];
		const visited = new Set(), parents = new Set();
		const add = (element, text) => {
			if (text.length <= shortText && texts.length < maxTexts) texts.push({element, text, folded: fold(text)});
		};
		const filter = node => {
			if (node.nodeType !== Node.ELEMENT_NODE) return NodeFilter.FILTER_ACCEPT;
			if (visited.has(node) || excluded.has(node) || node.matches(hiddenContent)) {
				return NodeFilter.FILTER_REJECT;
			}
			visited.add(node);
			if (node.shadowRoot) roots.push(node.shadowRoot);
			return NodeFilter.FILTER_SKIP;
		};
		for (const root of roots) {
			if (visited.has(root) || isExcluded(elementOf(root))) continue;
			visited.add(root);
			parents.add(elementOf(root));
			if (root.shadowRoot) roots.push(root.shadowRoot);
			const walker = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, filter);
			for (let node = walker.nextNode(); node && texts.length < maxTexts; node = walker.nextNode()) {
				add(parentIn(node), node.data);
				parents.add(parentIn(node));
			}
		}
		for (const parent of parents) {
			if ((parent.firstElementChild || parent.shadowRoot) && !ancestors.has(parent)) add(parent, textOf(parent));
		}
		return texts;
	};
	// Reports whether the page shows a text that matches.
	const shows = (match, {element, text, folded}) => matches(match, folded) && box(element) !== null &&
		(!element.firstElementChild || text === element.ariaLabel || matches(match, fold(visibleTextOf(element))));
	const texts = {};
	for (const condition of profile.conditions) {
		for (const region of condition.in) {
			const found = regionTexts(region).find(one => shows(condition.match, one));
			if (found) { texts[condition.key] = clean(found.text); break; }
		}
	}

	// Returns the first text or accessible label of the whole page that matches.
	let wholePage = null;
	const anywhere = match => {
		if (inMeeting || !match.equals && !match.startsWith && !match.contains) return "";
		wholePage ??= [
			...textsIn(documents.map(entry => entry.doc.body).filter(Boolean)),
			...queryAll(["[aria-label]"]).filter(element => !isExcluded(element) && !element.matches(hiddenContent))
				.map(element => ({element, text: element.ariaLabel, folded: fold(element.ariaLabel)})),
		];
		const found = wholePage.find(one => shows(match, one));
		return found ? clean(found.text) : "";
	};

	// Returns the type of a field: email and code for those that ask for an address or a code, in any words.
	const typeOf = element => {
		const hints = [element.autocomplete, element.name, element.id, element.dataset.tid].join(" ").toLowerCase();
		if (!element.type || element === findElement("nameInput").element || element === findElement("passcodeInput").element) return element.type || "";
		if (element.type === "email" || /e-?mail/.test(hints)) return "email";
		const short = element.maxLength > 0 && element.maxLength <= 8;
		return ["text", "tel", "number"].includes(element.type) && (short || element.inputMode === "numeric" || /one-time-code|otp|verif|\bpin\b|code/.test(hints)) ? "code" : element.type;
	};

	// What the page shows outside participants' content, without a profile.
	const outline = () => {
		if (inMeeting) return {};
		const visible = selectors => queryAll(selectors).filter(element => !isExcluded(element) && box(element));
		const unique = list => [...new Set(list.map(text => clean(text)))].filter(text => text !== "").slice(0, maxControls);
		const shown = textsIn(documents.map(entry => entry.doc.body).filter(Boolean)).filter(({element, text}) => text.trim() !== "" && box(element));
		return {
			headings: unique(visible(["h1", "h2", "h3", '[role="heading"]']).map(visibleTextOf)),
			notices: unique(visible(['[role="dialog"]', '[role="alertdialog"]', '[role="alert"]', '[role="status"]', "dialog[open]", '[aria-live="polite"]', '[aria-live="assertive"]']).map(visibleTextOf)),
			texts: unique(shown.map(({element, text}) => element.firstElementChild && text === textOf(element) ? visibleTextOf(element) : text)),
			buttons: visible([buttons]).slice(0, maxControls).map(element => ({label: labelOf(element), disabled: disabled(element), link: element.localName === "a"})),
			fields: visible([fields]).slice(0, maxControls).map(element => ({
				label: clean(element.getAttribute("aria-label") || element.getAttribute("placeholder")), type: typeOf(element), filled: valueOf(element) !== "",
			})),
		};
	};

	const dialogOverPage = () => {
		const found = coveringDialog();
		if (!found) return null;
		const frame = found.element.getBoundingClientRect();
		return {
			text: clean(visibleTextOf(found.element), longText),
			marked: found.marked,
			unchecked: boxOf(found.element) !== null,
			buttons: buttonsOf(found.element).map(button => {
				const bounds = button.getBoundingClientRect();
				const href = button.localName === "a" ? button.getAttribute("href") : "";
				return {
					label: labelOf(button),
					icon: clean(nameIn(button)).length < 2 && bounds.width <= 64 && bounds.height <= 64,
					corner: bounds.top - frame.top < Math.max(64, frame.height / 4) && (bounds.left - frame.left < 80 || frame.right - bounds.right < 80),
					link: href !== "" && !href.startsWith("#"),
					disabled: disabled(button),
					covered: covered(button, box(button)),
				};
			}),
		};
	};

	const counts = [];
	for (const source of profile.roster.count) {
		for (const element of queryAll([source.css])) {
			// A hidden toolbar still holds the number.
			if (element.getClientRects().length === 0 || counts.length >= 20) continue;
			counts.push(read(element, source).value);
		}
	}

	// The messages of an open chat, including those scrolled out of view. The
	// author of several messages in a row is named once, above the first.
	const chat = [];
	const rendered = element => documentOf.get(element.ownerDocument).shown && element.getClientRects().length > 0 && element.checkVisibility(opaque);
	const messages = withoutNested(queryAll(profile.chat.messages)).filter(rendered).slice(-maxMessages);
	const authors = messages.length === 0 ? [] : queryAll(profile.chat.author.map(source => source.css));
	const before = (one, other) => one.ownerDocument === other.ownerDocument &&
		(one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
	const firstOf = (element, sources) => {
		for (const source of sources) {
			const found = read(element, source);
			if (found && found.value !== "") return {...found, source};
		}
		return null;
	};
	const authorOf = (line, sources, authors) => {
		const above = authors.filter(element => before(element, line)).pop();
		const author = firstOf(line, sources) || above && firstOf(above, sources);
		return author ? author.value : "";
	};
	const messageText = message => {
		for (const source of profile.chat.text) {
			const found = read(message, source);
			if (found) return clean(source.attribute || source.pattern ? found.value : textWithout(found.element, node => node.matches(hiddenContent)), maxMessage);
		}
		const aside = new Set([...authors, ...query(message, "time, button")]);
		const walker = message.ownerDocument.createTreeWalker(message, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, node =>
			aside.has(node) ? NodeFilter.FILTER_REJECT : node.nodeType === Node.TEXT_NODE || isEmoji(node) ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP);
		let rest = "";
		for (let node = walker.nextNode(); node; node = walker.nextNode()) rest += (isEmoji(node) ? node.alt : node.data) + " ";
		return clean(rest, maxMessage);
	};
	const ownMessage = message => profile.chat.own.some(candidate =>
		message.closest(candidate.css) !== null && fits(candidate, message.closest(candidate.css)) || findWithin(message, [candidate]) !== null);
	const withID = profile.chat.id.map(name => `[${name}]`).join(",");
	const idOf = message => {
		const holder = withID === "" || message.matches(withID) ? message : query(message, withID)[0] || message;
		return attributeOf(holder, profile.chat.id);
	};
	for (const message of messages) {
		const own = ownMessage(message), text = messageText(message);
		if (text !== "") chat.push({id: idOf(message), own, author: authorOf(message, profile.chat.author, own ? [] : authors), text});
	}

	// The lines of the captions. Each element has a number, by which it is known
	// when its text changes.
	const captions = [];
	const lines = withoutNested(queryAll(profile.captions.lines)).filter(rendered).slice(-maxCaptions);
	const speakers = lines.length === 0 ? [] : queryAll(profile.captions.author.map(source => source.css));
	const numbersKey = Symbol.for("standin.captionLines");
	const numbers = window[numbersKey] ||= {last: 0, of: new WeakMap()};
	for (const line of lines) {
		if (!numbers.of.has(line)) numbers.of.set(line, ++numbers.last);
		const text = firstOf(line, profile.captions.text);
		const shown = (text ? text.source.attribute ? text.value : textOf(text.element) : textOf(line)).replace(/\s+/g, " ").trim();
		if (shown !== "") captions.push({element: numbers.of.get(line), author: authorOf(line, profile.captions.author, speakers), text: shown.slice(-maxMessage)});
	}

	const encodable = ({element, ...person}) => person;
	// The elements of the tiles, for arrange.js.
	const tiles = people(profile.roster.tiles);
	const tilesKey = Symbol.for("standin.tiles");
	window[tilesKey] = {number: (window[tilesKey]?.number || 0) + 1, elements: tiles.map(tile => tile.element)};
	return {
		scheme: location.protocol,
		host: location.hostname,
		path: clean(location.pathname),
		status: performance.getEntriesByType("navigation")[0]?.responseStatus || 0,
		document: Math.round(performance.timeOrigin),
		language: clean(document.documentElement?.lang),
		title: clean(document.title),
		width: innerWidth,
		height: innerHeight,
		elements, hidden, texts, counts, chat, captions,
		lobbyText: anywhere(profile.lobbyTexts),
		hostText: anywhere(profile.hostTexts),
		outline: outline(),
		over: dialogOverPage(),
		tiles: tiles.map(encodable),
		tileList: window[tilesKey].number,
		rows: people(profile.roster.rows).map(encodable),
	};
}
