// The probe: what of a profile's elements, texts and people a page shows now,
// in its document and in those frames of it that are of its own origin. It is a
// function of the profile's looking part (see snapshot.go) and, to find one
// element instead, what is wanted: an element's name, or somebody's offer. It
// changes nothing on the page.
(profile, wanted) => {
	const shortText = 300;    // longer texts are prose, not labels
	const longText = 2000;    // of a chat message
	const mostTexts = 3000;   // for each region
	const mostPeople = 1000;
	const mostMessages = 200;
	const mostFrames = 20;

	// Texts are compared folded; each is folded once.
	const folds = new Map();
	const fold = text => {
		let folded = folds.get(text);
		if (folded === undefined) {
			folded = text.normalize("NFKC").replace(/[\u2018\u2019\u02BC]/g, "'").replace(/\s+/g, " ").trim()
				.replace(/[.! ]+$/, "").toLowerCase();
			folds.set(text, folded);
		}
		return folded;
	};
	const clean = (text, most = shortText) => (text || "").replace(/\s+/g, " ").trim().slice(0, most);

	// The part of an element that is in sight, in its own document, or null:
	// neither it nor what is around it is hidden, transparent, clipped away or
	// off the page.
	const boxInDocument = element => {
		if (!element.checkVisibility({opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true})) return null;
		const inside = element.ownerDocument, view = inside.defaultView;
		const bounds = element.getBoundingClientRect();
		let {left, top, right, bottom} = bounds;
		let position = view.getComputedStyle(element).position;
		for (let around = element.parentElement; around && around !== inside.body && position !== "fixed"; around = around.parentElement) {
			const style = view.getComputedStyle(around);
			if (style.overflowX !== "visible" || style.overflowY !== "visible") {
				const edge = around.getBoundingClientRect();
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
		const page = inside.scrollingElement || inside.documentElement;
		right = Math.min(right, Math.max(page.scrollWidth - view.scrollX, view.innerWidth));
		bottom = Math.min(bottom, Math.max(page.scrollHeight - view.scrollY, view.innerHeight));
		const width = right - left, height = bottom - top;
		return width >= 2 && height >= 2 ? {left, top, width, height} : null;
	};

	// The page's document, then those of its frames: each with the frame that
	// shows it, where that stands on the page, and whether it is in sight.
	const scenes = [], sceneOf = new Map();
	const addScene = (inside, frame, x, y, shown) => {
		const scene = {inside, frame, x, y, shown};
		scenes.push(scene);
		sceneOf.set(inside, scene);
		for (const inner of inside.querySelectorAll("iframe, frame")) {
			let within = null;
			try { within = inner.contentDocument; } catch { /* of another origin */ }
			if (!within || !within.documentElement || scenes.length > mostFrames) continue;
			const corner = inner.getBoundingClientRect();
			addScene(within, inner, x + corner.left + inner.clientLeft, y + corner.top + inner.clientTop, shown && boxInDocument(inner) !== null);
		}
	};
	addScene(document, null, 0, 0, true);
	const box = element => sceneOf.get(element.ownerDocument).shown ? boxInDocument(element) : null;

	// What is around an element: a frame is around what it shows.
	const outerOf = element => element.parentElement || sceneOf.get(element.ownerDocument).frame;

	const matches = (match, folded) => folded !== "" && (
		(match.equals || []).some(wish => folded === fold(wish)) ||
		(match.startsWith || []).some(wish => folded.startsWith(fold(wish))) ||
		(match.contains || []).some(wish => folded.includes(fold(wish))));

	// The folded texts of an element: its label, all of it when short, its
	// pieces.
	const gatheredTexts = new Map();
	const textsOf = element => {
		let texts = gatheredTexts.get(element);
		if (texts) return texts;
		gatheredTexts.set(element, texts = []);
		const label = element.getAttribute("aria-label");
		if (label) texts.push(fold(label));
		const whole = element.textContent;
		if (whole.length <= shortText) texts.push(fold(whole));
		if (element.firstElementChild) {
			const walker = element.ownerDocument.createTreeWalker(element, NodeFilter.SHOW_TEXT);
			for (let node = walker.nextNode(); node && texts.length < 50; node = walker.nextNode()) {
				if (node.data.length <= shortText) texts.push(fold(node.data));
			}
		}
		return texts;
	};

	const query = (root, selector) => {
		try {
			return root.querySelectorAll(selector);
		} catch (error) {
			throw new Error("the profile's selector " + JSON.stringify(selector) + " is not valid: " + error.message);
		}
	};
	const everywhere = selectors => selectors.length === 0 ? [] :
		scenes.flatMap(scene => [...query(scene.inside, selectors.join(","))]);

	const fits = (candidate, element) => {
		if (candidate.text && !textsOf(element).some(text => matches(candidate.text, text))) return false;
		if (!candidate.within) return true;
		for (let around = outerOf(element); around; around = outerOf(around)) {
			if (around.matches(candidate.within.css) && fits(candidate.within, around)) return true;
		}
		return false;
	};

	// The first visible element of the first candidate that has any, and else
	// which candidate is there out of sight.
	const find = candidates => {
		let hidden = -1;
		for (let i = 0; i < candidates.length; i++) {
			const candidate = candidates[i];
			for (const element of everywhere([candidate.css])) {
				if (!fits(candidate, element)) continue;
				const sight = box(element);
				if (!sight) { if (hidden < 0) hidden = i; continue; }
				const view = element.ownerDocument.defaultView;
				const width = Math.min(sight.left + sight.width, view.innerWidth) - Math.max(sight.left, 0);
				const height = Math.min(sight.top + sight.height, view.innerHeight) - Math.max(sight.top, 0);
				if (candidate.minWidth && width < candidate.minWidth || candidate.minHeight && height < candidate.minHeight) continue;
				return {element, candidate: i, sight};
			}
		}
		return {hidden};
	};

	// The first visible one of the candidates in an element, or it itself.
	const findWithin = (root, candidates) => {
		for (const candidate of candidates) {
			const inside = [...query(root, candidate.css)];
			if (root.matches(candidate.css)) inside.unshift(root);
			const found = inside.find(element => fits(candidate, element) && box(element));
			if (found) return found;
		}
		return null;
	};

	const read = (root, reading) => {
		const element = root.matches(reading.css) ? root : query(root, reading.css)[0];
		if (!element) return null;
		const text = clean(element.textContent);
		const value = reading.attribute ? clean(element.getAttribute(reading.attribute)) : text;
		if (!reading.pattern) return {text, value, element};
		const found = value.match(new RegExp(reading.pattern));
		return {text, value: found ? found[1] : "", element};
	};
	const attributeOf = (element, names) => names.map(name => element.getAttribute(name)).find(value => value) || "";
	const outermost = elements => {
		const all = new Set(elements);
		return elements.filter(element => {
			for (let around = outerOf(element); around; around = outerOf(around)) if (all.has(around)) return false;
			return true;
		});
	};
	// The tracks whose sound the elements within an element play.
	const playedIn = element => [...element.querySelectorAll("audio, video")].flatMap(player => {
		const stream = player.srcObject;
		return stream && stream.getAudioTracks ? stream.getAudioTracks().map(track => track.id) : [];
	});
	const offers = ["pin", "pinned", "menu"];
	const people = selectors => outermost(everywhere(selectors)).slice(0, mostPeople).flatMap(element => {
		const sight = box(element);
		if (!sight) return [];
		const {x, y} = sceneOf.get(element.ownerDocument);
		const person = {
			element,
			id: attributeOf(element, profile.roster.id),
			names: profile.roster.name.map(reading => (read(element, reading) || {value: ""}).value).filter(name => name !== ""),
			speaking: findWithin(element, profile.roster.speaking) !== null,
			tracks: playedIn(element),
			offers: offers.filter(offer => findWithin(element, profile.roster[offer])),
			x: x + sight.left + sight.width / 2,
			y: y + sight.top + sight.height / 2,
		};
		for (const reading of profile.roster.self) {
			const mark = read(element, reading);
			if (mark && (!reading.pattern || mark.value !== "")) { person.mark = mark.value; person.marked = mark.text; break; }
		}
		return [person];
	});

	if (typeof wanted === "string") return find(profile.elements[wanted] || []).element || null;
	if (wanted !== undefined) {
		const person = [...people(profile.roster.tiles), ...people(profile.roster.rows)]
			.find(one => one.id === wanted.id && (one.names[0] || "") === wanted.name && one.offers.includes(wanted.offer));
		return person ? findWithin(person.element, profile.roster[wanted.offer]) : null;
	}

	// Something else lies over the middle of the element and would take a
	// click meant for it, in its document or over a frame around it.
	const covered = (element, sight) => {
		let x = sight.left + sight.width / 2, y = sight.top + sight.height / 2;
		while (element) {
			const over = element.ownerDocument.elementFromPoint(x, y);
			if (over !== null && !element.contains(over) && !over.contains(element)) return true;
			element = sceneOf.get(element.ownerDocument).frame;
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
	const disabled = element => element.disabled === true || element.getAttribute("aria-disabled") === "true" || element.classList.contains("disabled");
	const elements = {}, hidden = {};
	for (const [name, candidates] of Object.entries(profile.elements)) {
		const found = find(candidates);
		if (found.element) {
			elements[name] = {
				candidate: found.candidate,
				text: clean(found.element.getAttribute("aria-label") || found.element.textContent),
				value: valueOf(found.element),
				disabled: disabled(found.element),
				covered: covered(found.element, found.sight),
			};
		} else if (found.hidden >= 0) {
			hidden[name] = found.hidden;
		}
	}

	// What participants wrote, and what surrounds it.
	const theirs = new Set(everywhere(profile.participantContent)), around = new Set();
	for (const element of theirs) {
		for (let outer = outerOf(element); outer && !around.has(outer); outer = outerOf(outer)) around.add(outer);
	}
	const belongsToThem = element => {
		while (element && !theirs.has(element)) element = outerOf(element);
		return element !== null;
	};

	// The texts in a region but for theirs, each with the element that shows
	// it: pieces, and whole elements whose text is in several pieces.
	const gathered = {};
	const regionTexts = region => {
		if (gathered[region]) return gathered[region];
		const texts = gathered[region] = [];
		const visited = new Set(), parents = new Set();
		const add = (element, text) => {
			if (text.length <= shortText && texts.length < mostTexts) texts.push({element, text, folded: fold(text)});
		};
		const filter = node => {
			if (node.nodeType !== Node.ELEMENT_NODE) return NodeFilter.FILTER_ACCEPT;
			if (visited.has(node) || theirs.has(node) || ["script", "style", "noscript", "template"].includes(node.localName)) {
				return NodeFilter.FILTER_REJECT;
			}
			visited.add(node);
			return NodeFilter.FILTER_SKIP;
		};
		for (const root of everywhere(profile.regions[region])) {
			if (visited.has(root) || belongsToThem(root)) continue;
			visited.add(root);
			parents.add(root);
			const walker = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, filter);
			for (let node = walker.nextNode(); node && texts.length < mostTexts; node = walker.nextNode()) {
				add(node.parentElement, node.data);
				parents.add(node.parentElement);
			}
		}
		for (const parent of parents) {
			if (parent.firstElementChild && !around.has(parent)) add(parent, parent.textContent);
		}
		return texts;
	};
	const texts = {};
	for (const condition of profile.conditions) {
		for (const region of condition.in) {
			const found = regionTexts(region).find(({element, folded}) => matches(condition.match, folded) && box(element));
			if (found) { texts[condition.key] = clean(found.text); break; }
		}
	}

	const counts = [];
	for (const reading of profile.roster.count) {
		for (const element of everywhere([reading.css])) {
			// A toolbar that hides itself still knows the number.
			if (element.getClientRects().length === 0 || counts.length >= 20) continue;
			counts.push(read(element, reading).value);
		}
	}

	// The messages of an open chat, also those that were scrolled away. Somebody
	// who writes several in a row is named once, above the first.
	const chat = [];
	const rendered = element => sceneOf.get(element.ownerDocument).shown && element.getClientRects().length > 0 &&
		element.checkVisibility({opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true});
	const messages = outermost(everywhere(profile.chat.messages)).filter(rendered).slice(-mostMessages);
	const authors = messages.length === 0 ? [] : everywhere(profile.chat.author.map(reading => reading.css));
	const before = (one, other) => one.ownerDocument === other.ownerDocument &&
		(one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
	const authorOf = message => {
		for (const reading of profile.chat.author) {
			const found = read(message, reading);
			if (found && found.value !== "") return found.value;
		}
		if (ownMessage(message)) return "";
		const above = authors.filter(element => before(element, message)).pop();
		const reading = above && profile.chat.author.find(one => above.matches(one.css));
		return reading ? read(above, reading).value : "";
	};
	const spokenIn = message => {
		for (const reading of profile.chat.text) {
			const found = read(message, reading);
			if (found) return clean(reading.attribute || reading.pattern ? found.value : found.element.textContent, longText);
		}
		const aside = new Set([...authors, ...query(message, "time, button")]);
		const walker = message.ownerDocument.createTreeWalker(message, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, node =>
			aside.has(node) ? NodeFilter.FILTER_REJECT : node.nodeType === Node.TEXT_NODE ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP);
		let rest = "";
		for (let node = walker.nextNode(); node; node = walker.nextNode()) rest += node.data + " ";
		return clean(rest, longText);
	};
	const ownMessage = message => profile.chat.own.some(candidate =>
		message.closest(candidate.css) !== null && fits(candidate, message.closest(candidate.css)) || findWithin(message, [candidate]) !== null);
	const withID = profile.chat.id.map(name => `[${name}]`).join(",");
	const idOf = message => {
		const holder = withID === "" || message.matches(withID) ? message : query(message, withID)[0] || message;
		return attributeOf(holder, profile.chat.id);
	};
	for (const message of messages) {
		const line = {id: idOf(message), own: ownMessage(message), author: authorOf(message), text: spokenIn(message)};
		if (line.text !== "") chat.push(line);
	}

	const forGo = ({element, ...person}) => person;
	return {
		scheme: location.protocol,
		host: location.hostname,
		title: clean(document.title),
		width: innerWidth,
		height: innerHeight,
		elements, hidden, texts, counts, chat,
		tiles: people(profile.roster.tiles).map(forGo),
		rows: people(profile.roster.rows).map(forGo),
	};
}
