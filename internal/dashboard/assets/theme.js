// Sets the chosen colours before the page is painted. Without a choice the
// browser's own counts.
"use strict";
(() => {
	let chosen = null;
	try { chosen = localStorage.getItem("standin-theme"); } catch { /* storage may be forbidden */ }
	if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
