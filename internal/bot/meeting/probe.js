// The probe: what of a profile's elements, texts and people a page shows now.
// It is a function of the profile's looking part (see probe.go) and, to find
// one element instead, that element's name. It changes nothing on the page.
(profile, wanted) => {
	const shortText = 300;    // longer texts are prose, not labels
	const mostTexts = 3000;   // for each region
	const mostPeople = 1000;

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
	const clean = text => (text || "").replace(/\s+/g, " ").trim().slice(0, shortText);

	// The part of an element that is in sight, or null: neither it nor what
	// is around it is hidden, transparent, clipped away or off the page.
	const box = element => {
		if (!element.checkVisibility({opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true})) return null;
		const bounds = element.getBoundingClientRect();
		let {left, top, right, bottom} = bounds;
		let position = getComputedStyle(element).position;
		for (let around = element.parentElement; around && around !== document.body && position !== "fixed"; around = around.parentElement) {
			const style = getComputedStyle(around);
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
		left = Math.max(left, -scrollX); top = Math.max(top, -scrollY);
		const page = document.scrollingElement || document.documentElement;
		right = Math.min(right, Math.max(page.scrollWidth - scrollX, innerWidth));
		bottom = Math.min(bottom, Math.max(page.scrollHeight - scrollY, innerHeight));
		const width = right - left, height = bottom - top;
		return width >= 2 && height >= 2 ? {left, top, width, height} : null;
	};

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
			const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
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

	const fits = (candidate, element) => {
		if (candidate.text && !textsOf(element).some(text => matches(candidate.text, text))) return false;
		if (!candidate.within) return true;
		for (let around = element.parentElement; around; around = around.parentElement) {
			if (around.matches(candidate.within.css) && fits(candidate.within, around)) return true;
		}
		return false;
	};

	// The first visible element of the first candidate that has any, and
	// whether any that is there is out of sight.
	const find = candidates => {
		let hidden = false;
		for (let i = 0; i < candidates.length; i++) {
			const candidate = candidates[i];
			for (const element of query(document, candidate.css)) {
				if (!fits(candidate, element)) continue;
				const sight = box(element);
				if (!sight) { hidden = true; continue; }
				const width = Math.min(sight.left + sight.width, innerWidth) - Math.max(sight.left, 0);
				const height = Math.min(sight.top + sight.height, innerHeight) - Math.max(sight.top, 0);
				if (candidate.minWidth && width < candidate.minWidth || candidate.minHeight && height < candidate.minHeight) continue;
				return {element, candidate: i, sight};
			}
		}
		return {hidden};
	};

	if (wanted !== undefined) return find(profile.elements[wanted]).element || null;

	// Something else lies over the middle of the element and would take a
	// click meant for it.
	const covered = (element, sight) => {
		const over = document.elementFromPoint(sight.left + sight.width / 2, sight.top + sight.height / 2);
		return over !== null && !element.contains(over) && !over.contains(element);
	};

	const elements = {}, hidden = [];
	for (const [name, candidates] of Object.entries(profile.elements)) {
		const found = find(candidates);
		if (found.element) {
			elements[name] = {
				candidate: found.candidate,
				text: clean(found.element.getAttribute("aria-label") || found.element.textContent),
				value: typeof found.element.value === "string" ? found.element.value : "",
				disabled: found.element.disabled === true || found.element.getAttribute("aria-disabled") === "true",
				covered: covered(found.element, found.sight),
			};
		} else if (found.hidden) {
			hidden.push(name);
		}
	}

	// What participants wrote, and what surrounds it.
	const theirs = new Set(), around = new Set();
	if (profile.participantContent.length > 0) {
		for (const element of query(document, profile.participantContent.join(","))) {
			theirs.add(element);
			for (let outer = element.parentElement; outer && !around.has(outer); outer = outer.parentElement) around.add(outer);
		}
	}
	const belongsToThem = element => {
		while (element && !theirs.has(element)) element = element.parentElement;
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
		for (const root of query(document, profile.regions[region].join(","))) {
			if (visited.has(root) || belongsToThem(root)) continue;
			visited.add(root);
			parents.add(root);
			const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, filter);
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

	const read = (root, reading) => {
		const element = root.matches(reading.css) ? root : query(root, reading.css)[0];
		if (!element) return null;
		const text = clean(element.textContent);
		const value = reading.attribute ? clean(element.getAttribute(reading.attribute)) : text;
		if (!reading.pattern) return {text, value};
		const found = value.match(new RegExp(reading.pattern));
		return {text, value: found ? found[1] : ""};
	};
	const people = selectors => {
		const found = [];
		if (selectors.length === 0) return found;
		for (const element of query(document, selectors.join(","))) {
			if (found.length >= mostPeople) break;
			if (!box(element)) continue;
			const person = {
				id: profile.roster.id.map(name => element.getAttribute(name)).find(value => value) || "",
				names: profile.roster.name.map(reading => (read(element, reading) || {value: ""}).value).filter(name => name !== ""),
				speaking: profile.roster.speaking.some(candidate => (element.matches(candidate.css) ? [element] : [...query(element, candidate.css)])
					.some(mark => fits(candidate, mark) && box(mark))),
			};
			for (const reading of profile.roster.self) {
				const mark = read(element, reading);
				if (mark) { person.mark = mark.value; person.marked = mark.text; break; }
			}
			found.push(person);
		}
		return found;
	};
	const counts = [];
	for (const reading of profile.roster.count) {
		for (const element of query(document, reading.css)) {
			// A toolbar that hides itself still knows the number.
			if (element.getClientRects().length === 0 || counts.length >= 20) continue;
			counts.push(read(element, reading).value);
		}
	}

	return {
		scheme: location.protocol,
		host: location.hostname,
		width: innerWidth,
		height: innerHeight,
		elements, hidden, texts, counts,
		tiles: people(profile.roster.tiles),
		rows: people(profile.roster.rows),
	};
}
