// What the dashboard's pages cannot do by themselves. Each page works without
// this, but for live news, the player's lanes and the reader's own time zone.
"use strict";

// --- moments, in the reader's own time zone
const longMoment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

function localize(root) {
	for (const moment of root.querySelectorAll("time[datetime]:not([title])")) {
		moment.title = moment.textContent;
		moment.textContent = longMoment.format(new Date(moment.dateTime));
	}
}

// --- copying
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

// --- what cannot be undone is asked about
document.addEventListener("submit", event => {
	const question = event.target.dataset.sure;
	if (question && !confirm(question)) event.preventDefault();
});

// --- light and dark
function themeButton() {
	const button = document.getElementById("theme");
	const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
	const label = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", dark() ? "Show light colours" : "Show dark colours"); };
	button.hidden = false;
	label();
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
	button.addEventListener("click", () => {
		const next = dark() ? "light" : "dark";
		document.documentElement.dataset.theme = next;
		try { localStorage.setItem("standin-theme", next); } catch { /* it holds for this page */ }
		label();
	});
}

// --- live parts
// The server sends pieces of the page as it writes them itself. A piece takes
// the place of the one before it; what its reader was at stays: focus, what is
// unfolded, what was typed.
function replacePart(id, html) {
	const old = document.getElementById(id);
	if (!old) return;
	const holder = document.createElement("template");
	holder.innerHTML = html;
	const fresh = holder.content.firstElementChild;
	if (!fresh) return;
	const wanted = fresh.outerHTML;
	if (shownParts.get(id) === wanted) return;
	shownParts.set(id, wanted);
	const keep = remember(old);
	localize(fresh);
	enableCopying(fresh);
	old.replaceWith(fresh);
	restore(fresh, keep);
	startPlayers(fresh);
}
const shownParts = new Map();

function remember(root) {
	const fields = [...root.querySelectorAll("input:not([type=hidden]),textarea,select")].filter(field => field.name && field.id).map(field => [field.id, field.value]);
	const open = [...root.querySelectorAll("details")].map(one => one.open);
	const focused = root.contains(document.activeElement) ? [...root.querySelectorAll("a,button,input,textarea,select,summary")].indexOf(document.activeElement) : -1;
	return { fields, open, focused, id: focused < 0 ? "" : document.activeElement.id };
}

function restore(root, keep) {
	for (const [id, value] of keep.fields) {
		const field = root.querySelector("#" + CSS.escape(id));
		if (field) field.value = value;
	}
	[...root.querySelectorAll("details")].forEach((one, place) => { if (keep.open[place]) one.open = true; });
	if (keep.focused < 0) return;
	const named = keep.id && root.querySelector("#" + CSS.escape(keep.id));
	(named || root.querySelectorAll("a,button,input,textarea,select,summary")[keep.focused])?.focus({ preventScroll: true });
}

// A browser has few connections for a host, so only a page that is looked at
// holds one.
function live(element) {
	let source = null;
	const listen = () => {
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
	document.addEventListener("visibilitychange", listen);
	addEventListener("pagehide", () => source?.close());
	addEventListener("pageshow", event => { if (event.persisted) { source?.close(); source = null; listen(); } });
	listen();
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
	const place = () => files[playing].start + media.currentTime * 1000;

	// seek goes to a place of the whole recording, in whichever file it lies.
	const seek = milliseconds => {
		const wanted = Math.max(0, Math.min(total, milliseconds));
		let file = files.findIndex(one => wanted >= one.start && wanted < one.start + one.length);
		if (file < 0) file = Math.max(0, files.findLastIndex(one => one.start <= wanted));
		const at = Math.max(0, Math.min(wanted - files[file].start, files[file].length - 1)) / 1000;
		if (file === playing) {
			media.currentTime = at;
			return;
		}
		const goOn = !media.paused;
		playing = file;
		media.src = files[file].address;
		media.addEventListener("loadedmetadata", () => { media.currentTime = at; if (goOn) media.play(); }, { once: true });
	};
	media.addEventListener("ended", () => {
		if (playing + 1 < files.length) { seek(files[playing + 1].start); media.play(); }
	});

	const heads = box.querySelectorAll(".now");
	const told = box.querySelector("[data-position]");
	const text = milliseconds => {
		const seconds = Math.floor(milliseconds / 1000), two = n => String(n).padStart(2, "0");
		return (seconds >= 3600 ? Math.floor(seconds / 3600) + ":" + two(Math.floor(seconds / 60) % 60) : Math.floor(seconds / 60)) + ":" + two(seconds % 60);
	};
	const move = () => {
		const at = place();
		for (const head of heads) { head.setAttribute("x1", at); head.setAttribute("x2", at); }
		if (told) told.textContent = text(at) + " of " + text(total);
	};
	const follow = () => { move(); if (!media.paused) requestAnimationFrame(follow); };
	for (const kind of ["timeupdate", "seeked", "loadedmetadata"]) media.addEventListener(kind, move);
	media.addEventListener("play", follow);

	const starts = [...new Set([...box.querySelectorAll("[data-next]")].flatMap(one => one.dataset.next.trim().split(/\s+/).filter(Boolean).map(Number)))].sort((a, b) => a - b);
	const next = among => among.find(start => start > place() + 300) ?? among[0];
	const before = among => among.findLast(start => start < place() - 1500) ?? 0;

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
	document.addEventListener("keydown", event => {
		if (!document.contains(box) || event.ctrlKey || event.altKey || event.metaKey) return;
		if (event.target.closest("input,textarea,select,[contenteditable]")) return;
		const onControl = event.target.closest("a,button,summary,video,audio");
		const step = { ArrowLeft: -5000, ArrowRight: 5000 }[event.key];
		if (step && event.target !== media) seek(place() + step);
		else if (event.key === " " && !onControl) media.paused ? media.play() : media.pause();
		else if (event.key === "n" && starts.length) seek(next(starts));
		else if (event.key === "p" && starts.length) seek(before(starts));
		else return;
		event.preventDefault();
	});
}

// --- sending a bot
function recognizer(field) {
	const told = document.getElementById("recognized");
	let waiting = 0, asked = 0;
	const ask = async () => {
		const text = field.value.trim(), number = ++asked;
		if (!text) { told.textContent = ""; return; }
		const answer = await fetch(field.dataset.recognize + "?text=" + encodeURIComponent(text)).then(one => one.ok ? one.json() : null).catch(() => null);
		if (number !== asked || !answer) return;
		told.textContent = answer.ok ? answer.name + (answer.address === text ? "" : " · " + answer.address) : "No meeting address yet: it begins with https://.";
		told.classList.toggle("good", answer.ok);
	};
	field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(ask, 200); });
	if (field.value) ask();
}

function momentField(field) {
	const hidden = document.getElementById(field.dataset.moment);
	const zone = field.closest("label").querySelector("[data-zone]");
	if (zone) zone.textContent = "Empty: now. In your time, " + Intl.DateTimeFormat().resolvedOptions().timeZone + ".";
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
for (const field of document.querySelectorAll("[data-recognize]")) recognizer(field);
for (const field of document.querySelectorAll("[data-moment]")) momentField(field);
