// Returns the visible controls of a restored page, each with selectors that find
// it, the most stable first, and what it is called. An element without a role counts
// if it can have the focus or reacts to clicks (see capture/sanitize.js), and holds no
// other control. Elements that the profile finds have the attribute data-standin-claimed.
() => {
	const maxControls = 300;
	const controls = 'button, a[href], summary, input, textarea, select, [contenteditable], [role="button"], [role="link"], [role="switch"], ' +
		'[role="checkbox"], [role="tab"], [role="menuitem"], [role="textbox"], [role="dialog"], [role="alertdialog"], [role="region"], [role="list"], ' +
		'[role="tree"]';
	const marked = '[data-tid], [jsname], [data-participant-id]';
	const focusable = '[tabindex]:not([tabindex^="-"])', clickable = focusable + ', [data-standin-click], [jsaction*="click:"]';
	const single = element => element.matches(clickable) && !element.querySelector(controls + ", " + focusable) &&
		!element.parentElement?.closest("button, a, [role=button], " + focusable);
	const roles = {button: "button", a: "link", summary: "button", input: "textbox", textarea: "textbox", select: "combobox"};
	const clean = text => (text || "").replace(/\s+/g, " ").trim().slice(0, 100);
	const quote = text => '"' + text.replace(/["\\]/g, "\\$&") + '"';
	const random = /\d{3,}|[0-9a-f]{8,}|^:|^id-\d|^x+$/i;

	const documents = [];
	const gather = doc => {
		documents.push(doc);
		for (const frame of doc.querySelectorAll("iframe")) {
			let within = null;
			try { within = frame.contentDocument; } catch { /* of another origin */ }
			if (within && within.body) gather(within);
		}
	};
	gather(document);
	const visible = element => {
		const {width, height} = element.getBoundingClientRect();
		return width >= 2 && height >= 2 && element.checkVisibility({opacityProperty: element.localName !== "input", visibilityProperty: true});
	};
	const all = selector => {
		try { return documents.flatMap(doc => [...doc.querySelectorAll(selector)]); } catch { return []; }
	};

	const found = [];
	for (const doc of documents) {
		for (const element of doc.querySelectorAll([controls, marked, clickable].join(", "))) {
			if (found.length >= maxControls || !visible(element)) continue;
			const tag = element.localName;
			const role = element.getAttribute("role") || (tag === "input" && ["checkbox", "radio", "button", "submit"].includes(element.type) ? element.type : roles[tag]) ||
				(single(element) ? "button" : "");
			if (!role && !element.matches(controls + ", " + marked)) continue;
			const label = clean(element.getAttribute("aria-label"));
			const name = label || clean(element.textContent) || clean(element.getAttribute("placeholder")) || clean(element.getAttribute("title"));
			const attribute = key => { const value = element.getAttribute(key); return value && value.length <= 80 ? value : ""; };
			const candidates = [];
			const add = (basis, css, text) => {
				const matched = all(css).filter(one => visible(one) && (!text || clean(one.textContent) === text || one.getAttribute("aria-label") === text));
				if (matched.includes(element)) candidates.push({basis, css, text: text || "", matches: matched.length});
			};
			if (attribute("data-tid") && !random.test(attribute("data-tid"))) add("data-tid", `[data-tid=${quote(attribute("data-tid"))}]`);
			if (label) add("aria-label", `${tag}[aria-label=${quote(label)}]`);
			if (role && name) add("role and name", element.hasAttribute("role") ? `[role=${quote(role)}]` : tag + (element.hasAttribute("tabindex") ? "[tabindex]" : ""), label || clean(element.textContent));
			if (attribute("jsname")) add("jsname", `${tag}[jsname=${quote(attribute("jsname"))}]`);
			if (attribute("id") && !random.test(attribute("id"))) add("id", `${tag}[id=${quote(attribute("id"))}]`);
			for (const {name: key, value} of element.attributes) {
				if (/^data-(?!standin|tid$)/.test(key) && value.length <= 40 && !random.test(value)) add(key, value === "" ? `${tag}[${key}]` : `${tag}[${key}=${quote(value)}]`);
			}
			for (const key of ["name", "placeholder", "title"]) if (attribute(key)) add(key, `${tag}[${key}=${quote(attribute(key))}]`);
			if (candidates.length === 0) continue;
			const {width, height} = element.getBoundingClientRect();
			found.push({
				tag, role, name, candidates, area: width * height, disabled: element.disabled === true,
				field: ["input", "textarea", "select"].includes(tag) && !["checkbox", "radio", "button", "submit"].includes(element.type) || element.isContentEditable || role === "textbox",
				claimed: element.getAttribute("data-standin-claimed") || "",
				words: [...element.attributes].filter(({name: key}) => !/^(style|data-standin)/.test(key)).map(({name: key, value}) => key + " " + value).join(" ") + " " + name,
			});
		}
	}
	return found;
}
