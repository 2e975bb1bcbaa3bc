// Takes the encoded video that the page receives, before the page's own code can: a transform
// that is set later than in the task that makes its receiver gets no frames. pull returns what
// was taken. workerScript is streamsworker.js.
const key = Symbol.for("standin.streams");
if (window[key] || !window.RTCRtpScriptTransform) return;
const maxPendingBytes = 64 << 20; // not stored by the bot yet
const maxReportBytes = 6 << 20;
const flushMs = 1000;

const view = [...crypto.getRandomValues(new Uint32Array(4))].map(part => part.toString(36)).join("");
const numbers = new WeakMap(); // by receiver; without one, the page's own code takes its frames
const delays = new Map(); // by receiver's SSRC
let worker, recording, count = 0, batches = [], first = 0, pendingBytes = 0, flushed = () => {};

function start() {
	worker = new Worker(URL.createObjectURL(new Blob([workerScript], {type: "text/javascript"})));
	worker.onmessage = ({data}) => {
		if (data.byteLength > 0 && pendingBytes + data.byteLength <= maxPendingBytes) {
			batches.push(data);
			pendingBytes += data.byteLength;
		}
		flushed();
	};
}

function attach(receiver) {
	if (receiver.track.kind !== "video" || numbers.has(receiver)) return;
	try {
		if (!worker) start();
		receiver.transform = new RTCRtpScriptTransform(worker, {number: count});
		numbers.set(receiver, count++);
	} catch {
		// pull tells that its frames do not come.
	}
}

const attachAll = connection => connection.getReceivers().forEach(attach);
const prototype = RTCPeerConnection.prototype;
for (const method of ["addTransceiver", "addTrack"]) {
	const original = prototype[method];
	prototype[method] = function (...options) {
		const result = original.apply(this, options);
		attachAll(this);
		return result;
	};
}
window.RTCPeerConnection = new Proxy(RTCPeerConnection, {
	construct(target, options, newTarget) {
		const connection = Reflect.construct(target, options, newTarget);
		// Both events come in the task in which a description makes receivers.
		for (const event of ["signalingstatechange", "track"]) connection.addEventListener(event, () => attachAll(connection));
		return connection;
	},
});
prototype.constructor = window.RTCPeerConnection;

const connected = () => [...window[Symbol.for("standin.connections")] || []].map(reference => reference.deref())
	.filter(connection => connection?.connectionState === "connected");

// tracks describes the video that arrives, also what is not taken.
async function tracks() {
	const found = [];
	for (const connection of connected()) {
		const receivers = new Map(connection.getReceivers().map(receiver => [receiver.track.id, receiver]));
		for (const report of (await connection.getStats()).values()) {
			const receiver = receivers.get(report.trackIdentifier);
			if (report.type !== "inbound-rtp" || report.kind !== "video" || !receiver) continue;
			const {jitterBufferDelay: sum = 0, jitterBufferEmittedCount: frames = 0} = report;
			const before = delays.get(report.ssrc) ?? {sum: 0, frames: 0};
			delays.set(report.ssrc, {sum, frames});
			found.push({
				number: numbers.get(receiver) ?? -1, track: receiver.track.id, bytes: report.bytesReceived,
				delayMs: frames > before.frames ? (sum - before.sum) / (frames - before.frames) * 1000 : -1,
			});
		}
	}
	return found;
}

window[key] = {
	async pull({stored, recording: wanted, ...request}) {
		if (wanted !== recording) { // what is left is of an earlier one
			[recording, first, batches, pendingBytes] = [wanted, first + batches.length, [], 0];
		}
		for (; first < (stored[view]?.batches ?? 0) && batches.length > 0; first++) pendingBytes -= batches.shift().byteLength;
		if (worker) {
			await new Promise(resolve => {
				flushed = resolve;
				worker.postMessage({...request, keys: stored[view]?.keys ?? []});
				setTimeout(resolve, flushMs);
			});
		}
		let bytesLeft = maxReportBytes;
		const sent = batches.filter((batch, i) => (bytesLeft -= batch.byteLength) >= 0 || i === 0);
		return {
			view, first, batches: sent.map(batch => new Uint8Array(batch).toBase64()), more: sent.length < batches.length,
			connected: connected().length > 0, tracks: await tracks(), nowMs: performance.timeOrigin + performance.now(),
		};
	},
};
