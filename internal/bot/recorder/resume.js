// Plays the videos of the page and its same-origin frames that show a live track and are
// paused. Returns their number. See inbound.go.
views => {
	const live = video => video.srcObject?.getVideoTracks?.().some(track => track.readyState === "live");
	const shown = video => video.checkVisibility({opacityProperty: true, visibilityProperty: true});
	const paused = views().flatMap(view => [...view.document.querySelectorAll("video")]).filter(video => live(video) && video.paused && shown(video));
	for (const video of paused) video.play().catch(() => {});
	return paused.length;
}
