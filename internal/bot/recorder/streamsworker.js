// The worker of streams.js: copies the encoded frames that arrive, and hands the decoder a
// small black picture in place of each. The decoder then costs nothing, misses nothing, and asks
// the senders for nothing: without frames it would ask them for key frames all the time.
const black = Object.fromEntries(Object.entries({
	"video/VP8": "sAIAnQEqQAAkAAVHCIWFiJmEiB0CAAaOT8zHm/FYAP7z2AA=",
	"video/VP9": "gkmDQlAD8AI2FDgkHBjYAAAgQABrQ///pl1LsCTGvLaxxYzOzt9ZXuOxfVbuHQ0XZH3f/93CCRToKPiKQ2g/STEZ3dDuhaHbJagEFceq2uQsAADfqX8EkgA=",
	"video/AV1": "EgAKDAAAAAKv8YA0QENAYTIWEGEALLLLFBJEtJyH5MaqDvfXxAayrQ==",
	"video/H264": "AAAAAWdCwAqMjUI7zzcBDQEHhEI1AAAAAWjOPIAAAAABZbgABAAABD///h6KAAf8nJydddddddde",
}).map(([type, text]) => [type, Uint8Array.fromBase64(text).buffer]));
const types = Object.keys(black);
const headerBytes = 36, maxBytes = 64 << 20; // that the bot has not taken yet

const transformers = new Map(); // by number
let capture = false, decode = true, parts = [], bytes = 0;

// settingsOf returns a checksum of the sequence header of a key frame of AV1, after the temporal delimiter if there is one:
// the size is in it, and not in the metadata.
function settingsOf(data) {
	const bytes = new Uint8Array(data, 0, Math.min(data.byteLength, 130)), begin = bytes[0] >> 3 === 2 ? 2 : 0;
	if (bytes[begin] >> 3 !== 1) return 0;
	return bytes.subarray(begin, begin + 2 + bytes[begin + 1]).reduce((sum, byte) => (sum * 31 + byte) & 0xFFFF, 0);
}

// take copies a frame, after a header of the form that pieces.go reads.
function take(number, count, frame, metadata) {
	const {data} = frame, header = new DataView(new ArrayBuffer(headerBytes));
	if (bytes + data.byteLength > maxBytes) return; // the bot sees it in the count
	header.setUint32(0, data.byteLength, true);
	header.setUint16(4, number, true);
	header.setUint8(6, types.indexOf(metadata.mimeType) + 1); // 0: unknown
	header.setUint8(7, frame.type === "key" ? 1 : 0);
	header.setUint32(8, metadata.rtpTimestamp, true);
	header.setUint32(12, count, true);
	header.setUint32(16, metadata.contributingSources?.[0] ?? metadata.synchronizationSource, true);
	header.setUint16(20, metadata.width ?? 0, true);
	header.setUint16(22, metadata.height ?? 0, true);
	header.setUint8(24, metadata.spatialIndex ?? 0);
	if (metadata.mimeType === "video/AV1" && frame.type === "key") header.setUint16(26, settingsOf(data), true);
	header.setFloat64(28, performance.timeOrigin + performance.now(), true);
	parts.push(header.buffer, data.slice(0));
	bytes += headerBytes + data.byteLength;
}

const askForKey = transformer => transformer?.sendKeyFrameRequest().catch(() => {});

self.onrtctransform = async ({transformer}) => {
	const {readable, writable, options: {number}} = transformer, writer = writable.getWriter();
	transformers.set(number, transformer);
	try {
		for await (const frame of readable) {
			const metadata = frame.getMetadata();
			if (capture) take(number, transformer.count = (transformer.count ?? 0) + 1, frame, metadata);
			if (!decode && black[metadata.mimeType]) frame.data = black[metadata.mimeType].slice(0);
			writer.write(frame).catch(() => {});
		}
	} catch {
		// The connection is gone.
	}
	transformers.delete(number);
};

self.onmessage = async ({data: request}) => {
	const keys = request.capture && !capture || request.decode && !decode ? [...transformers.keys()] : request.keys;
	({capture, decode} = request);
	for (const number of keys) askForKey(transformers.get(number));
	const taken = new Blob(parts);
	parts = [];
	bytes = 0;
	const batch = await taken.arrayBuffer();
	postMessage(batch, [batch]);
};
