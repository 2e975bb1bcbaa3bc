import {addSamples} from "./samples.js";
import {offerRequests} from "./try.js";

// Each subject, which is a tag of the description, has a page of its own, which the fragment or the query of the URL names. Without
// one the page shows how to begin. Redoc changes the fragment, so the query keeps the subject.
const description = await (await fetch("/openapi.json")).json();
const names = {
	control: "Control bots", history: "Timeline and deliveries", calendar: "Calendars", keys: "API keys", login: "Sign-in of the command line",
	operator: "For operators", bots: "For bots",
};
const nameOf = tag => names[tag] ?? tag[0].toUpperCase() + tag.slice(1);
const subjectOf = fragment => fragment.startsWith("#section/") ? "rules" : /^#tag\/([a-z]+)/.exec(fragment)?.[1] ?? "";
const subject = subjectOf(location.hash) || new URLSearchParams(location.search).get("on") || "";
if (subject) history.replaceState(null, "", `?on=${encodeURIComponent(subject)}${location.hash || subject !== "rules" && `#tag/${subject}` || ""}`);
else addEventListener("hashchange", () => location.reload());

document.getElementById("version").textContent = `API ${description.info.version}`;
document.getElementById("origin").textContent = location.origin;
const link = (address, text, current) => {
	const made = Object.assign(document.createElement("a"), {href: address, textContent: text});
	if (current) made.setAttribute("aria-current", "page");
	return made;
};
const subjects = document.getElementById("subjects");
subjects.append(link("/docs", "Start", subject === ""), link("/docs?on=rules", "Rules", subject === "rules"));
for (const group of description["x-tagGroups"]) {
	for (const tag of group.tags) {
		subjects.append(link(`/docs?on=${tag}`, nameOf(tag), subject === tag));
		const about = description.tags.find(({name}) => name === tag).description.split("\n\n")[0].split(". ")[0].replace(/\.?$/, ".");
		const item = document.getElementById("contents").appendChild(document.createElement("li"));
		item.append(link(`/docs?on=${tag}`, nameOf(tag)), ` ${about.replaceAll(/[*`]|\[|\]\([^)]*\)/g, "")}`);
	}
}

// only keeps the operations of a subject.
const only = (items, tag) => Object.fromEntries(Object.entries(items ?? {}).flatMap(([path, item]) => {
	const kept = Object.entries(item).filter(([, one]) => !one?.operationId && !one?.tags || one.tags?.includes(tag));
	return kept.some(([, one]) => one?.tags) ? [[path, Object.fromEntries(kept)]] : [];
}));

const show = () => {
	const page = document.getElementById("reference");
	document.getElementById("start").hidden = true;
	page.hidden = false;
	page.dataset.subject = subject;
	addSamples(description);
	const shown = {
		...description, paths: only(description.paths, subject), webhooks: only(description.webhooks, subject), "x-tagGroups": undefined,
		info: {...description.info, title: subject === "rules" ? "Rules of all requests" : nameOf(subject), version: "", summary: ""},
		tags: description.tags.filter(({name}) => name === subject).map(tag => ({...tag, "x-displayName": nameOf(tag.name)})),
	};
	document.title = `${shown.info.title} · API reference · Standin`;
	// Redoc computes with its colors, so it gets them as rgb(…).
	const sample = document.body.appendChild(document.createElement("i"));
	const color = name => { sample.style.color = `var(--${name})`; return getComputedStyle(sample).color; };
	const fonts = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif";
	const response = name => ({color: color(name), backgroundColor: color(`${name}-soft`)});
	Redoc.init(shown, {
		nativeScrollbars: true, scrollYOffset: ".top", hideDownloadButtons: true, disableSearch: true,
		theme: {
			colors: {
				primary: {main: color("accent")}, text: {primary: color("text"), secondary: color("faint")}, error: {main: color("bad")},
				border: {dark: color("line"), light: color("soft")},
				responses: {success: response("good"), error: response("bad"), redirect: response("busy"), info: response("soon")},
			},
			sidebar: {backgroundColor: color("ground"), textColor: color("text")},
			schema: {nestedBackground: color("card"), linesColor: color("line"), typeNameColor: color("faint"), typeTitleColor: color("faint")},
			rightPanel: {backgroundColor: "#1c2927"},
			typography: {fontFamily: fonts, headings: {fontFamily: fonts}, code: {color: color("bad"), backgroundColor: color("soft")}},
		},
	}, page);
	offerRequests(description, page, document.getElementById("try"));
	// Redoc has its colors from the start.
	document.getElementById("theme").addEventListener("click", () => location.reload());
};
if (subject) show();
