import {addSamples} from "./samples.js";
import {offerRequests} from "./try.js";

// Redoc computes with its colors, so it gets them as rgb(…).
const sample = document.body.appendChild(document.createElement("i"));
const color = name => { sample.style.color = `var(--${name})`; return getComputedStyle(sample).color; };
const fonts = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif";
const response = name => ({color: color(name), backgroundColor: color(`${name}-soft`)});
const page = document.getElementById("reference");
const description = await (await fetch("/openapi.json")).json();
addSamples(description);
Redoc.init(description, {
	nativeScrollbars: true, scrollYOffset: ".top", downloadDefinitionUrl: "/openapi.json",
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
