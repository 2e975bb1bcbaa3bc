// Returns the visible text of a page and its same-origin frames, up to max
// characters.
max => {
	const pieces = [];
	let left = max, frames = 0;
	const gather = inside => {
		const text = inside.body ? inside.body.innerText.replace(/[ \t]+\n/g, "\n").replace(/\n{3,}/g, "\n\n").trim() : "";
		if (text !== "" && left > 0) {
			pieces.push(text.slice(0, left));
			left -= text.length;
		}
		for (const frame of inside.querySelectorAll("iframe, frame")) {
			let within = null;
			try { within = frame.contentDocument; } catch { /* of another origin */ }
			if (within && left > 0 && ++frames < 20 && frame.checkVisibility({visibilityProperty: true})) gather(within);
		}
	};
	gather(document);
	return pieces.join("\n\n");
}
