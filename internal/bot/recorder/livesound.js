// Cuts live sound into frames of 20 ms, which the bot fetches: 960 samples of 48 kHz,
// mono, signed 16-bit little-endian. recorder.js and participantsound.js have a queue
// each. It collects while the bot fetches, and shortly after.
"use strict";

// captureClock returns the function that converts the time of capture of what has just
// arrived, in ms, to a time of performance.now(): what took the least time to arrive
// relates the two. It may drift by 500 ppm.
function captureClock() {
	const driftPerMs = 0.0005;
	let offset = Infinity, before = 0;
	return capturedAt => {
		const now = performance.now();
		offset = Math.min(now - capturedAt, offset + (now - before) * driftPerMs);
		before = now;
		return capturedAt + offset;
	};
}

function soundQueue() {
	const rate = 48_000, frameSamples = 960, frameMs = 20;
	const wantedMs = 2_000;    // after the last fetch
	const readyFrames = 2;     // that are fetched at a time, at least
	const maxFrames = 1_000;   // not fetched yet; older ones are discarded
	const maxTaken = 400;      // that are fetched at a time, at most
	const maxJumpMs = 40;      // between buffers; a longer one ends a frame
	const maxDriftMs = 0.5;    // by which the time of a buffer differs from the end of the one before

	const sources = new Map(); // the frame that each source fills
	let frames = [], wantedUntil = 0, onReady = null;

	const wanted = () => performance.now() < wantedUntil;

	// add adds a buffer of a source, whose first sample was captured at a time.
	function add(source, buffer, beganAt) {
		let frame = sources.get(source);
		if (frame && Math.abs(beganAt - frame.endsAt) > maxJumpMs) {
			if (frame.length > 0) push(source, frame);
			frame = null;
		}
		if (frame) beganAt = frame.endsAt + Math.max(-maxDriftMs, Math.min(maxDriftMs, beganAt - frame.endsAt));
		else sources.set(source, frame = {samples: new Int16Array(frameSamples), length: 0, beganAt, endsAt: beganAt, position: 0, last: 0});
		const samples = mono(buffer), step = buffer.sampleRate / rate; // linear interpolation; no change at 48 kHz
		for (; frame.position < samples.length; frame.position += step) {
			const index = Math.floor(frame.position), before = index > 0 ? samples[index - 1] : frame.last;
			const part = frame.position - index, value = step === 1 ? samples[index] : before + (samples[index] - before) * part;
			if (frame.length === 0) frame.beganAt = beganAt + frame.position / buffer.sampleRate * 1000;
			frame.samples[frame.length++] = Math.max(-32768, Math.min(32767, Math.round(value * 32767)));
			if (frame.length === frameSamples) push(source, frame);
		}
		frame.position -= samples.length;
		frame.last = samples[samples.length - 1];
		frame.endsAt = beganAt + samples.length / buffer.sampleRate * 1000;
	}

	// mono returns the mean of all channels.
	function mono(buffer) {
		const {numberOfFrames, numberOfChannels} = buffer;
		const sum = new Float32Array(numberOfFrames), channel = new Float32Array(numberOfFrames);
		for (let planeIndex = 0; planeIndex < numberOfChannels; planeIndex++) {
			buffer.copyTo(channel, {planeIndex, format: "f32-planar"});
			for (let i = 0; i < numberOfFrames; i++) sum[i] += channel[i] / numberOfChannels;
		}
		return sum;
	}

	// push queues the frame of a source, unless all of a participant's is 0, and begins
	// the next one.
	function push(source, frame) {
		if (source === "" || frame.samples.some(sample => sample !== 0)) {
			frames.push({source, at: frame.beganAt, samples: frame.samples});
			if (frames.length > maxFrames) frames.shift();
			if (frames.length >= readyFrames) onReady?.();
		}
		frame.samples = new Int16Array(frameSamples);
		frame.length = 0;
	}

	function forget(source) { sources.delete(source); }

	// ready returns a promise of frames, and keeps the queue collecting.
	function ready() {
		if (!wanted()) {
			frames = [];
			sources.clear();
		}
		wantedUntil = performance.now() + wantedMs;
		return frames.length >= readyFrames ? Promise.resolve() : new Promise(resolve => { onReady = resolve; });
	}

	// take returns and removes the oldest frames.
	const take = () => frames.splice(0, maxTaken).map(({source, at, samples}) => ({
		source, atMs: performance.timeOrigin + at, agoMs: performance.now() - at,
		pcm: btoa(String.fromCharCode(...new Uint8Array(samples.buffer))),
	}));

	return {add, forget, wanted, ready, take};
}
