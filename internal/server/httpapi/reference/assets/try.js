// Sends the requests of the reference in test mode, for users who are signed in to the dashboard. Only the closure of this module
// has their key.
import {operations} from "./operations.js";

const make = (tag, properties, ...children) => {
	const element = Object.assign(document.createElement(tag), properties);
	element.append(...children);
	return element;
};

// The most of a response that is shown, in characters.
const maxShown = 200_000;

let user = null; // who is signed in
let key = null;

// readUser finds out who is signed in. It returns what to tell a guest.
const readUser = async () => {
	const response = await fetch("/docs/session", {cache: "no-store"});
	const session = response.status === 200 ? await response.json() : null;
	if (session?.token !== user?.token) key = null; // it belongs to another session
	user = session;
	if (user) return [];
	if (response.status !== 204) return ["The reference of a running service can send this request."];
	return ["Sign in to the dashboard to send this request with a test key of your team. ",
		make("a", {href: `/signin?next=${encodeURIComponent(location.pathname + location.hash)}`, textContent: "Sign in"})];
};

// authorization returns the header with the user's key, which the service makes when it is needed first.
const authorization = async () => {
	if (key === null || Date.parse(key.expiresAt) - Date.now() < 60_000) {
		const response = await fetch("/docs/key", {method: "POST", body: new URLSearchParams({token: user.token})});
		if (!response.ok) throw new Error("You are signed out. Sign in again.");
		key = await response.json();
	}
	return `Bearer ${key.key}`;
};

// show shows a response as it arrives.
const show = async (response, took, output) => {
	const type = response.headers.get("Content-Type") ?? "";
	const headers = ["location", "idempotent-replayed", "x-standin-warning", "x-ignored-fields", "retry-after", "x-request-id"].filter(name => response.headers.has(name));
	const head = [`${response.status} ${response.statusText}, ${took} ms`, ...headers.map(name => `${name}: ${response.headers.get(name)}`)].join("\n");
	if (!/json|text|yaml/.test(type)) {
		const {size} = await response.blob();
		output.textContent = size > 0 ? `${head}\n\n${size} bytes of ${type}` : head;
		return;
	}
	let text = "";
	for (const reader = response.body.pipeThrough(new TextDecoderStream()).getReader(); text.length < maxShown;) {
		const {done, value} = await reader.read();
		if (done) break;
		text += value;
		output.textContent = `${head}\n\n${text}`;
	}
	if (!type.includes("json") || text.length >= maxShown) return;
	const decoded = JSON.parse(text);
	output.textContent = `${head}\n\n${JSON.stringify(decoded, null, 2)}`.slice(0, maxShown);
	return decoded;
};

// offerRequests adds a button to each operation of the page that a test key may call. The buttons open the dialog.
export const offerRequests = (description, page, dialog) => {
	const offered = new Map(operations(description).filter(one => one.security === "apiKey" && one.success >= "200").map(one => [one.id, one]));
	const created = new Map(); // IDs of what was created, by the path of its collection
	const title = dialog.querySelector("h2"), who = dialog.querySelector("p"), form = dialog.querySelector("form.request"), output = dialog.querySelector("output");
	let request = null; // cancels the request that is running

	const field = ({name, in: where, example, required, schema}, path) => {
		const known = where === "path" && name === "id" ? created.get(path.slice(0, path.indexOf("/{id}"))) ?? "" : "";
		const input = make("input", {name, value: known, placeholder: `for example ${example ?? schema?.example ?? ""}`, required: Boolean(required), autocomplete: "off", spellcheck: false});
		input.dataset.in = where;
		return make("label", {}, make("code", {textContent: name}), where === "path" ? " in the path" : " in the query", input);
	};

	const open = async one => {
		title.textContent = `${one.method} ${one.path}`;
		output.textContent = "";
		form.replaceChildren();
		dialog.showModal();
		who.replaceChildren(...await readUser());
		if (!user) return;
		who.textContent = `${user.name}, team ${user.team}. The request is sent with a test key: no bot joins a real meeting.`;
		form.replaceChildren(...one.parameters.filter(({in: where}) => where === "path" || where === "query").map(parameter => field(parameter, one.path)));
		if (one.acceptsJSON) {
			const text = one.body ? JSON.stringify(one.body, null, 2) : "";
			form.append(make("label", {}, "Body", make("textarea", {name: "", value: text, rows: Math.min(text.split("\n").length + 1, 16), spellcheck: false})));
		}
		form.append(make("button", {className: "send", textContent: "Send"}));
		form.onsubmit = event => {
			event.preventDefault();
			send(one);
		};
		form.querySelector("input, textarea, button").focus();
	};

	const send = async one => {
		let path = one.path;
		const query = new URLSearchParams();
		for (const input of form.querySelectorAll("input")) {
			if (input.dataset.in === "path") path = path.replace(`{${input.name}}`, encodeURIComponent(input.value.trim()));
			else if (input.value !== "") query.append(input.name, input.value);
		}
		if (query.size > 0) path += `?${query}`;
		request?.abort();
		request = new AbortController();
		const {signal} = request;
		output.textContent = "Sending …";
		try {
			const body = form.querySelector("textarea")?.value || undefined;
			const headers = {Authorization: await authorization(), ...body && {"Content-Type": "application/json"}};
			const began = performance.now();
			const response = await fetch(path, {method: one.method, headers, body, signal, credentials: "omit", cache: "no-store"});
			if (response.status === 401) key = null; // it was revoked
			const decoded = await show(response, Math.round(performance.now() - began), output);
			if (one.method === "POST" && decoded?.id) created.set(one.path, decoded.id);
		} catch (error) {
			if (!signal.aborted) output.textContent = error.message;
		}
	};

	dialog.addEventListener("close", () => request?.abort());
	const offer = () => {
		for (const row of page.querySelectorAll(`[data-section-id^="operation/"]:not([data-offered])`)) {
			const one = offered.get(row.dataset.sectionId.slice("operation/".length));
			row.dataset.offered = "";
			if (!one) continue;
			const button = make("button", {type: "button", className: "try", textContent: "Try it"});
			button.setAttribute("aria-label", `Try it: ${one.title}`);
			button.addEventListener("click", () => open(one));
			row.lastElementChild.firstElementChild.after(button);
		}
	};
	new MutationObserver(offer).observe(page, {childList: true, subtree: true});
	offer();
};
