"use strict";
(() => {
	const root = document.documentElement.dataset.root;
	const make = (tag, properties, ...children) => {
		const element = Object.assign(document.createElement(tag), properties);
		element.append(...children);
		return element;
	};
	const stored = {
		get: name => { try { return localStorage.getItem(name); } catch { return null; } },
		set: (name, value) => { try { localStorage.setItem(name, value); } catch { /* storage may be disabled */ } },
	};

	// Code blocks: a button that copies, and tabs whose language is remembered.
	for (const block of document.querySelectorAll(".code")) {
		const button = make("button", {type: "button", className: "copy", textContent: "Copy"});
		button.addEventListener("click", async () => {
			try {
				await navigator.clipboard.writeText(block.querySelector("code").textContent.trimEnd());
				button.textContent = "Copied";
			} catch {
				button.textContent = "Select the text to copy it";
			}
			setTimeout(() => { button.textContent = "Copy"; }, 2000);
		});
		block.append(button);
	}
	const groups = [...document.querySelectorAll(".tabs")];
	const choose = language => {
		for (const group of groups) {
			const blocks = [...group.querySelectorAll(".code")];
			const shown = blocks.find(block => block.dataset.language === language) ?? blocks[0];
			for (const block of blocks) block.hidden = block !== shown;
			for (const tab of group.querySelectorAll("[role=tab]")) {
				const chosen = tab.textContent === shown.dataset.language;
				tab.ariaSelected = String(chosen);
				tab.tabIndex = chosen ? 0 : -1;
			}
		}
	};
	groups.forEach((group, number) => {
		const list = make("div", {className: "choices", role: "tablist"});
		list.setAttribute("aria-label", "Language");
		[...group.querySelectorAll(".code")].forEach((block, i) => {
			block.id = `code-${number}-${i}`;
			block.setAttribute("role", "tabpanel");
			block.setAttribute("aria-label", block.dataset.language);
			const tab = make("button", {type: "button", role: "tab", textContent: block.dataset.language});
			tab.setAttribute("aria-controls", block.id);
			tab.addEventListener("click", () => { stored.set("standin-language", block.dataset.language); choose(block.dataset.language); });
			list.append(tab);
		});
		list.addEventListener("keydown", event => {
			const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
			if (!step) return;
			const tabs = [...list.children];
			const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
			next.click();
			next.focus();
		});
		group.prepend(list);
	});
	choose(stored.get("standin-language"));

	// The heading that is read.
	const links = new Map([...document.querySelectorAll(".here a")].map(link => [decodeURIComponent(link.hash.slice(1)), link]));
	const watcher = new IntersectionObserver(entries => {
		for (const entry of entries) {
			if (!entry.isIntersecting) continue;
			for (const link of links.values()) link.removeAttribute("aria-current");
			links.get(entry.target.id)?.setAttribute("aria-current", "true");
		}
	}, {rootMargin: "-10% 0px -75%"});
	for (const id of links.keys()) {
		const heading = document.getElementById(id);
		if (heading) watcher.observe(heading);
	}
	document.querySelector(".pages [aria-current]")?.scrollIntoView({block: "nearest"});
	if (!location.hash) scrollTo(0, 0);

	// The search: an entry matches if it contains every word.
	const dialog = document.getElementById("search"), field = document.getElementById("words");
	const results = document.getElementById("results"), count = document.getElementById("count");
	const maxResults = 20, before = 40, after = 120;
	let entries, chosen = -1;
	const load = () => entries ??= fetch(`${root}search.json`).then(response => response.json());
	const occurrences = (text, word) => text.split(word).length - 1;
	const score = (entry, words) => {
		const heading = entry.heading.toLowerCase(), title = entry.title.toLowerCase(), text = entry.text.toLowerCase();
		// A heading that has no other words is probably what is meant.
		let sum = heading.split(" ").every(word => words.includes(word)) ? 40 : 0;
		for (const word of words) {
			const found = 20 * Math.min(occurrences(heading, word), 2) + 8 * Math.min(occurrences(title, word), 2) + Math.min(occurrences(text, word), 5);
			if (found === 0) return 0;
			sum += found;
		}
		return sum;
	};
	// marked returns a text as nodes, with the words marked.
	const marked = (text, words) => {
		const pattern = new RegExp(`(${words.map(word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "gi");
		return text.split(pattern).map((piece, i) => i % 2 ? make("mark", {textContent: piece}) : piece);
	};
	const excerpt = (text, words) => {
		const places = words.map(word => text.toLowerCase().indexOf(word)).filter(place => place >= 0);
		const from = Math.max(0, Math.min(...places, text.length) - before);
		const start = from === 0 || places.length === 0 ? 0 : text.indexOf(" ", from) + 1;
		return `${start > 0 ? "… " : ""}${text.slice(start, start + before + after)}${text.length > start + before + after ? " …" : ""}`;
	};
	const select = next => {
		const options = [...results.children];
		chosen = options.length === 0 ? -1 : (next + options.length) % options.length;
		options.forEach((option, i) => { option.ariaSelected = String(i === chosen); });
		if (chosen < 0) field.removeAttribute("aria-activedescendant");
		else {
			field.setAttribute("aria-activedescendant", options[chosen].id);
			options[chosen].scrollIntoView({block: "nearest"});
		}
	};
	const search = async () => {
		let all;
		try { all = await load(); } catch {
			entries = undefined; // the next input tries again
			count.textContent = "The search could not be loaded.";
			return;
		}
		const words = field.value.toLowerCase().split(/\s+/).filter(Boolean); // what is typed by now
		const found = words.length === 0 ? [] : all.map(entry => ({entry, score: score(entry, words)})).filter(one => one.score > 0);
		found.sort((a, b) => b.score - a.score);
		results.replaceChildren(...found.slice(0, maxResults).map(({entry}, i) => {
			const link = make("a", {href: `${root}${entry.page}#${entry.anchor}`, tabIndex: -1},
				make("span", {className: "kind", textContent: entry.kind}),
				make("strong", {}, ...marked(entry.heading, words)),
				make("small", {textContent: entry.heading === entry.title ? "" : ` ${entry.title}`}),
				make("span", {className: "excerpt"}, ...marked(excerpt(entry.text, words), words)));
			return make("li", {id: `result-${i}`, role: "option"}, link);
		}));
		count.textContent = words.length === 0 ? "" : found.length === 0 ? `No results for “${field.value.trim()}”` :
			found.length > maxResults ? `The best ${maxResults} of ${found.length} results` : `${found.length} ${found.length === 1 ? "result" : "results"}`;
		field.ariaExpanded = String(found.length > 0);
		select(0);
	};
	const open = () => {
		if (dialog.open) return;
		dialog.showModal();
		field.select();
	};
	const find = document.getElementById("find");
	if (/Mac|iP(hone|ad)/.test(navigator.platform)) find.querySelector("kbd").textContent = "⌘ K";
	find.hidden = false;
	find.addEventListener("click", open);
	field.addEventListener("input", search);
	field.addEventListener("keydown", event => {
		const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
		if (step) select(chosen + step);
		else if (event.key === "Enter") results.children[chosen]?.firstElementChild.click();
		else if (event.key === "Escape") dialog.close(); // the browser would only clear the field
		else return;
		event.preventDefault();
	});
	results.addEventListener("click", () => dialog.close());
	dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); });
	document.addEventListener("keydown", event => {
		const typing = event.target.closest("input, textarea, [contenteditable]");
		if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k" || event.key === "/" && !typing) {
			event.preventDefault();
			open();
		}
	});
})();
