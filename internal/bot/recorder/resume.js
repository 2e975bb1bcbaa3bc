// Plays the videos of the page and its same-origin frames that show a live track and are
// paused. Its value is a promise of their number. See inbound.go.
(async () => {
	const paused = [];
	const collect = view => {
		try {
			for (const video of view.document.querySelectorAll("video")) {
				const live = video.srcObject?.getVideoTracks?.().some(track => track.readyState === "live");
				if (live && video.paused && video.checkVisibility({opacityProperty: true, visibilityProperty: true})) paused.push(video);
			}
			for (let i = 0; i < view.length; i++) collect(view[i]);
		} catch (error) {
			// A frame of another origin cannot be read.
		}
	};
	collect(window);
	for (const video of paused) video.play().catch(() => {});
	return paused.length;
})()
