// Records the audio of each participant. A recording is one remote audio track from
// its first packets until it ends, encoded in the page that receives it, because no
// other tab has access to it. The bot fetches encoded chunks with pull; chunks that
// it has not stored yet are kept here, up to a limit.
//
// A track that is played continues with silence while nothing arrives, so the
// position of a sample in the encoded file is its distance from the start of the
// recording. (A WebAudio graph between track and encoder drops audio on a busy
// machine.)
const key = Symbol.for("standin.participantAudio");
if (window[key]) return;
const mimeType = "audio/mp4;codecs=opus";
const scanMs = 250;               // slightly more than the delay of receivers.js
const scanShare = 20;             // scanning uses at most 1/20 of the page's time
const arrivalCheckMs = 5_000;     // between checks that packets still arrive
const timesliceMs = 500;
const retryMs = 5_000;            // before a track that failed is recorded again
const maxStartMs = 30;            // a slower start is repeated
const maxStarts = 5;
const silentMs = 60_000;          // a track without packets for so long has ended
const maxPendingBytes = 16 << 20; // not stored by the bot yet
const maxReportBytes = 4 << 20;

const prefix = [...crypto.getRandomValues(new Uint32Array(4))].map(part => part.toString(36)).join("");
const recordings = new Map();   // by id
const retryAt = new WeakMap();  // by track
let wanted = null;              // the last request, or null while recording is off
let timer = 0, count = 0, pendingBytes = 0, skipped = 0;

// hasPackets returns whether packets arrived within ten seconds. The call blocks on
// another thread, so it is made rarely.
const hasPackets = receiver => receiver.getSynchronizationSources().length > 0;

// scanLoop scans repeatedly.
function scanLoop() {
  const startedAt = performance.now();
  try {
    scan(startedAt);
  } finally {
    timer = setTimeout(scanLoop, Math.max(scanMs, (performance.now() - startedAt) * scanShare));
  }
}

// scan starts recordings of new tracks and ends those of tracks that are gone.
function scan(now) {
  const present = new Set();
  const running = new Map([...recordings.values()].filter(r => !r.over).map(r => [r.track, r]));
  skipped = 0;
  for (const receiver of audioReceivers()) {
    const {track} = receiver, recording = running.get(track);
    present.add(track);
    if (recording && now - recording.checkedAt > arrivalCheckMs) {
      recording.checkedAt = now;
      if (hasPackets(receiver)) recording.packetAt = now;
    }
    if (recording || now < retryAt.get(track) || !hasPackets(receiver)) continue;
    if (running.size >= wanted.maxTracks || pendingBytes > maxPendingBytes / 2) skipped++;
    else running.set(track, record(track, now));
  }
  for (const [track, recording] of running) {
    if (!present.has(track) || now - recording.packetAt > silentMs) end(recording, "");
  }
}

function record(track, now) {
  const recording = {
    id: `${prefix}-${count++}`, track, epoch: wanted.epoch, startedAt: 0, packetAt: now, checkedAt: now,
    first: 0, chunks: [], over: false, cause: "", stopped: null,
  };
  recordings.set(recording.id, recording);
  try {
    const stream = new MediaStream([track]);
    recording.player = playMuted(stream);
    startEncoder(recording, stream);
  } catch (error) {
    end(recording, String(error));
  }
  return recording;
}

// startEncoder starts the encoder. The first sample is taken during the start, so
// its time is unknown if the start was slow: then the encoder is started again.
function startEncoder(recording, stream) {
  for (let starts = 1; ; starts++) {
    const encoder = new MediaRecorder(stream, {mimeType, audioBitsPerSecond: wanted.bitsPerSecond});
    recording.startedAt = performance.now();
    encoder.start(timesliceMs);
    if (performance.now() - recording.startedAt > maxStartMs && starts < maxStarts) {
      encoder.stop();
      continue;
    }
    recording.stopped = new Promise(resolve => { encoder.onstop = resolve; });
    encoder.ondataavailable = event => add(recording, event.data);
    encoder.onerror = event => end(recording, String(event.error));
    recording.encoder = encoder;
    return;
  }
}

function add(recording, data) {
  if (data.size === 0) return;
  recording.chunks.push(data);
  pendingBytes += data.size;
  if (pendingBytes > maxPendingBytes) end(recording, "too much audio was not stored by the bot");
}

// end ends a recording. A cause means that it ended early.
function end(recording, cause) {
  if (recording.over) return;
  recording.over = true;
  recording.cause = cause;
  if (cause) retryAt.set(recording.track, performance.now() + retryMs);
  if (recording.encoder && recording.encoder.state !== "inactive") recording.encoder.stop();
  if (recording.player) recording.player.srcObject = null;
  recording.ended = Promise.resolve(recording.stopped).then(() => { recording.complete = true; });
}

// discard removes the chunks that the bot has stored.
function discard(stored) {
  for (const recording of recordings.values()) {
    for (; recording.first < (stored[recording.id] ?? 0) && recording.chunks.length > 0; recording.first++) {
      pendingBytes -= recording.chunks.shift().size;
    }
    if (recording.endReported && recording.chunks.length === 0) recordings.delete(recording.id);
  }
}

async function base64(blob) {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

async function report() {
  const tracks = [];
  let bytesLeft = maxReportBytes;
  for (const recording of recordings.values()) {
    const chunks = [], complete = recording.complete === true, pending = [...recording.chunks];
    const track = {
      id: recording.id, track: recording.track.id, epoch: recording.epoch, first: recording.first, chunks,
      startedAtMs: performance.timeOrigin + recording.startedAt + outputDelayMs, agoMs: performance.now() - recording.startedAt - outputDelayMs,
    };
    for (const chunk of pending) {
      if ((bytesLeft -= chunk.size) < 0) break;
      chunks.push(await base64(chunk));
    }
    track.ended = complete && chunks.length === pending.length;
    track.cause = recording.cause;
    recording.endReported = track.ended;
    tracks.push(track);
  }
  return {tracks, skipped};
}

// pull applies a request and returns a report of everything that the bot has not
// stored. Recordings of another epoch end. If recording is turned off, the report
// contains all audio until now.
window[key] = {
  // look starts recordings of new tracks at once, and returns whether there are any.
  look() {
    if (wanted) scan(performance.now());
    return recordings.size > 0;
  },

  async pull(request) {
    discard(request.stored);
    for (const recording of recordings.values()) {
      if (!request.enabled || recording.epoch !== request.epoch) end(recording, "");
    }
    wanted = request.enabled ? request : null;
    if (!wanted) {
      clearTimeout(timer);
      timer = 0;
      await Promise.all([...recordings.values()].map(recording => recording.ended));
    } else if (!timer) {
      scanLoop();
    }
    return report();
  },
};
