// Searches the pages: a part matches if it contains every word.
"use strict";
(() => {
	const field = document.getElementById("search"), results = document.getElementById("results");
	const maxResults = 20;
	let index;
	const load = async () => index ??= await (await fetch("search.json")).json();
	const count = (text, word) => text.toLowerCase().split(word).length - 1;
	const score = (part, words) => {
		let sum = 0;
		for (const word of words) {
			const found = 10 * count(part.heading, word) + 5 * count(part.title, word) + count(part.text, word);
			if (found === 0) return 0;
			sum += found;
		}
		return sum;
	};
	const search = async () => {
		const words = field.value.toLowerCase().split(/\s+/).filter(word => word.length > 1);
		const parts = words.length === 0 ? [] : await load();
		const found = parts.map(part => ({part, score: score(part, words)})).filter(one => one.score > 0);
		found.sort((a, b) => b.score - a.score);
		results.replaceChildren(...found.slice(0, maxResults).map(({part}) => {
			const link = document.createElement("a");
			link.href = `${part.page}#${part.anchor}`;
			link.textContent = part.heading === part.title ? part.title : `${part.title}: ${part.heading}`;
			const item = document.createElement("li");
			item.append(link);
			return item;
		}));
		if (words.length > 0 && found.length === 0) results.append(Object.assign(document.createElement("li"), {textContent: "No page contains these words."}));
		results.hidden = words.length === 0;
	};
	field.addEventListener("input", search);
	field.form.addEventListener("submit", event => event.preventDefault());
})();
