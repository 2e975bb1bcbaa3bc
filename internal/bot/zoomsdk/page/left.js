// The page after the meeting reports the state that the page before it stored.
(() => {
	"use strict";
	const state = JSON.parse(localStorage.getItem("standin.zoomsdk") || "{}");
	const done = async () => ({ok: true});
	window.standinZoom = {
		report: async () => ({...state, left: true}),
		join: done, leave: done,
	};
})();
