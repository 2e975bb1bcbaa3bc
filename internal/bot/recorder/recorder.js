// The script of the recorder tab, after livesound.js and voice.js. It captures the meeting
// tab, encodes it, and posts the chunks to the server of this page. All URLs are relative to
// the page's own, which contains the token.

const standin = (() => {
	const levelIntervalMs = 250;
	const minSoundMs = 50;   // shorter sounds are clicks
	const minQuietMs = 200;  // shorter pauses are part of speech
	const maxBufferedSound = 4000; // buffers of 10 ms, while this tab is blocked; it records meanwhile
	const maxSoundChanges = 30; // per status, and as many gaps
	const minLostMs = 20;    // between buffers; their times vary by less
	const minGapMs = 500;    // of sound that is missing; a shorter gap is not told
	const minJoinMs = 250, maxJoinMs = 1000; // between losses of one gap
	const statusIntervalMs = 1000;
	const retryDelayMs = 250;
	const minRepeatMs = 500; // before a frame is repeated
	const maxBufferedFrames = 4; // while this tab is blocked
	const digitalSilence = 1e-5; // -100 dBFS: below any noise of a microphone
	const sampleWidth = 160, sampleHeight = 90; // of the picture, to detect changes

	let stream, videoSource, recorder, settings; // videoSource is undefined without video
	let voice; // undefined unless the bot may speak
	let queue = [], uploading = null, sequence = 0;
	let recordedMs = 0, runningSince = null; // without pauses
	let stoppedAt = null;
	let lastSoundAt = null, lastSignalAt = null, pictureChangedAt = null;
	let timers = [], measuring;
	let soundChanges = [], soundGaps = []; // not sent yet
	const liveSound = soundQueue();

	const offset = () => Math.round(recordedMs + (runningSince === null ? 0 : performance.now() - runningSince));

	// post repeats the request until the server accepts it.
	async function post(path, body) {
		for (;;) {
			try {
				const response = await fetch(path, {method: "POST", body, cache: "no-store"});
				if (response.ok) return;
			} catch (error) {
				// Retry.
			}
			await sleep(retryDelayMs);
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

	async function flushed() {
		while (uploading) await uploading;
	}

	// measureSound measures the level of the captured sound, when sound begins and ends, and
	// where it is missing: buffers did not arrive, or they are blank. The browser fills in blank
	// sound for a page that does not run; so sounds a page in which everybody is silent, too.
	async function measureSound(track, threshold) {
		const buffers = new MediaStreamTrackProcessor({track, maxBufferSize: maxBufferedSound}).readable.getReader();
		const toNow = captureClock(), follow = soundFollower(), lost = gapFollower(false), blank = gapFollower(true);
		let before = null; // end of the last buffer that was recorded
		let samples = new Float32Array(0), energy = 0, intervalMs = 0;
		for (let next; !(next = await buffers.read()).done;) {
			const buffer = next.value, {numberOfFrames, numberOfChannels} = buffer;
			const durationMs = buffer.duration / 1000, end = toNow(buffer.timestamp / 1000 + durationMs);
			if (samples.length !== numberOfFrames) samples = new Float32Array(numberOfFrames);
			let mean = 0; // of the squares of the loudest channel
			for (let channel = 0; channel < numberOfChannels; channel++) {
				buffer.copyTo(samples, {planeIndex: channel, format: "f32-planar"});
				let sum = 0;
				for (const sample of samples) sum += sample * sample;
				mean = Math.max(mean, sum / numberOfFrames);
			}
			const from = end - durationMs, recorded = recorder?.state === "recording";
			if (liveSound.wanted() && (!recorder || recorded)) liveSound.add("", buffer, from);
			buffer.close();
			follow(from, end, Math.sqrt(mean) > threshold);
			lost(before ?? from, from, before !== null && from - before >= minLostMs);
			blank(from, end, recorded && mean === 0);
			before = recorded ? end : null;
			energy += mean * durationMs;
			intervalMs += durationMs;
			if (intervalMs < levelIntervalMs) continue;
			const level = Math.sqrt(energy / intervalMs);
			if (level > digitalSilence) lastSignalAt = end;
			if (level > threshold) lastSoundAt = end;
			energy = intervalMs = 0;
		}
		lost(Infinity, Infinity, false);
		blank(Infinity, Infinity, false);
	}

	// soundFollower returns the function that takes each section of sound, and adds to
	// soundChanges when sound begins and ends.
	function soundFollower() {
		let begin = null, end = 0, begun = false;
		return (from, to, audible) => {
			if (begin !== null && from - end >= (begun ? minQuietMs : minSoundMs)) {
				if (begun) soundChanges.push({sound: false, at: end});
				begin = null;
				begun = false;
			}
			if (!audible) return;
			begin ??= from;
			end = to;
			if (!begun && end - begin >= minSoundMs) {
				begun = true;
				soundChanges.push({sound: true, at: begin});
			}
		};
	}

	// gapFollower returns the function that takes each section of sound, and adds to soundGaps
	// where it is lost. Losses are one gap if less is left between them than is lost; sound ends a
	// blank one.
	function gapFollower(blank) {
		let gap = null, lostMs = 0;
		return (from, to, lost) => {
			if (gap && from - gap.to > (blank ? minLostMs : Math.min(Math.max(lostMs, minJoinMs), maxJoinMs))) {
				if (gap.to - gap.from >= minGapMs) soundGaps.push({...gap, blank});
				gap = null;
			}
			if (!lost) return;
			if (!gap) [gap, lostMs] = [{from, to}, 0];
			gap.to = to;
			lostMs += to - from;
		};
	}

	// watchPicture compares the captured picture with the one of a second ago.
	function watchPicture() {
		const pen = new OffscreenCanvas(sampleWidth, sampleHeight).getContext("2d", {willReadFrequently: true});
		let before;
		timers.push(setInterval(() => {
			if (!videoSource.draw(pen)) return;
			const pixels = pen.getImageData(0, 0, sampleWidth, sampleHeight).data;
			if (before && pixels.some((value, index) => value !== before[index])) pictureChangedAt = performance.now();
			before = pixels;
		}, statusIntervalMs));
	}

	// agoMs returns how long ago a time was, or -1 for never.
	const agoMs = at => at === null ? -1 : Math.round(performance.now() - at);

	function sendStatus() {
		const video = size();
		const body = JSON.stringify({
			soundAgoMs: agoMs(lastSoundAt), signalAgoMs: agoMs(lastSignalAt), pictureAgoMs: agoMs(pictureChangedAt),
			width: video.width, height: video.height,
			soundChanges: soundChanges.slice(-maxSoundChanges).map(({sound, at}) => ({sound, ...timestamp(at)})),
			soundGaps: soundGaps.slice(-maxSoundChanges).map(({from, to, blank}) => ({blank, lengthMs: to - from, ...timestamp(from)})),
		});
		soundChanges = [];
		soundGaps = [];
		return fetch("status", {method: "POST", body, cache: "no-store"}).catch(() => {});
	}

	// capture captures the meeting tab, which the browser selects by its title.
	async function capture(options) {
		settings = options;
		stream = await navigator.mediaDevices.getDisplayMedia({
			video: {
				displaySurface: "browser", cursor: "never",
				width: {ideal: options.width, max: options.width}, height: {ideal: options.height, max: options.height},
				frameRate: {ideal: options.framesPerSecond, max: options.framesPerSecond},
			},
			audio: {
				echoCancellation: false, noiseSuppression: false, autoGainControl: false,
				suppressLocalAudioPlayback: true,
			},
			selfBrowserSurface: "exclude", surfaceSwitching: "exclude", systemAudio: "exclude",
		});
		const audio = stream.getAudioTracks()[0];
		if (!audio) throw new Error("the captured tab has no audio");
		if (options.audioOnly) {
			// A tab cannot be captured without its video, so the video is removed.
			for (const track of stream.getVideoTracks()) {
				track.stop();
				stream.removeTrack(track);
			}
		} else {
			videoSource = cameraLike(stream.getVideoTracks()[0]);
		}
		if (options.voice) voice = mixVoice(audio, error => end("error", "mix the bot's sound: " + error));
		measuring = measureSound(audio, options.soundThreshold).catch(error => end("error", "measure the sound: " + error));
	}

	// cameraLike copies the frames of a screen track to a camera track. For screen
	// tracks the encoder searches for moved content, which doubles its cost.
	function cameraLike(screen) {
		const track = new MediaStreamTrackGenerator({kind: "video"});
		const frames = new MediaStreamTrackProcessor({track: screen, maxBufferSize: maxBufferedFrames}).readable.getReader();
		const writer = track.writable.getWriter();
		const repeatMs = Math.max(minRepeatMs, 1500 / settings.framesPerSecond);
		let last, repeatTimer, dropped = false;

		function write(frame) {
			clearTimeout(repeatTimer);
			repeatTimer = setTimeout(() => repeat().catch(() => {}), repeatMs);
			return writer.write(frame);
		}

		// repeat writes the last frame again. A page that does not change has no new
		// frames, and without frames the encoder completes no fragment.
		async function repeat() {
			const frame = last, copy = await copyLast();
			if (frame === last) await write(copy);
			else copy.close();
		}

		// copyLast returns a copy of the last frame. Its timestamp 0 makes the encoder
		// use the time at which it is written.
		async function copyLast() {
			const {format, visibleRect: {width, height}} = last;
			const pixels = new ArrayBuffer(last.allocationSize());
			const layout = await last.copyTo(pixels);
			return new VideoFrame(pixels, {format, layout, codedWidth: width, codedHeight: height, timestamp: 0});
		}

		const first = new Promise((resolve, reject) => {
			(async () => {
				for (let next; !(next = await frames.read()).done;) {
					last?.close();
					last = next.value.clone();
					resolve();
					await write(next.value);
				}
			})().catch(reject).finally(() => {
				if (dropped) return;
				clearTimeout(repeatTimer);
				last?.close();
				track.stop();
				reject(new Error("the captured tab has no video"));
			});
		});
		first.catch(() => {}); // firstFrame reports the error

		// firstFrame returns the frame to start with. The only frame of a page that does
		// not change may be lost; playing the track in an element requests another one.
		async function firstFrame() {
			const video = Object.assign(document.createElement("video"), {muted: true, srcObject: new MediaStream([screen])});
			video.play().catch(() => {});
			await first.finally(() => { video.srcObject = null; });
			return copyLast();
		}

		// draw draws the last frame. It returns false if there is none.
		function draw(pen) {
			if (dropped) return false;
			try {
				pen.drawImage(last, 0, 0, sampleWidth, sampleHeight);
				return true;
			} catch (error) {
				return false; // no frame yet, or closed at the end
			}
		}

		// drop ends the capture of the screen. The recorded picture is black from then on.
		function drop() {
			dropped = true;
			screen.stop();
			const {width, height} = last.visibleRect, codedWidth = width + width % 2, codedHeight = height + height % 2;
			const luma = codedWidth * codedHeight, black = new Uint8Array(luma * 1.5).fill(16, 0, luma).fill(128, luma);
			last.close();
			last = new VideoFrame(black, {format: "I420", codedWidth, codedHeight, timestamp: 0});
		}
		return {track, write, firstFrame, draw, drop};
	}

	// dropPicture leaves only the sound to be recorded.
	function dropPicture() {
		const [screen] = stream.getVideoTracks();
		videoSource.drop();
		stream.removeTrack(screen);
	}

	// size returns the size of the captured video, or 0 without video.
	function size() {
		const {width = 0, height = 0} = stream.getVideoTracks()[0]?.getSettings() ?? {};
		return {width, height};
	}

	// record starts the encoder and returns when it runs. The encoder counts time from
	// the first frame and the first sample separately, so a frame is written at the
	// start to keep video and audio synchronized.
	async function record() {
		const audio = voice ? [voice.track] : stream.getAudioTracks();
		recorder = new MediaRecorder(new MediaStream(videoSource ? [videoSource.track, ...audio] : audio), {
			mimeType: settings.mimeType,
			videoBitsPerSecond: videoSource && settings.videoBitsPerSecond,
			audioBitsPerSecond: settings.audioBitsPerSecond,
			videoKeyFrameIntervalDuration: videoSource && settings.keyFrameIntervalMs,
		});
		const running = new Promise((resolve, reject) => {
			recorder.onstart = resolve;
			recorder.onerror = event => {
				reject(event.error);
				end("error", String(event.error));
			};
		});
		recorder.ondataavailable = event => enqueue(event.data);
		// The encoder stops when the captured tab is gone.
		recorder.onstop = () => end("capture_ended", "");
		const frame = await videoSource?.firstFrame();
		const at = runningSince = performance.now();
		voice?.beginAt(at);
		recorder.start(settings.timesliceMs);
		videoSource?.write(frame);
		await running;
		timers.push(setInterval(sendStatus, statusIntervalMs));
		if (videoSource) watchPicture();
		return timestamp(at);
	}

	// monitor measures the level without recording.
	function monitor() {
		stream.getAudioTracks()[0].onended = () => end("capture_ended", "");
		timers.push(setInterval(sendStatus, statusIntervalMs));
	}

	// end reports, after the last chunk, why the recording ended.
	async function end(reason, detail) {
		timers.forEach(clearInterval);
		timers = [];
		await sendStatus();
		await flushed();
		await post("end", JSON.stringify({reason, detail, ...timestamp(stoppedAt ?? performance.now())}));
	}

	const timestamp = at => ({atMs: performance.timeOrigin + at, agoMs: performance.now() - at});

	// pause and resume return their time.
	async function pause() {
		await voice?.flush();
		const at = performance.now();
		if (recorder.state === "recording") {
			recorder.requestData();
			recorder.pause();
			recordedMs += at - runningSince;
			runningSince = null;
		}
		return timestamp(at);
	}

	function resume() {
		const at = performance.now();
		if (recorder.state === "paused") {
			voice?.beginAt(at);
			recorder.resume();
			runningSince = at;
		}
		return timestamp(at);
	}

	// stop ends the recording and returns when all chunks are stored.
	async function stop(reason) {
		await voice?.flush();
		if (recorder && recorder.state !== "inactive") {
			const stopped = new Promise(resolve => { recorder.onstop = resolve; });
			stoppedAt = performance.now();
			recorder.stop();
			await stopped;
		}
		stream.getTracks().forEach(track => track.stop());
		await measuring;
		await end(reason, "");
	}

	// speak begins, mix adds to and hush ends what the bot says; see voice.js. The first two
	// return the ID of the bot's track.
	const ownTrack = () => voice?.own.id ?? "";
	const speak = () => {
		voice?.speak();
		return ownTrack();
	};
	const mix = (text, atMs) => {
		voice?.mix(text, atMs);
		return ownTrack();
	};
	const hush = atMs => voice?.hush(atMs);

	return {capture, size, record, monitor, dropPicture, pause, resume, stop, liveSound, speak, mix, hush};
})();
