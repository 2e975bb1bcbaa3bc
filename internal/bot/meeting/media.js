// Returns the media that the page receives: the number of live tracks, that of the
// connections that the page has not closed, and in the meeting the audio tracks. It runs in
// the page's own world, because only that has the connections; probe.js does not.
inMeeting => {
	const maxReceivers = 32; // whose audio level is read

	// The receivers of the connections that receivers.js of package recorder collects.
	const views = [];
	const collect = view => {
		try {
			view.document; // throws in a frame of another origin
			views.push(view);
			for (let i = 0; i < view.length; i++) collect(view[i]);
		} catch (error) {
			// Not readable.
		}
	};
	collect(window);
	const known = views.flatMap(view => [...view[Symbol.for("standin.connections")] || []])
		.map(reference => reference.deref()).filter(connection => connection && connection.connectionState !== "closed");
	const connections = known.filter(connection => connection.connectionState === "connected");
	const receivers = connections.flatMap(connection => connection.getReceivers())
		.filter(({track}) => track && track.readyState === "live" && !track.muted);
	const media = receivers.length; // tracks on which media from others arrive

	// The audio that arrives: its level, and the participants whose audio it contains.
	// Statistics come later than they are asked for: at the next snapshot. The level of a
	// track that carries speech and is not played is 0 and says nothing: see inbound.go of
	// package recorder.
	const levelsKey = Symbol.for("standin.audioLevels");
	const audio = () => {
		if (!inMeeting) return [];
		const state = window[levelsKey] ||= {askedAt: -1e9, levels: new Map(), received: new Map()}, now = performance.now();
		if (now - state.askedAt > 400) {
			state.askedAt = now;
			for (const connection of connections) connection.getStats().then(report => {
				for (const entry of report.values()) {
					if (entry.type !== "inbound-rtp" || entry.kind !== "audio" || entry.audioLevel === undefined) continue;
					const id = entry.trackIdentifier, before = state.received.get(id);
					state.received.set(id, entry);
					const packets = before ? entry.packetsReceived - before.packetsReceived : 0;
					const unplayed = packets > 0 && entry.bytesReceived - before.bytesReceived >= 30 * packets && entry.totalAudioEnergy === before.totalAudioEnergy;
					if (unplayed) state.levels.delete(id);
					else state.levels.set(id, {level: entry.audioLevel, at: performance.now()});
				}
			}, () => {});
		}
		const fresh = ({timestamp}) => Math.min(Math.abs(now - timestamp), Math.abs(performance.timeOrigin + now - timestamp)) < 1500;
		return receivers.filter(({track}) => track.kind === "audio").slice(0, maxReceivers).map(receiver => {
			const level = state.levels.get(receiver.track.id);
			return {
				track: receiver.track.id,
				level: level && now - level.at < 3000 ? level.level : null,
				contributors: receiver.getContributingSources().filter(fresh).slice(0, maxReceivers)
					.map(source => ({id: String(source.source), level: source.audioLevel ?? null})),
			};
		});
	};
	return {media, open: known.length, audio: audio()};
}
