// Applies the chosen colors before the page is rendered, and the button that changes
// them. The default is the setting of the browser.
"use strict";
(() => {
	const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
	const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
	let chosen = null;
	try { chosen = localStorage.getItem("standin-theme"); } catch { /* storage may be disabled */ }
	if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;
	document.addEventListener("DOMContentLoaded", () => {
		const button = document.getElementById("theme");
		const label = () => {
			button.textContent = dark() ? "Light" : "Dark";
			button.setAttribute("aria-label", dark() ? "Use light colors" : "Use dark colors");
		};
		button.addEventListener("click", () => {
			root.dataset.theme = dark() ? "light" : "dark";
			try { localStorage.setItem("standin-theme", root.dataset.theme); } catch { /* applies to this page only */ }
			label();
		});
		system.addEventListener("change", label);
		label();
		button.hidden = false;
	});
})();
