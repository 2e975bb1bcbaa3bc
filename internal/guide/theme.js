// Applies the chosen colors before the page is rendered. The default is the
// setting of the browser.
"use strict";
(() => {
	let chosen = null;
	try { chosen = localStorage.getItem("standin-theme"); } catch { /* storage may be disabled */ }
	if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
