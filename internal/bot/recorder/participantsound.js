// Collects the sound of each remote audio track. The package's other scripts have the
// connections; see receivers.js.
const key = Symbol.for("standin.participantSound");
if (window[key]) return;
const scanMs = 250;
const maxTracks = 32;
const queue = soundQueue();
const readers = new Map(); // by track
let timer = 0;

// scan starts to read new tracks, and stops when nobody listens.
function scan() {
	const present = new Set();
	for (const {track} of queue.wanted() ? audioReceivers() : []) {
		present.add(track);
		if (!readers.has(track) && readers.size < maxTracks) read(track);
	}
	for (const [track, stop] of readers) if (!present.has(track)) stop();
	timer = queue.wanted() ? setTimeout(scan, scanMs) : 0;
}

async function read(track) {
	const player = playMuted(new MediaStream([track]));
	const buffers = new MediaStreamTrackProcessor({track, maxBufferSize: 100}).readable.getReader();
	const toNow = captureClock();
	readers.set(track, () => buffers.cancel().catch(() => {}));
	try {
		for (let next; !(next = await buffers.read()).done;) {
			const buffer = next.value, durationMs = buffer.duration / 1000;
			queue.add(track.id, buffer, toNow(buffer.timestamp / 1000 + durationMs) - durationMs + outputDelayMs);
			buffer.close();
		}
	} catch {
		// The track is gone.
	}
	player.srcObject = null;
	queue.forget(track.id);
	readers.delete(track);
}

window[key] = {
	ready() {
		const promise = queue.ready();
		if (!timer) scan();
		return promise;
	},
	take: queue.take,
};
