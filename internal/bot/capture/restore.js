// Builds the document that sanitize.js returned in a blank page: every element at
// its position, without scripts and without network.
text => {
	const parsed = new DOMParser().parseFromString(text, "application/xhtml+xml");
	const broken = parsed.querySelector("parsererror");
	if (broken) throw new Error("the captured page is not well-formed: " + broken.textContent.slice(0, 200));

	const policy = "default-src 'none'; style-src 'unsafe-inline'";
	// Positions come from the style attributes. Text takes no space, so that it does
	// not cover what is beside it.
	const css = `html, body, body * {
		margin: 0; padding: 0; border: 0; box-sizing: border-box; min-width: 0; min-height: 0; max-width: none; max-height: none;
		font-size: 0; line-height: 0; transform: none; float: none; inset: auto; appearance: none; content-visibility: visible;
	}
	body, body * { display: block; position: absolute }
	html { overflow: hidden }`;
	const build = (target, source) => {
		const [x, y, width, height] = (source.getAttribute("data-standin-scroll") || "0 0 0 0").split(" ").map(Number);
		const policyElement = target.createElement("meta");
		policyElement.httpEquiv = "Content-Security-Policy";
		policyElement.content = policy;
		const style = target.createElement("style");
		style.textContent = css + `html { width: ${width}px; height: ${height}px }`;
		target.head.replaceChildren(policyElement, style);
		target.title = source.querySelector(":scope > head > title")?.textContent || "";
		for (const {name, value} of source.attributes) if (name !== "xmlns") target.documentElement.setAttribute(name, value);
		const body = source.querySelector(":scope > body");
		if (!body) return;
		const inner = new Map();
		let number = 0;
		for (const frame of body.querySelectorAll("iframe")) {
			const page = frame.querySelector(":scope > html");
			if (!page || !body.contains(frame)) continue; // of another origin, or in a frame
			frame.setAttribute("data-standin-number", ++number);
			frame.removeAttribute("src");
			page.remove();
			inner.set(String(number), page);
		}
		for (const element of body.querySelectorAll("script, link, meta, object, embed, base")) element.remove();
		target.body.replaceWith(target.importNode(body, true));
		for (const element of target.querySelectorAll("[data-standin-unchecked]")) element.checked = false;
		for (const [number, page] of inner) {
			build(target.querySelector(`[data-standin-number="${number}"]`).contentDocument, page);
		}
		target.defaultView.scrollTo(x, y);
	};
	build(document, parsed.documentElement);
}
