// What participantaudio.js and participantsound.js share.
const outputDelayMs = 30; // the recording gets the sound later, through the audio output

// audioReceivers yields the receivers of live audio tracks.
function* audioReceivers() {
	for (const reference of window[Symbol.for("standin.connections")] || []) {
		for (const receiver of reference.deref()?.getReceivers() || []) {
			const {track} = receiver;
			if (track.kind === "audio" && track.readyState === "live" && !track.muted) yield receiver;
		}
	}
}

// playMuted returns an element that plays a stream: Chromium decodes a track only while one
// does.
function playMuted(stream) {
	const player = Object.assign(new Audio(), {muted: true, srcObject: stream});
	player.play().catch(() => {});
	return player;
}
