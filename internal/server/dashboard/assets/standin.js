// Scripts of the dashboard. Every page works without them, except for live
// updates, the lanes of the player, saved filters and local times.
"use strict";

// --- local times
const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const hourFormat = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const agoFormat = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

function agoText(date) {
	let value = (date - Date.now()) / 1000;
	for (const [unit, length] of [["second", 60], ["minute", 60], ["hour", 24], ["day", 30], ["month", 12]]) {
		if (Math.abs(value) < length) return agoFormat.format(Math.trunc(value), unit);
		value /= length;
	}
	return agoFormat.format(Math.trunc(value), "year");
}

// lengthText formats milliseconds as 1:02:03 or 2:03.
function lengthText(milliseconds) {
	const seconds = Math.max(0, Math.floor(milliseconds / 1000)), two = n => String(n).padStart(2, "0");
	return (seconds >= 3600 ? Math.floor(seconds / 3600) + ":" + two(Math.floor(seconds / 60) % 60) : Math.floor(seconds / 60)) + ":" + two(seconds % 60);
}

function showTime(time) {
	const date = new Date(time.dateTime);
	const text = { ago: () => agoText(date), running: () => lengthText(Date.now() - date), hour: () => hourFormat.format(date) }[time.dataset.show] || (() => timeFormat.format(date));
	const now = text();
	if (time.textContent !== now) time.textContent = now;
}

function localize(root) {
	for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
		time.title = time.dataset.show ? timeFormat.format(new Date(time.dateTime)) : time.textContent;
		showTime(time);
	}
}
setInterval(() => document.querySelectorAll("time[data-show=running],time[data-show=ago]").forEach(showTime), 1000);

// --- copy buttons, and other elements that need scripts
function enableScripted(root) {
	for (const one of root.querySelectorAll("button[data-copy],[data-share],[data-find]")) one.hidden = false;
}

document.addEventListener("click", async event => {
	const button = event.target.closest("button[data-copy]");
	if (!button) return;
	const before = button.textContent;
	try {
		await navigator.clipboard.writeText(button.dataset.copy);
		button.textContent = "Copied";
	} catch {
		const shown = button.parentElement.querySelector("code");
		if (shown) getSelection().selectAllChildren(shown);
		button.textContent = "Press Ctrl+C";
	}
	setTimeout(() => { button.textContent = before; }, 2000);
});

// --- menus close like those of the system
document.addEventListener("click", event => {
	for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target) || event.target.closest("a")) menu.open = false;
});
document.addEventListener("keydown", event => {
	const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
	if (!menu) return;
	menu.open = false;
	menu.querySelector("summary").focus();
});

// --- confirmation of actions that cannot be undone
document.addEventListener("submit", event => {
	const question = event.submitter?.dataset.confirm || event.target.dataset.confirm;
	if (question && !confirm(question)) event.preventDefault();
});

// --- the account menu closes with Escape, and when the focus or a click is elsewhere
const menu = document.querySelector("details.account");
if (menu) {
	const closeOutside = event => { if (!menu.contains(event.target)) menu.open = false; };
	document.addEventListener("click", closeOutside);
	document.addEventListener("focusin", closeOutside);
	menu.addEventListener("keydown", event => {
		if (event.key !== "Escape") return;
		menu.open = false;
		menu.querySelector("summary").focus();
	});
}
// --- actions during a meeting, which do not reload the page
document.addEventListener("submit", async event => {
	const form = event.target, done = document.getElementById("sent");
	if (!form.dataset.quiet || !done || event.defaultPrevented) return;
	event.preventDefault();
	const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "manual" }).catch(() => null);
	if (answer?.type !== "opaqueredirect") { // show the error
		form.submit();
		return;
	}
	for (const field of form.querySelectorAll("input:not([type=hidden])")) field.value = "";
	done.textContent = form.dataset.quiet;
	clearTimeout(quietTimer);
	quietTimer = setTimeout(() => { done.textContent = ""; }, 6000);
});
let quietTimer = 0;

// --- live updates
// The server sends elements of the page as HTML. An element replaces the previous
// one and keeps the focus, open details and text of form fields.
async function replacePart(id, html) {
	const old = document.getElementById(id);
	if (!old) return;
	if (old.matches(":active")) { // a click would be lost
		setTimeout(replacePart, 250, id, html);
		return;
	}
	const holder = document.createElement("template");
	holder.innerHTML = html;
	const updated = holder.content.firstElementChild;
	if (!updated) return;
	const source = updated.outerHTML;
	if (shownParts.get(id) === source) return;
	shownParts.set(id, source);
	const images = [...updated.querySelectorAll("img")];
	if (images.length) { // or the page would flicker
		await Promise.all(images.map(image => image.decode().catch(() => {})));
		if (shownParts.get(id) !== source || !document.contains(old)) return;
	}
	const state = saveState(old);
	localize(updated);
	enableScripted(updated);
	old.replaceWith(updated);
	restoreState(updated, state);
	startPlayers(updated);
}
const shownParts = new Map();

function saveState(root) {
	const fields = [...root.querySelectorAll("input:not([type=hidden],[type=checkbox]),textarea,select")].filter(field => field.name && field.id).map(field => [field.id, field.value]);
	const checked = [...root.querySelectorAll("input:checked")].map(field => field.id);
	const open = [...root.querySelectorAll("details")].map(one => one.open);
	const tail = root.querySelector("[data-tail]");
	const scrolled = tail && tail.scrollHeight - tail.scrollTop - tail.clientHeight > 40 ? tail.scrollTop : Infinity;
	const focused = root.contains(document.activeElement) ? [...root.querySelectorAll("a,button,input,textarea,select,summary")].indexOf(document.activeElement) : -1;
	return { fields, checked, open, scrolled, focused, id: focused < 0 ? "" : document.activeElement.id };
}

function restoreState(root, state) {
	for (const [id, value] of state.fields) {
		const field = root.querySelector("#" + CSS.escape(id));
		if (field) field.value = value;
	}
	for (const id of state.checked) {
		const field = id && root.querySelector("#" + CSS.escape(id));
		if (field) field.checked = true;
	}
	const tail = root.querySelector("[data-tail]");
	if (tail) tail.scrollTop = Math.min(state.scrolled, tail.scrollHeight);
	[...root.querySelectorAll("details")].forEach((details, i) => { if (state.open[i]) details.open = true; });
	if (state.focused < 0) return;
	const named = state.id && root.querySelector("#" + CSS.escape(state.id));
	(named || root.querySelectorAll("a,button,input,textarea,select,summary")[state.focused])?.focus({ preventScroll: true });
}

// Browsers limit the connections per host, so only a visible page has one.
function live(element) {
	let source = null;
	const connect = () => {
		if (document.hidden) {
			source?.close();
			source = null;
			return;
		}
		if (source) return;
		source = new EventSource(element.dataset.live);
		source.onopen = () => { element.dataset.connected = "yes"; };
		source.onerror = () => { element.dataset.connected = "no"; };
		source.onmessage = event => {
			for (const [id, html] of Object.entries(JSON.parse(event.data))) replacePart(id, html);
		};
	};
	const tail = element.querySelector("[data-tail]");
	if (tail) tail.scrollTop = tail.scrollHeight;
	document.addEventListener("visibilitychange", connect);
	addEventListener("pagehide", () => source?.close());
	addEventListener("pageshow", event => { if (event.persisted) { source?.close(); source = null; connect(); } });
	connect();
}

// --- the player
function startPlayers(root) {
	for (const player of root.querySelectorAll("[data-player]")) startPlayer(player);
}

function startPlayer(box) {
	const media = box.querySelector("video,audio");
	if (!media) return;
	const files = JSON.parse(box.dataset.list || "[]");
	const total = Number(box.dataset.total);
	let playing = 0;
	const currentTime = () => files[playing].start + media.currentTime * 1000;

	// seek jumps to a position of the recording, in any of its files.
	const seek = milliseconds => {
		const wanted = Math.max(0, Math.min(total, milliseconds));
		let file = files.findIndex(one => wanted >= one.start && wanted < one.start + one.length);
		if (file < 0) file = Math.max(0, files.findLastIndex(one => one.start <= wanted));
		const at = Math.max(0, Math.min(wanted - files[file].start, files[file].length - 1)) / 1000;
		if (file === playing) {
			media.currentTime = at;
			return;
		}
		const wasPlaying = !media.paused;
		playing = file;
		media.src = files[file].address;
		media.addEventListener("loadedmetadata", () => { media.currentTime = at; if (wasPlaying) media.play(); }, { once: true });
	};
	media.addEventListener("ended", () => {
		if (playing + 1 < files.length) { seek(files[playing + 1].start); media.play(); }
	});

	const heads = box.querySelectorAll(".now");
	const position = box.querySelector("[data-position]");
	// The transcript follows the position, unless the reader has the pointer on it.
	const words = (box.closest("section") || box).querySelector("[data-words]");
	const lines = words ? [...words.querySelectorAll("[data-seek]")] : [];
	const spoken = lines.some(one => one.className !== "chat") ? lines.filter(one => one.className !== "chat") : lines;
	const spokenStarts = spoken.map(one => Number(one.dataset.seek));
	let current = null;
	const followWords = at => {
		let low = 0, high = spokenStarts.length;
		while (low < high) { const middle = (low + high) >> 1; if (spokenStarts[middle] <= at) low = middle + 1; else high = middle; }
		const now = low > 0 && at < Math.max(Number(spoken[low - 1].dataset.until), spokenStarts[low - 1] + 1000) ? spoken[low - 1] : null;
		if (now === current) return;
		current?.removeAttribute("aria-current");
		current = now;
		if (!now) return;
		now.setAttribute("aria-current", "true");
		if (!words.matches(":hover")) words.scrollTop = now.offsetTop - words.offsetTop - words.clientHeight / 3;
	};
	const move = () => {
		const at = currentTime();
		followWords(at);
		for (const head of heads) { head.setAttribute("x1", at); head.setAttribute("x2", at); }
		if (position) position.textContent = lengthText(at) + " of " + lengthText(total);
	};
	const follow = () => { move(); if (!media.paused) requestAnimationFrame(follow); };
	for (const kind of ["timeupdate", "seeked", "loadedmetadata"]) media.addEventListener(kind, move);
	media.addEventListener("play", follow);

	const starts = [...new Set([...box.querySelectorAll("[data-next]")].flatMap(one => one.dataset.next.trim().split(/\s+/).filter(Boolean).map(Number)))].sort((a, b) => a - b);
	const next = among => among.find(start => start > currentTime() + 300) ?? among[0];
	const previous = among => among.findLast(start => start < currentTime() - 1500) ?? 0;

	const scope = box.closest("section") || box;
	scope.addEventListener("click", event => {
		const lane = event.target.closest("[data-lane]");
		if (lane) {
			const area = lane.getBoundingClientRect();
			seek((event.clientX - area.left) / area.width * total);
			return;
		}
		const speaker = event.target.closest("[data-next]");
		if (speaker) {
			const own = speaker.dataset.next.trim().split(/\s+/).filter(Boolean).map(Number);
			if (own.length) seek(next(own));
			return;
		}
		const link = event.target.closest("[data-seek]");
		if (link && (event.target.closest("button") || getSelection().isCollapsed)) seek(Number(link.dataset.seek));
	});
	const linked = Number(new URLSearchParams(location.search).get("t")) * 1000;
	if (linked > 0) {
		if (media.readyState > 0) seek(linked);
		else media.addEventListener("loadedmetadata", () => seek(linked), { once: true });
	}
	const share = scope.querySelector("[data-share]");
	share?.addEventListener("click", async () => {
		const address = new URL(location.href);
		address.searchParams.set("t", Math.floor(currentTime() / 1000));
		address.searchParams.delete("note");
		const link = address.origin + address.pathname + address.search;
		try {
			await navigator.clipboard.writeText(link);
			share.textContent = "Copied";
		} catch {
			prompt("The link to this time:", link);
		}
		setTimeout(() => { share.textContent = "Copy link to this time"; }, 2000);
	});
	const find = scope.querySelector("[data-find]");
	find?.addEventListener("input", () => {
		const wanted = find.value.trim().toLowerCase();
		for (const line of lines) line.hidden = wanted !== "" && !line.textContent.toLowerCase().includes(wanted);
	});
	document.addEventListener("keydown", event => {
		if (!document.contains(box) || event.ctrlKey || event.altKey || event.metaKey) return;
		if (event.target.closest("input,textarea,select,[contenteditable]")) return;
		const onControl = event.target.closest("a,button,summary,video,audio");
		const step = { ArrowLeft: -5000, ArrowRight: 5000 }[event.key];
		if (step && event.target !== media) seek(currentTime() + step);
		else if (event.key === " " && !onControl) media.paused ? media.play() : media.pause();
		else if (event.key === "n" && starts.length) seek(next(starts));
		else if (event.key === "p" && starts.length) seek(previous(starts));
		else return;
		event.preventDefault();
	});
}

// --- the list of jobs
function listKeys(list) {
	document.addEventListener("keydown", event => {
		if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input:not([type=checkbox]),textarea,select")) return;
		const links = [...list.querySelectorAll("a.main")];
		const at = links.findIndex(link => link.closest("tr").contains(document.activeElement));
		if (event.key === "j") links[Math.min(at + 1, links.length - 1)]?.focus();
		else if (event.key === "k") links[Math.max(at - 1, 0)]?.focus();
		else if (event.key === "x" && at >= 0) links[at].closest("tr").querySelector("input[type=checkbox]").click();
		else if (event.key === "/") document.getElementById("search")?.focus();
		else return;
		event.preventDefault();
	});
}

// The browser stores the filters that a person has named.
function savedFilters(group) {
	const read = () => { try { return JSON.parse(localStorage.getItem("standin-filters")) || []; } catch { return []; } };
	const write = list => { try { localStorage.setItem("standin-filters", JSON.stringify(list)); } catch { /* applies to this page only */ } };
	const here = group.dataset.saved;
	const add = (kind, text, label) => {
		const element = document.createElement(kind);
		element.textContent = text;
		element.dataset.own = "";
		if (label) element.setAttribute("aria-label", label);
		group.append(element);
		return element;
	};
	const show = () => {
		for (const old of group.querySelectorAll("[data-own]")) old.remove();
		const own = read();
		for (const one of own) {
			const link = add("a", one.name);
			link.href = "/jobs?" + one.query;
			if (one.query === here) link.setAttribute("aria-current", "true");
			const remove = add("button", "×", "Remove the filter " + one.name);
			remove.type = "button";
			remove.className = "quiet";
			remove.addEventListener("click", () => { write(own.filter(other => other !== one)); show(); });
		}
		if (!here || own.some(one => one.query === here)) return;
		const save = add("button", "Save filter");
		save.type = "button";
		save.className = "quiet";
		save.addEventListener("click", () => {
			const name = (prompt("Name of this filter") || "").trim().slice(0, 40);
			if (!name) return;
			write([...own, { name, query: here }].slice(-10));
			show();
		});
	};
	show();
}

// --- the form that sends a bot
function detectMeeting(field) {
	const result = document.getElementById("detected");
	let timer = 0, requests = 0;
	const detect = async () => {
		const text = field.value.trim(), number = ++requests;
		if (!text) { result.textContent = ""; return; }
		const answer = await fetch(field.dataset.detect + "?text=" + encodeURIComponent(text)).then(one => one.ok ? one.json() : null).catch(() => null);
		if (number !== requests || !answer) return;
		result.textContent = answer.ok ? answer.name + (answer.address === text ? "" : " · " + answer.address) : "No meeting link found. It starts with https://.";
		const warning = new FormData(field.form).get("mode") === "test" ? "" : answer.warning;
		if (warning) result.textContent += " · " + warning;
		result.classList.toggle("good", answer.ok && !warning);
	};
	field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(detect, 200); });
	field.form.addEventListener("change", event => { if (event.target.name === "mode") detect(); });
	if (field.value) detect();
}

function localTimeField(field) {
	const hidden = document.getElementById(field.dataset.moment);
	const zone = field.closest("label").querySelector("[data-zone]");
	if (zone) zone.textContent = "Leave empty to join now. Your time zone: " + Intl.DateTimeFormat().resolvedOptions().timeZone + ".";
	const now = new Date();
	field.min = new Date(now.getTime() - now.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
	const write = () => { hidden.value = field.value ? new Date(field.value).toISOString() : ""; };
	field.addEventListener("change", write);
	field.form.addEventListener("submit", write);
}

for (const part of document.querySelectorAll("[data-live] [id]")) shownParts.set(part.id, part.outerHTML);
localize(document);
enableScripted(document);
startPlayers(document);
for (const element of document.querySelectorAll("[data-live]")) live(element);
for (const list of document.querySelectorAll("[data-keys]")) listKeys(list);
for (const group of document.querySelectorAll("[data-saved]")) savedFilters(group);
for (const field of document.querySelectorAll("[data-detect]")) detectMeeting(field);
for (const field of document.querySelectorAll("[data-moment]")) localTimeField(field);
