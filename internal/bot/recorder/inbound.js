// Measures the media that the page and its same-origin frames receive since the last
// call. Its value is a promise of sums over all connections. See inbound.go.
(async () => {
	const key = Symbol.for("standin.inbound");
	const state = window[key] ??= {totals: new Map(), pictures: new WeakMap(), pen: new OffscreenCanvas(32, 18).getContext("2d", {willReadFrequently: true})};
	const audibleLevel = 0.01; // of a contributing source, about -40 dBFS
	const recentMs = 1500;
	const views = [];
	const collect = view => {
		try {
			view.document; // throws in a cross-origin frame
			views.push(view);
			for (let i = 0; i < view.length; i++) collect(view[i]);
		} catch (error) {
			// Not readable.
		}
	};
	collect(window);

	const sums = {packets: 0, bytes: 0, energy: 0, frames: 0, audible: false, pictureChanged: false};
	const totals = new Map();
	for (const view of views) {
		for (const reference of view[Symbol.for("standin.connections")] || []) {
			const connection = reference.deref();
			if (!connection || connection.connectionState !== "connected") continue;
			for (const receiver of connection.getReceivers()) {
				const sources = [...receiver.getContributingSources(), ...receiver.getSynchronizationSources()];
				if (sources.some(source => source.audioLevel > audibleLevel && performance.timeOrigin + performance.now() - source.timestamp < recentMs)) sums.audible = true;
			}
			for (const report of (await connection.getStats()).values()) {
				if (report.type !== "inbound-rtp") continue;
				const id = report.kind + report.ssrc, before = state.totals.get(id);
				totals.set(id, report);
				if (!before) continue;
				const growth = name => Math.max(0, (report[name] ?? 0) - (before[name] ?? 0));
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
			const stack = view.document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2);
			const above = stack.slice(0, Math.max(0, stack.indexOf(video)));
			const opaque = element => {
				const style = view.getComputedStyle(element);
				return !/^(rgba\(0, 0, 0, 0\)|transparent)$/.test(style.backgroundColor) || style.backgroundImage !== "none" || element.matches("img, canvas, video, iframe");
			};
			if (!stack.includes(video) || above.some(opaque)) continue;
			try {
				state.pen.drawImage(video, 0, 0, 32, 18);
				const pixels = state.pen.getImageData(0, 0, 32, 18).data.join();
				if (state.pictures.has(video) && state.pictures.get(video) !== pixels) sums.pictureChanged = true;
				state.pictures.set(video, pixels);
			} catch (error) {
				// A video of another origin cannot be read.
			}
		}
	}
	state.totals = totals;
	return sums;
})()
