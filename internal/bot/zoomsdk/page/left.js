// The page after the meeting: it tells what the page before it had noted.
(() => {
	"use strict";
	const noted = JSON.parse(localStorage.getItem("standin.zoomsdk") || "{}");
	const done = async () => ({ok: true});
	window.standinZoom = {
		look: async () => ({...noted, left: true}),
		join: done, leave: done,
	};
})();
