// Arranges the tiles of the meeting for the recorded picture, by style alone: the
// participants' tiles and shared content are moved to their places, and everything
// else, including the bot's own tiles and the page's controls, is made transparent but
// stays where it is. Its argument says what is wanted: the layout ("page" puts
// everything back), the number and the roles of the tiles that probe.js listed, which
// elements are shared content, and which stay visible.
request => {
	const attribute = "data-standin";
	const holdMain = 1000;   // how long the main participant may be silent while another speaks, in ms
	const gap = 4;           // between places, in pixels
	const maxGrid = 49;
	const listed = window[Symbol.for("standin.tiles")];
	const state = window[Symbol.for("standin.picture")] ||= {marks: new Map(), sheets: new Map(), boxes: new Map(), filled: new Set(), main: null, spokeAt: 0};

	const documents = [], frameOf = new Map();
	const addDocument = (doc, frame) => {
		documents.push(doc);
		frameOf.set(doc, frame);
		for (const inner of doc.querySelectorAll("iframe, frame")) {
			let within = null;
			try { within = inner.contentDocument; } catch { /* of another origin */ }
			if (within && within.documentElement && documents.length < 20) addDocument(within, inner);
		}
	};
	addDocument(document, null);
	const parentOf = element => element.parentElement || frameOf.get(element.ownerDocument) || null;
	const viewOf = element => element.ownerDocument.defaultView;

	// Sets the attributes and the style sheets, as far as they differ from those set.
	const apply = (marks, rules) => {
		for (const element of state.marks.keys()) if (!marks.has(element)) element.removeAttribute(attribute);
		for (const [element, value] of marks) if (element.getAttribute(attribute) !== value) element.setAttribute(attribute, value);
		state.marks = marks;
		for (const doc of documents) {
			const css = rules.get(doc) || "";
			let sheet = state.sheets.get(doc);
			if (!sheet && css === "") continue;
			if (!sheet) {
				sheet = {sheet: new doc.defaultView.CSSStyleSheet(), css: ""};
				state.sheets.set(doc, sheet);
			}
			if (!doc.adoptedStyleSheets.includes(sheet.sheet)) doc.adoptedStyleSheets = [...doc.adoptedStyleSheets, sheet.sheet];
			if (sheet.css !== css) sheet.sheet.replaceSync(sheet.css = css);
		}
		for (const doc of state.sheets.keys()) if (!documents.includes(doc)) state.sheets.delete(doc);
	};
	const putBack = () => {
		apply(new Map(), new Map());
		state.boxes.clear(); state.filled.clear();
		state.main = null;
	};
	if (request.layout === "page") return putBack();
	if (!listed || listed.number !== request.number) return; // another snapshot was taken meanwhile

	const visible = element => {
		if (!element.isConnected || !element.checkVisibility({opacityProperty: true, visibilityProperty: true})) return false;
		const {width, height} = element.getBoundingClientRect();
		return width >= 2 && height >= 2;
	};
	const fold = text => (text || "").normalize("NFKC").replace(/\s+/g, " ").trim().toLowerCase();
	const says = (match, element) => {
		const text = element.textContent, texts = [element.getAttribute("aria-label"), text.length <= 300 ? text : ""].map(fold);
		return texts.some(text => text !== "" && (
			(match.equals || []).some(one => text === fold(one)) || (match.startsWith || []).some(one => text.startsWith(fold(one))) ||
			(match.contains || []).some(one => text.includes(fold(one)))));
	};
	const find = candidates => [...new Set((candidates || []).flatMap(candidate => documents.flatMap(doc =>
		[...doc.querySelectorAll(candidate.css)].filter(element => (!candidate.text || says(candidate.text, element)) && visible(element)))))];
	const outermost = elements => elements.filter(element => !elements.some(other => other !== element && other.contains(element)));

	const tiles = request.roles.map((role, i) => ({...role, element: listed.elements[i]})).filter(tile => tile.element && tile.element.isConnected);
	const own = tiles.filter(tile => tile.own).map(tile => tile.element);
	const inOwn = element => own.some(tile => tile.contains(element));
	const mediaOf = element => [...element.querySelectorAll("video, canvas, video-player")].filter(visible)
		.sort((a, b) => area(b) - area(a))[0] || null;
	const area = element => {
		const {width, height} = element.getBoundingClientRect();
		return width * height;
	};

	// Shared content: what the profile names, or else a large video of no tile.
	const isLarge = element => area(element) >= viewOf(element).innerWidth * viewOf(element).innerHeight / 6;
	let content = outermost(find(request.content)).filter(element => !inOwn(element));
	const outside = element => !tiles.some(tile => tile.element.contains(element));
	if (content.length === 0) {
		content = documents.flatMap(doc => [...doc.querySelectorAll("video")])
			.filter(video => video.srcObject && outside(video) && visible(video) && (isLarge(video) || state.boxes.has(video))).slice(0, 1);
	}
	content = content.slice(0, 2);
	const people = tiles.filter(tile => !tile.own && !content.some(one => one.contains(tile.element) || tile.element.contains(one)));
	if (people.length + content.length === 0) return putBack();

	// A canvas that several tiles share cannot be divided: the page's picture stays.
	const shown = [...content, ...people.map(person => person.element)];
	const canvases = shown.some(element => mediaOf(element) || element.matches("video, canvas")) ? [] :
		documents.flatMap(doc => [...doc.querySelectorAll("canvas")]).filter(canvas => outside(canvas) && visible(canvas) && isLarge(canvas));

	// The main participant: the pinned one, or else the one who speaks or spoke last.
	const now = performance.now();
	const chooseMain = () => {
		const pinned = people.find(person => person.pinned);
		if (pinned) return pinned;
		const current = people.find(person => person.element === state.main);
		const speaking = people.find(person => person.speaking);
		if (current && current.speaking) state.spokeAt = now;
		if (current && (!speaking || now - state.spokeAt < holdMain)) return current;
		if (speaking) state.spokeAt = now;
		return speaking || people.find(person => mediaOf(person.element)) || people[0];
	};
	const main = people.length > 0 ? chooseMain() : null;
	state.main = main && main.element;

	const lead = shown[0].ownerDocument.defaultView;
	const width = lead.innerWidth, height = lead.innerHeight;
	const places = [];
	const place = (element, x, y, w, h, z = 0) => places.push({element, x: Math.round(x), y: Math.round(y), w: Math.round(w), h: Math.round(h), z, content: content.includes(element), large: false});
	// A grid of equal places without holes but in its last row, which is centered.
	const grid = (elements, x, y, w, h) => {
		let best = {score: 0, columns: 1};
		for (let columns = 1; columns <= elements.length; columns++) {
			const rows = Math.ceil(elements.length / columns);
			const one = {w: w / columns, h: h / rows}, whole = Math.min(one.w, one.h * 16 / 9); // as much of a video as a place shows
			const score = whole * whole * Math.min(1, (one.w / one.h) / (4 / 3));
			if (score > best.score) best = {score, columns};
		}
		const {columns} = best, rows = Math.ceil(elements.length / columns);
		elements.forEach((element, i) => {
			const row = Math.floor(i / columns), inRow = Math.min(columns, elements.length - row * columns);
			const left = x + (w - inRow * w / columns) / 2 + (i - row * columns) * w / columns;
			const spaceX = columns > 1 ? gap : 0, spaceY = rows > 1 ? gap : 0;
			place(element, left + spaceX / 2, y + row * h / rows + spaceY / 2, w / columns - spaceX, h / rows - spaceY);
		});
	};
	// One large place, and a column of small ones beside it.
	const stage = (large, small, share) => {
		const side = small.length === 0 ? 0 : Math.round(width * share);
		const high = Math.round((side - gap) * 9 / 16), fitting = side === 0 ? 0 : Math.max(1, Math.floor(height / (high + gap)));
		small = small.slice(0, fitting);
		grid(large, 0, 0, width - side, height);
		// Without a border, a video has its own size there, and needs not be scaled.
		for (const one of places) one.large = true;
		const top = (height - small.length * (high + gap) + gap) / 2;
		small.forEach((element, i) => place(element, width - side + gap, top + i * (high + gap), side - gap, high));
	};
	const byMain = people.map(person => person.element).filter(element => element !== state.main);
	if (state.main) byMain.unshift(state.main);
	if (canvases.length > 0) {
		// Nothing is moved.
	} else if (request.layout === "gallery") {
		grid(shown.slice(0, maxGrid), 0, 0, width, height);
	} else if (request.layout === "content" && content.length > 0) {
		stage(content, byMain.slice(0, 1), 1 / 8);
	} else if (content.length > 0) {
		stage(content, byMain, 1 / 5);
	} else {
		stage(byMain.slice(0, 1), byMain.slice(1), 1 / 5);
	}

	// Elements that stay visible: the places, what is kept, and all their ancestors.
	const marks = new Map(), kept = outermost([...find(request.kept), ...canvases, ...(canvases.length > 0 ? shown : [])])
		.filter(element => !inOwn(element) && !places.some(one => one.element.contains(element)));
	places.forEach((one, i) => marks.set(one.element, String(i)));
	for (const element of kept) marks.set(element, canvases.includes(element) || shown.includes(element) ? "page" : viewOf(element).getComputedStyle(element).position === "static" ? "kept static" : "kept");
	for (const element of [...marks.keys()]) {
		for (let ancestor = parentOf(element); ancestor; ancestor = parentOf(ancestor)) {
			if (!marks.has(ancestor)) marks.set(ancestor, canvases.length > 0 ? "open" : "path");
		}
	}

	// Videos that do not fill their place are made to.
	for (const element of state.filled) if (!places.some(one => one.element.contains(element))) state.filled.delete(element);
	const fill = () => {
		for (const one of places) {
			const media = one.element.matches("video, canvas") ? null : mediaOf(one.element);
			if (!media) continue;
			const box = media.getBoundingClientRect();
			const fills = box.left <= one.x + one.w * 0.06 && box.top <= one.y + one.h * 0.06 &&
				box.right >= one.x + one.w * 0.94 && box.bottom >= one.y + one.h * 0.94;
			if (!fills || one.content) state.filled.add(media);
		}
		for (const media of state.filled) {
			const one = places.find(one => one.element.contains(media));
			for (let element = media; element && element !== one.element; element = element.parentElement) {
				marks.set(element, element !== media ? "fill" : one.content ? "whole" : "cover");
			}
		}
	};
	const rulesOf = () => {
		const common = `
			[${attribute}="path"], [${attribute}="open"] { opacity: 1 !important; background: none !important; box-shadow: none !important; outline: none !important; border-color: transparent !important; }
			:root[${attribute}] { background: #000 !important; }
			[${attribute}="path"] { transform: none !important; translate: none !important; scale: none !important; rotate: none !important; filter: none !important;
				backdrop-filter: none !important; perspective: none !important; contain: none !important; container-type: normal !important; will-change: auto !important; clip-path: none !important; }
			:is([${attribute}="path"], [${attribute}="open"]) > :not([${attribute}]) { opacity: 0.001 !important; }
			[${attribute}^="kept"] { opacity: 1 !important; z-index: 2147483647 !important; }
			[${attribute}="kept static"] { position: relative !important; }
			:is([${attribute}="fill"], [${attribute}="cover"], [${attribute}="whole"]) { position: absolute !important; inset: 0 !important; width: 100% !important; height: 100% !important;
				min-width: 0 !important; min-height: 0 !important; max-width: none !important; max-height: none !important; margin: 0 !important; padding: 0 !important; transform: none !important; }
			[${attribute}="cover"] { object-fit: cover !important; }
			[${attribute}="whole"] { object-fit: contain !important; }`;
		const rules = new Map();
		for (const doc of documents) {
			const inside = places.map((one, i) => ({...one, ...state.boxes.get(one.element), i})).filter(one => one.element.ownerDocument === doc);
			rules.set(doc, common + inside.map(({i, left, top, wide, high, z, element, content, large}) => `
				[${attribute}="${i}"] { position: fixed !important; inset: auto !important; left: ${left}px !important; top: ${top}px !important; width: ${wide}px !important; height: ${high}px !important;
					min-width: 0 !important; min-height: 0 !important; max-width: none !important; max-height: none !important; margin: 0 !important; box-sizing: border-box !important;
					transform: none !important; transition: none !important; animation: none !important; opacity: 1 !important; visibility: visible !important; pointer-events: none !important; z-index: ${z} !important;
					${large ? "border-width: 0 !important; border-radius: 0 !important;" : ""}
					${content && element.matches("video, canvas") ? "object-fit: contain !important;" : ""} }
				[${attribute}="${i}"] :is(video, canvas) { pointer-events: none !important; }`).join(""));
		}
		return rules;
	};

	// What contains a fixed element may move and scale it: the boxes are corrected for that.
	for (const element of state.boxes.keys()) if (!places.some(one => one.element === element)) state.boxes.delete(element);
	for (const one of places) if (!state.boxes.has(one.element)) state.boxes.set(one.element, {left: one.x, top: one.y, wide: one.w, high: one.h});
	for (const media of state.filled) if (!media.isConnected) state.filled.delete(media);
	fill();
	apply(marks, rulesOf());
	for (const one of places) {
		const box = state.boxes.get(one.element), got = one.element.getBoundingClientRect();
		const scaleX = got.width / box.wide || 1, scaleY = got.height / box.high || 1;
		const near = Math.abs(got.left - one.x) < 1.5 && Math.abs(got.top - one.y) < 1.5 && Math.abs(got.width - one.w) < 1.5 && Math.abs(got.height - one.h) < 1.5;
		if (near) continue;
		state.boxes.set(one.element, {
			left: (one.x - (got.left - scaleX * box.left)) / scaleX, top: (one.y - (got.top - scaleY * box.top)) / scaleY,
			wide: one.w / scaleX, high: one.h / scaleY,
		});
	}
	fill();
	apply(marks, rulesOf());
}
