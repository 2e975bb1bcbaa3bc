// Measures the media that the page and its same-origin frames receive since the last
// call. Returns sums over all connections. See inbound.go.
async views => {
	const key = Symbol.for("standin.inbound");
	const state = window[key] ??= {totals: new Map(), pictures: new WeakMap(), pen: new OffscreenCanvas(32, 18).getContext("2d", {willReadFrequently: true})};
	const audibleLevel = 0.01; // of a contributing source, about -40 dBFS
	const recentMs = 1500;
	const frameTimeoutMs = 400, maxTracks = 4; // of videos that do not change
	const unchanged = []; // tracks of such videos

	// sample returns what a picture shows, small, or undefined if it cannot be read.
	const sample = picture => {
		try {
			state.pen.drawImage(picture, 0, 0, 32, 18);
			return state.pen.getImageData(0, 0, 32, 18).data.join();
		} catch (error) {
			return undefined; // of another origin
		}
	};
	// isTransparent reports whether an element is practically transparent.
	const isTransparent = element => {
		for (; element; element = element.parentElement) {
			if (Number(element.ownerDocument.defaultView.getComputedStyle(element).opacity) < 0.05) return true;
		}
		return false;
	};
	// changed reports whether what a video or track shows differs from the last time.
	const changed = (key, picture) => {
		const pixels = sample(picture);
		if (pixels === undefined) return false;
		const before = state.pictures.get(key);
		state.pictures.set(key, pixels);
		return before !== undefined && before !== pixels;
	};
	// trackChanged is changed for the video that a track carries, which its element may
	// have stopped to show.
	const trackChanged = async (view, track) => {
		if (!view.MediaStreamTrackProcessor) return false;
		const copy = track.clone();
		const reader = new view.MediaStreamTrackProcessor({track: copy, maxBufferSize: 1}).readable.getReader();
		const timer = setTimeout(() => reader.cancel(), frameTimeoutMs);
		try {
			const {value: frame} = await reader.read();
			if (!frame) return false;
			const result = changed(track, frame);
			frame.close();
			return result;
		} catch (error) {
			return false; // the track has ended
		} finally {
			clearTimeout(timer);
			reader.cancel().catch(() => {});
			copy.stop();
		}
	};

	const sums = {packets: 0, bytes: 0, energy: 0, frames: 0, audible: false, pictureChanged: false, unplayedMs: 0, received: 0, receivedAgoMs: -1};
	const totals = new Map();
	for (const view of views()) {
		for (const reference of view[Symbol.for("standin.connections")] || []) {
			const connection = reference.deref();
			if (!connection || connection.connectionState !== "connected") continue;
			for (const receiver of connection.getReceivers()) {
				const sources = [...receiver.getContributingSources(), ...receiver.getSynchronizationSources()];
				if (sources.some(source => source.audioLevel > audibleLevel && performance.timeOrigin + performance.now() - source.timestamp < recentMs)) sums.audible = true;
			}
			for (const report of (await connection.getStats()).values()) {
				const id = report.type === "inbound-rtp" ? report.kind + report.ssrc : ["media-playout", "transport"].includes(report.type) && report.id;
				if (!id) continue;
				const before = state.totals.get(id);
				totals.set(id, report);
				if (!before) continue;
				const growth = name => Math.max(0, (report[name] ?? 0) - (before[name] ?? 0));
				sums.unplayedMs = Math.max(sums.unplayedMs, growth("synthesizedSamplesDuration") * 1000);
				if (report.type === "transport") sums.received += growth("packetsReceived");
				if (report.type !== "inbound-rtp") continue;
				const agoMs = performance.timeOrigin + performance.now() - report.lastPacketReceivedTimestamp;
				if (sums.receivedAgoMs < 0 || agoMs < sums.receivedAgoMs) sums.receivedAgoMs = agoMs;
				if (report.kind === "video") {
					sums.frames += growth("framesDecoded");
					continue;
				}
				sums.packets += growth("packetsReceived");
				sums.bytes += growth("bytesReceived");
				sums.energy += growth("totalAudioEnergy");
			}
		}
		// A remote video that the page shows, and that nothing opaque covers.
		for (const video of view.document.querySelectorAll("video")) {
			const box = video.getBoundingClientRect();
			if (!(video.srcObject && video.readyState >= 2 && box.width >= 80 && box.height >= 45 && video.checkVisibility({opacityProperty: true, visibilityProperty: true}))) continue;
			if (isTransparent(video)) continue; // not in the arranged picture
			const stack = view.document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2);
			const above = stack.slice(0, Math.max(0, stack.indexOf(video)));
			const opaque = element => {
				const style = view.getComputedStyle(element);
				return !/^(rgba\(0, 0, 0, 0\)|transparent)$/.test(style.backgroundColor) || style.backgroundImage !== "none" || element.matches("img, canvas, video, iframe");
			};
			// In the arranged picture, videos are not hit, and nothing covers them.
			if (view.getComputedStyle(video).pointerEvents !== "none" && (!stack.includes(video) || above.some(opaque))) continue;
			if (changed(video, video)) {
				sums.pictureChanged = true;
				continue;
			}
			const track = video.srcObject.getVideoTracks?.().find(one => one.readyState === "live" && !one.muted);
			if (track) unchanged.push([view, track]);
		}
	}
	if (!sums.pictureChanged && sums.frames > 0) {
		const moved = await Promise.all(unchanged.slice(0, maxTracks).map(([view, track]) => trackChanged(view, track)));
		sums.pictureChanged = moved.includes(true);
	}
	state.totals = totals;
	return sums;
}
