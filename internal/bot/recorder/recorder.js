// The recorder tab. It captures the meeting tab, encodes it, and posts what
// comes out to the bot that served this page. Every address is relative to the
// page's own, which holds the token.
"use strict";

const standin = (() => {
	const levelIntervalMs = 200; // 5 Hz is enough to tell silence
	const pulseIntervalMs = 1000;
	const retryDelayMs = 250;
	const tolerableLagMs = 15; // from the start to the taking of the first picture
	const startTries = 20;
	const longestPictureMs = 400;

	let stream, recorder, settings;
	let queue = [], uploading = null, sequence = 0;
	let recordedMs = 0, runningSince = null; // recorded time leaves pauses out
	let loudest = 0, lastSound = null;
	let timers = [];

	const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));
	const offset = () => Math.round(recordedMs + (runningSince === null ? 0 : performance.now() - runningSince));

	// post repeats until the bot has taken the body: what is not acknowledged
	// stays in this tab.
	async function post(path, body) {
		for (;;) {
			try {
				const answer = await fetch(path, {method: "POST", body, cache: "no-store"});
				if (answer.ok) return;
			} catch (error) {
				// The bot does not answer now; it may again in a moment.
			}
			await pause(retryDelayMs);
		}
	}

	// upload sends the queued chunks one after the other.
	async function upload() {
		while (queue.length > 0) {
			const chunk = queue[0];
			await post(`chunks/${chunk.sequence}?offset=${chunk.offset}`, chunk.data);
			queue.shift();
		}
		uploading = null;
	}

	function enqueue(data) {
		if (data.size === 0) return; // nothing was flushed within the timeslice
		queue.push({sequence: sequence++, offset: offset(), data});
		uploading ??= upload();
	}

	async function drained() {
		while (uploading) await uploading;
	}

	// watchLevel follows the loudness of the captured sound.
	function watchLevel(track, threshold) {
		const context = new AudioContext();
		const analyser = context.createAnalyser();
		analyser.fftSize = 16384; // a third of a second: no sound between two looks is missed
		context.createMediaStreamSource(new MediaStream([track])).connect(analyser);
		const samples = new Float32Array(analyser.fftSize);
		timers.push(setInterval(() => {
			analyser.getFloatTimeDomainData(samples);
			let sum = 0;
			for (const sample of samples) sum += sample * sample;
			const level = Math.sqrt(sum / samples.length);
			loudest = Math.max(loudest, level);
			if (level > threshold) lastSound = performance.now();
		}, levelIntervalMs));
	}

	function pulse() {
		const video = size();
		const body = JSON.stringify({
			soundAgoMs: lastSound === null ? -1 : Math.round(performance.now() - lastSound),
			level: loudest,
			queued: queue.length,
			width: video.width, height: video.height,
		});
		loudest = 0;
		fetch("pulse", {method: "POST", body, cache: "no-store"}).catch(() => {});
	}

	// capture asks for the meeting tab, which the browser picks by its title.
	async function capture(wanted) {
		settings = wanted;
		stream = await navigator.mediaDevices.getDisplayMedia({
			video: {
				displaySurface: "browser", cursor: "never",
				width: {ideal: wanted.width, max: wanted.width}, height: {ideal: wanted.height, max: wanted.height},
				frameRate: {ideal: wanted.framesPerSecond, max: wanted.framesPerSecond},
			},
			audio: {
				echoCancellation: false, noiseSuppression: false, autoGainControl: false,
				suppressLocalAudioPlayback: true, // where there are loudspeakers
			},
			selfBrowserSurface: "exclude", surfaceSwitching: "exclude", systemAudio: "exclude",
		});
		const audio = stream.getAudioTracks()[0];
		if (!audio) throw new Error("the captured tab gives no sound");
		if (wanted.audioOnly) {
			// A tab's sound cannot be asked for without its picture, only freed of it.
			for (const track of stream.getVideoTracks()) {
				track.stop();
				stream.removeTrack(track);
			}
		}
		watchLevel(audio, wanted.soundThreshold);
	}

	// size is the captured picture's own; 0 where none is taken.
	function size() {
		const {width = 0, height = 0} = stream.getVideoTracks()[0]?.getSettings() ?? {};
		return {width, height};
	}

	// beginInTime starts an encoder whose picture is in time with its sound. The
	// encoder counts picture and sound each from its own first one, so the time
	// between the start and the taking of the first picture stands between them
	// for good. A start at a bad moment is therefore thrown away for another one,
	// before anything is recorded.
	async function beginInTime() {
		const watch = document.createElement("video");
		watch.muted = true;
		watch.srcObject = stream;
		await watch.play();
		const period = 1000 / settings.framesPerSecond;
		let started;
		for (let tries = 1; ; tries++) {
			started = await begin(watch, Math.random() * period);
			// The longer it takes, the less it is worth: the meeting goes on.
			if (started.lagMs <= tolerableLagMs + 2 * tries || tries === startTries) break;
			await discard();
		}
		watch.srcObject = null;
		return started;
	}

	// record starts the encoder and returns when it runs.
	async function record() {
		const started = settings.audioOnly ? await begin(null, 0) : await beginInTime();
		started.early.forEach(enqueue);
		recorder.ondataavailable = event => enqueue(event.data);
		// The encoder stops by itself when the captured tab is gone.
		recorder.onstop = () => end("capture_ended", "");
		runningSince = started.at;
		timers.push(setInterval(pulse, pulseIntervalMs));
		return {startedAtMs: performance.timeOrigin + started.at, agoMs: performance.now() - started.at, lagMs: started.lagMs};
	}

	// listen follows the loudness without recording anything.
	function listen() {
		stream.getAudioTracks()[0].onended = () => end("capture_ended", "");
		timers.push(setInterval(pulse, pulseIntervalMs));
	}

	// begin starts a new encoder after a moment, and tells when that was and by
	// how much the next picture that is watched was taken later.
	async function begin(watch, delay) {
		const picture = () => new Promise(resolve => watch.requestVideoFrameCallback((now, frame) => resolve(frame.captureTime ?? now)));
		recorder = new MediaRecorder(stream, {
			mimeType: settings.mimeType,
			videoBitsPerSecond: settings.audioOnly ? undefined : settings.videoBitsPerSecond,
			audioBitsPerSecond: settings.audioBitsPerSecond,
			videoKeyFrameIntervalDuration: settings.audioOnly ? undefined : settings.keyFrameIntervalMs,
		});
		const failed = new Promise((_, reject) => {
			recorder.onerror = event => {
				reject(event.error);
				end("error", String(event.error));
			};
		});
		const running = new Promise(resolve => { recorder.onstart = () => resolve(); });
		const early = []; // what comes before the start is settled
		recorder.ondataavailable = event => early.push(event.data);
		await pause(delay);
		const at = performance.now();
		const next = watch ? picture() : Promise.resolve(at);
		recorder.start(settings.timesliceMs);
		const taken = await Promise.race([next, failed, pause(longestPictureMs).then(() => at + longestPictureMs)]);
		await Promise.race([running, failed]);
		return {at, lagMs: taken - at, early};
	}

	// discard ends an encoder of which nothing is wanted.
	function discard() {
		return new Promise(resolve => {
			recorder.ondataavailable = null;
			recorder.onstop = resolve;
			recorder.stop();
		});
	}

	// end tells the bot, after the last chunk, why the recording is over.
	async function end(reason, detail) {
		timers.forEach(clearInterval);
		timers = [];
		await drained();
		await post("end", JSON.stringify({reason, detail}));
	}

	const moment = at => ({atMs: performance.timeOrigin + at, agoMs: performance.now() - at});

	// suspend and resume tell when it happened.
	function suspend() {
		const at = performance.now();
		if (recorder.state === "recording") {
			recorder.requestData();
			recorder.pause();
			recordedMs += at - runningSince;
			runningSince = null;
		}
		return moment(at);
	}

	function resume() {
		const at = performance.now();
		if (recorder.state === "paused") {
			recorder.resume();
			runningSince = at;
		}
		return moment(at);
	}

	// stop ends the recording and returns when the bot has taken all of it.
	async function stop(reason) {
		if (recorder && recorder.state !== "inactive") {
			const stopped = new Promise(resolve => { recorder.onstop = resolve; });
			recorder.stop();
			await stopped;
		}
		stream.getTracks().forEach(track => track.stop());
		await end(reason, "");
	}

	return {capture, size, record, listen, suspend, resume, stop};
})();
