// Scripts of the dashboard. Every page works without them, except for live
// updates, the lanes of the player and local times.
"use strict";

// --- local times
const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

function localize(root) {
	for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
		time.title = time.textContent;
		time.textContent = timeFormat.format(new Date(time.dateTime));
	}
}

// --- copy buttons
function enableCopying(root) {
	for (const button of root.querySelectorAll("button[data-copy]")) button.hidden = false;
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

// --- confirmation of actions that cannot be undone
document.addEventListener("submit", event => {
	const question = event.target.dataset.confirm;
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

// --- light and dark colors
function themeButton() {
	const button = document.getElementById("theme");
	const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
	const label = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", dark() ? "Use light colors" : "Use dark colors"); };
	button.hidden = false;
	label();
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
	button.addEventListener("click", () => {
		const next = dark() ? "light" : "dark";
		document.documentElement.dataset.theme = next;
		try { localStorage.setItem("standin-theme", next); } catch { /* applies to this page only */ }
		label();
	});
}

// --- live updates
// The server sends elements of the page as HTML. An element replaces the previous
// one and keeps the focus, open details and text of form fields.
function replacePart(id, html) {
	const old = document.getElementById(id);
	if (!old) return;
	const holder = document.createElement("template");
	holder.innerHTML = html;
	const updated = holder.content.firstElementChild;
	if (!updated) return;
	const source = updated.outerHTML;
	if (shownParts.get(id) === source) return;
	shownParts.set(id, source);
	const state = saveState(old);
	localize(updated);
	enableCopying(updated);
	old.replaceWith(updated);
	restoreState(updated, state);
	startPlayers(updated);
}
const shownParts = new Map();

function saveState(root) {
	const fields = [...root.querySelectorAll("input:not([type=hidden]),textarea,select")].filter(field => field.name && field.id).map(field => [field.id, field.value]);
	const open = [...root.querySelectorAll("details")].map(one => one.open);
	const focused = root.contains(document.activeElement) ? [...root.querySelectorAll("a,button,input,textarea,select,summary")].indexOf(document.activeElement) : -1;
	return { fields, open, focused, id: focused < 0 ? "" : document.activeElement.id };
}

function restoreState(root, state) {
	for (const [id, value] of state.fields) {
		const field = root.querySelector("#" + CSS.escape(id));
		if (field) field.value = value;
	}
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
	for (const part of element.querySelectorAll("[id]")) if (!shownParts.has(part.id)) shownParts.set(part.id, part.outerHTML);
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
	const text = milliseconds => {
		const seconds = Math.floor(milliseconds / 1000), two = n => String(n).padStart(2, "0");
		return (seconds >= 3600 ? Math.floor(seconds / 3600) + ":" + two(Math.floor(seconds / 60) % 60) : Math.floor(seconds / 60)) + ":" + two(seconds % 60);
	};
	// The transcript follows the position, unless the reader has the pointer on it.
	const words = (box.closest("section") || box).querySelector("[data-words]");
	const spoken = words ? [...words.querySelectorAll("[data-seek]")] : [];
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
		if (position) position.textContent = text(at) + " of " + text(total);
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
		if (link) seek(Number(link.dataset.seek));
	});
	const linked = /^#t=(\d{1,12})$/.exec(location.hash);
	if (linked) {
		if (media.readyState > 0) seek(Number(linked[1]));
		else media.addEventListener("loadedmetadata", () => seek(Number(linked[1])), { once: true });
	}
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

themeButton();
localize(document);
enableCopying(document);
startPlayers(document);
for (const element of document.querySelectorAll("[data-live]")) live(element);
for (const field of document.querySelectorAll("[data-detect]")) detectMeeting(field);
for (const field of document.querySelectorAll("[data-moment]")) localTimeField(field);
