// The recorder tab. It captures the meeting tab, encodes it, and posts what
// comes out to the bot that served this page. Every address is relative to the
// page's own, which holds the token.
"use strict";

const standin = (() => {
	const levelIntervalMs = 200; // 5 Hz is enough to tell silence
	const levelSampleRate = 8000; // and so is less sound than is recorded
	const pulseIntervalMs = 1000;
	const retryDelayMs = 250;
	const leastStillMs = 500; // after which a picture is shown again
	const waitingPictures = 4; // while this tab is held up

	let stream, camera, recorder, settings; // no camera where no picture is taken
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
		const context = new AudioContext({sampleRate: levelSampleRate, latencyHint: "playback"});
		const analyser = context.createAnalyser();
		analyser.fftSize = 2048; // a quarter of a second: no sound between two looks is missed
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
		} else {
			camera = filming(stream.getVideoTracks()[0]);
		}
		watchLevel(audio, wanted.soundThreshold);
	}

	// filming shows the pictures of a screen as if a camera took them: in a screen's
	// own the encoder looks for what was moved, which doubles its work.
	function filming(screen) {
		const track = new MediaStreamTrackGenerator({kind: "video"});
		const pictures = new MediaStreamTrackProcessor({track: screen, maxBufferSize: waitingPictures}).readable.getReader();
		const shown = track.writable.getWriter();
		const stillMs = Math.max(leastStillMs, 1500 / settings.framesPerSecond);
		let last, stillTimer;

		function show(picture) {
			clearTimeout(stillTimer);
			stillTimer = setTimeout(() => again().catch(() => {}), stillMs);
			return shown.write(picture);
		}

		// again shows the last picture once more: a page that stands still gives no
		// others, and an encoder without any completes no fragment.
		async function again() {
			const picture = last, copy = await still();
			if (picture === last) await show(copy);
			else copy.close();
		}

		// still returns the last picture as one that is taken when it is shown.
		async function still() {
			const {format, visibleRect: {width, height}} = last;
			const pixels = new ArrayBuffer(last.allocationSize());
			const layout = await last.copyTo(pixels);
			return new VideoFrame(pixels, {format, layout, codedWidth: width, codedHeight: height, timestamp: 0});
		}

		const first = new Promise((came, failed) => {
			(async () => {
				for (let next; !(next = await pictures.read()).done;) {
					last?.close();
					last = next.value.clone();
					came();
					await show(next.value);
				}
			})().catch(failed).finally(() => {
				clearTimeout(stillTimer);
				last?.close();
				track.stop();
				failed(new Error("the captured tab gives no picture"));
			});
		});
		first.catch(() => {}); // whoever records is told

		// begun returns the picture to begin with. A page that stands still may have
		// given its own too early: whoever begins to watch it has another one made.
		async function begun() {
			const watch = Object.assign(document.createElement("video"), {muted: true, srcObject: new MediaStream([screen])});
			watch.play().catch(() => {});
			await first.finally(() => { watch.srcObject = null; });
			return still();
		}
		return {track, show, begun};
	}

	// size is the captured picture's own; 0 where none is taken.
	function size() {
		const {width = 0, height = 0} = stream.getVideoTracks()[0]?.getSettings() ?? {};
		return {width, height};
	}

	// record starts the encoder and returns when it runs. The encoder counts picture
	// and sound each from its own first one: it is shown a picture at its start, so
	// that no wait for the next stands between them for good.
	async function record() {
		recorder = new MediaRecorder(camera ? new MediaStream([camera.track, ...stream.getAudioTracks()]) : stream, {
			mimeType: settings.mimeType,
			videoBitsPerSecond: camera && settings.videoBitsPerSecond,
			audioBitsPerSecond: settings.audioBitsPerSecond,
			videoKeyFrameIntervalDuration: camera && settings.keyFrameIntervalMs,
		});
		const running = new Promise((resolve, reject) => {
			recorder.onstart = resolve;
			recorder.onerror = event => {
				reject(event.error);
				end("error", String(event.error));
			};
		});
		recorder.ondataavailable = event => enqueue(event.data);
		// The encoder stops by itself when the captured tab is gone.
		recorder.onstop = () => end("capture_ended", "");
		const picture = await camera?.begun();
		const at = runningSince = performance.now();
		recorder.start(settings.timesliceMs);
		camera?.show(picture);
		await running;
		timers.push(setInterval(pulse, pulseIntervalMs));
		return moment(at);
	}

	// listen follows the loudness without recording anything.
	function listen() {
		stream.getAudioTracks()[0].onended = () => end("capture_ended", "");
		timers.push(setInterval(pulse, pulseIntervalMs));
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
