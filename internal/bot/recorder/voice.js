const sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));

// mixVoice mixes what the bot says into the captured sound, which does not contain it:
// pages do not play their own microphone. Its track has the captured buffers, with the
// bot's samples added to those of the same time. While the bot speaks, a buffer waits
// until the samples of its time have arrived.
function mixVoice(captured, fail) {
	const sampleRate = 48000, maxPieces = 6000; // ten minutes
	const resyncMs = 25; // the captured time of buffers varies by less
	const joinMs = 30;   // pieces that begin so close to the end of the last one continue it
	const maxWaitMs = 10_000, maxBuffered = 1500; // buffers of 10 ms: more than wait
	const maxFlushMs = 500;
	const track = new MediaStreamTrackGenerator({kind: "audio"}), own = new MediaStreamTrackGenerator({kind: "audio"});
	const buffers = new MediaStreamTrackProcessor({track: captured, maxBufferSize: maxBuffered}).readable.getReader();
	const mixed = track.writable.getWriter(), alone = own.writable.getWriter();
	const toNow = captureClock();
	let pieces = []; // {start, end, samples} in the order of time, in ms of performance.now()
	let spoke = false, speaking = false, flushing = false;
	let begin = 0, mixedUntil = -Infinity;
	let looks = 50; // how many buffers of the own track are left until it is recorded, at the latest

	// record lets participantaudio.js, if it runs here, record a track like one that is
	// received.
	function record(track) {
		const receiver = {track, getSynchronizationSources: () => [{}]};
		const connection = {getReceivers: () => [receiver]};
		own.connection = connection; // it is referred to weakly
		window[Symbol.for("standin.connections")] = new Set([new WeakRef(connection)]);
	}

	let position = null; // performance.now() of the next buffer, without the variation of buffers

	// arrived waits until the bot's samples before a time have arrived, while it speaks.
	async function arrived(until) {
		const waits = () => speaking && !flushing && looks <= 0 && mixedUntil < until;
		while (waits() && performance.now() - until < maxWaitMs) await sleep(10);
	}

	// take returns the bot's samples of a time, or null without any.
	function take(from, frames, rate) {
		const to = from + frames * 1000 / rate;
		while (pieces.length > 0 && pieces[0].end <= from) pieces.shift();
		if (pieces.length === 0 || pieces[0].start >= to) return null;
		const samples = new Float32Array(frames);
		for (const piece of pieces) {
			if (piece.start >= to) break;
			const first = Math.round((from - piece.start) * sampleRate / 1000);
			for (let i = Math.max(0, Math.ceil(-first * rate / sampleRate)); i < frames; i++) {
				const at = first + Math.round(i * sampleRate / rate);
				if (at >= piece.samples.length) break;
				samples[i] = piece.samples[at];
			}
		}
		return samples;
	}

	// add returns a copy of a buffer with samples added.
	function add(buffer, samples) {
		const {numberOfFrames, numberOfChannels, sampleRate, timestamp} = buffer;
		const data = new Float32Array(numberOfFrames * numberOfChannels);
		for (let channel = 0; channel < numberOfChannels; channel++) {
			const plane = data.subarray(channel * numberOfFrames, (channel + 1) * numberOfFrames);
			buffer.copyTo(plane, {planeIndex: channel, format: "f32-planar"});
			for (let i = 0; i < numberOfFrames; i++) plane[i] = Math.max(-1, Math.min(1, plane[i] + samples[i]));
		}
		return new AudioData({format: "f32-planar", sampleRate, numberOfFrames, numberOfChannels, timestamp, data});
	}

	async function run() {
		for (let next; !(next = await buffers.read()).done;) {
			const buffer = next.value, {numberOfFrames, sampleRate: rate, timestamp} = buffer;
			const durationMs = numberOfFrames * 1000 / rate, from = toNow(timestamp / 1000 + durationMs) - durationMs;
			if (position === null || Math.abs(position - from) > resyncMs) position = from;
			await arrived(position + durationMs);
			const samples = take(position, numberOfFrames, rate);
			position += durationMs;
			if (from < begin) { // it was captured before and waited here
				buffer.close();
				continue;
			}
			if (spoke) {
				alone.write(new AudioData({format: "f32-planar", sampleRate: rate, numberOfFrames, numberOfChannels: 1, timestamp, data: samples ?? new Float32Array(numberOfFrames)}));
				if (looks > 0) looks = window[Symbol.for("standin.participantAudio")]?.look() === false ? looks - 1 : 0; // before the first sound
			}
			if (!samples) {
				await mixed.write(buffer);
				continue;
			}
			await mixed.write(add(buffer, samples));
			buffer.close();
		}
	}
	run().catch(fail).finally(() => track.stop());

	return {
		track, own,
		// beginAt discards what was captured before a time of performance.now(): the
		// encoder would take it for the first sound.
		beginAt(at) { begin = at; },
		// speak begins what the bot says: mix follows.
		speak() {
			if (!spoke) record(own);
			spoke = speaking = true;
		},
		// mix adds PCM in base64 that begins at a Unix time.
		mix(text, atMs) {
			this.speak();
			const bytes = Uint8Array.from(atob(text), character => character.charCodeAt(0));
			const samples = Float32Array.from(new Int16Array(bytes.buffer), sample => sample / 32768);
			let start = performance.now() + atMs - Date.now();
			if (Math.abs(start - mixedUntil) < joinMs) start = mixedUntil;
			mixedUntil = start + samples.length * 1000 / sampleRate;
			pieces.push({start, end: mixedUntil, samples});
			if (pieces.length > maxPieces) pieces.shift();
		},
		// hush ends what the bot says at a Unix time, and removes what is later.
		hush(atMs) {
			speaking = false;
			const at = performance.now() + atMs - Date.now();
			mixedUntil = Math.min(mixedUntil, at);
			pieces = pieces.filter(piece => piece.start < at);
			const last = pieces.at(-1);
			if (last?.end > at) {
				last.samples = last.samples.subarray(0, Math.round((at - last.start) * sampleRate / 1000));
				last.end = at;
			}
		},
		// flush mixes all that was captured so far without waiting for the bot's samples.
		async flush() {
			if (!speaking || position === null) return;
			flushing = true;
			for (const now = performance.now(); position < now - resyncMs && performance.now() < now + maxFlushMs;) await sleep(5);
			flushing = false;
		},
	};
}
