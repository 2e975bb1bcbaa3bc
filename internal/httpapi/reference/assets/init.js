import {addSamples} from "./samples.js";
import {offerRequests} from "./try.js";

const chosen = document.documentElement.dataset.theme;
const dark = chosen === "dark" || !chosen && matchMedia("(prefers-color-scheme: dark)").matches;
const fonts = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif";
const colors = dark ?
	{primary: {main: "#5fc9bf"}, text: {primary: "#e5eeec", secondary: "#a3b4b1"}, error: {main: "#ff9d92"}, border: {dark: "#31403e", light: "#202d2b"},
		responses: {success: {color: "#7fd6a0", backgroundColor: "#163a26"}, error: {color: "#ff9d92", backgroundColor: "#4a1c18"},
			redirect: {color: "#f0bf6a", backgroundColor: "#42300f"}, info: {color: "#9dbcf5", backgroundColor: "#1d2f52"}}} :
	{primary: {main: "#0b6e69"}, text: {primary: "#16211f"}};
const page = document.getElementById("reference");
const description = await (await fetch("/openapi.json")).json();
addSamples(description);
Redoc.init(description, {
	nativeScrollbars: true, scrollYOffset: ".top", downloadDefinitionUrl: "/openapi.json",
	theme: {
		colors,
		sidebar: dark ? {backgroundColor: "#172120", textColor: "#e5eeec"} : {backgroundColor: "#f4f6f6", textColor: "#16211f"},
		schema: dark ? {nestedBackground: "#172120", linesColor: "#31403e", typeNameColor: "#a3b4b1", typeTitleColor: "#a3b4b1"} : {},
		rightPanel: {backgroundColor: dark ? "#0a100f" : "#1c2927"},
		typography: {fontFamily: fonts, headings: {fontFamily: fonts}, code: dark ? {color: "#ff9d92", backgroundColor: "#202d2b"} : {}},
	},
}, page);
offerRequests(description, page, document.getElementById("try"));
// Redoc has its colors from the start.
document.getElementById("theme").addEventListener("click", () => location.reload());
