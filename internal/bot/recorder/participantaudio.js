// What each stream of a page's calls says by itself: a voice. A voice is one
// remote track's sound from when it begins to arrive until it ends, encoded here,
// because no other tab can have it. The bot asks for what was encoded (pull), and
// what it has not confirmed stays here, within bounds.
//
// A track that is played goes on evenly, with silence, when nothing is said or
// arrives, so that a moment's place in what was encoded is its distance from the
// voice's beginning. (A graph of WebAudio in between was tried: on a busy machine
// it drops sound.)
(() => {
  const key = Symbol.for("standin.voices");
  if (window[key]) return;
  const mimeType = "audio/mp4;codecs=opus";
  const lookMs = 250;             // little more than receivers.js holds sound back
  const lookShare = 20;           // looks take at most one part in so many of the page's time
  const arrivalMs = 5_000;        // between looks at whether a voice's packets still arrive
  const timesliceMs = 500;
  const restMs = 5_000;           // after a voice that failed
  const tolerableStartMs = 30;    // within which the beginning is known
  const startTries = 5;
  const silentMs = 60_000;        // who sends nothing for so long has left, as far as can be told
  const mostWaiting = 16 << 20;   // bytes that the bot has not confirmed
  const mostAnswered = 4 << 20;   // bytes in one answer

  const name = [...crypto.getRandomValues(new Uint32Array(4))].map(part => part.toString(36)).join("");
  const voices = new Map(); // id → voice
  const resting = new WeakMap(); // track → until when it is left alone
  let wanted = null;        // settings while voices are wanted
  let timer = 0, count = 0, waiting = 0, passedOver = 0;

  // receivers are those whose tracks bring sound now or may again.
  function* receivers() {
    for (const known of window[Symbol.for("standin.connections")] || []) {
      for (const receiver of known.deref()?.getReceivers() || []) {
        const {track} = receiver;
        if (track.kind === "audio" && track.readyState === "live" && !track.muted) yield receiver;
      }
    }
  }

  // arrives tells whether packets came within ten seconds. The page waits for
  // another thread to tell, so it is asked no more often than need be.
  const arrives = receiver => receiver.getSynchronizationSources().length > 0;

  // watch looks, and again after a while.
  function watch() {
    const began = performance.now();
    try {
      look(began);
    } finally {
      timer = setTimeout(watch, Math.max(lookMs, (performance.now() - began) * lookShare));
    }
  }

  function look(now) {
    const present = new Set();
    const running = new Map([...voices.values()].filter(voice => !voice.over).map(voice => [voice.track, voice]));
    passedOver = 0;
    for (const receiver of receivers()) {
      const {track} = receiver, voice = running.get(track);
      present.add(track);
      if (voice && now - voice.lookedAt > arrivalMs) {
        voice.lookedAt = now;
        if (arrives(receiver)) voice.arrivedAt = now;
      }
      if (voice || now < resting.get(track) || !arrives(receiver)) continue;
      if (running.size >= wanted.most || waiting > mostWaiting / 2) passedOver++;
      else running.set(track, begin(track, now));
    }
    for (const [track, voice] of running) {
      if (!present.has(track) || now - voice.arrivedAt > silentMs) end(voice, "");
    }
  }

  function begin(track, now) {
    const voice = {
      id: `${name}-${count++}`, track, epoch: wanted.epoch, startedAt: 0, arrivedAt: now, lookedAt: now,
      first: 0, chunks: [], over: false, cause: "", stopped: null,
    };
    voices.set(voice.id, voice);
    try {
      const stream = new MediaStream([track]);
      // Without an element that plays it, Chromium takes no sound from a track.
      voice.player = Object.assign(new Audio(), {muted: true, srcObject: stream});
      voice.player.play().catch(() => {});
      start(voice, stream);
    } catch (error) {
      end(voice, String(error));
    }
    return voice;
  }

  // start starts the encoder. Its first sample comes while it starts, so one that
  // was held up is thrown away for another: nobody would know when it began.
  function start(voice, stream) {
    for (let tries = 1; ; tries++) {
      const recorder = new MediaRecorder(stream, {mimeType, audioBitsPerSecond: wanted.bitsPerSecond});
      voice.startedAt = performance.now();
      recorder.start(timesliceMs);
      if (performance.now() - voice.startedAt > tolerableStartMs && tries < startTries) {
        recorder.stop();
        continue;
      }
      voice.stopped = new Promise(resolve => { recorder.onstop = resolve; });
      recorder.ondataavailable = event => keep(voice, event.data);
      recorder.onerror = event => end(voice, String(event.error));
      voice.recorder = recorder;
      return;
    }
  }

  function keep(voice, data) {
    if (data.size === 0) return;
    voice.chunks.push(data);
    waiting += data.size;
    if (waiting > mostWaiting) end(voice, "too much of it waited for the bot");
  }

  // end lets a voice go; a cause tells that it was not its time.
  function end(voice, cause) {
    if (voice.over) return;
    voice.over = true;
    voice.cause = cause;
    if (cause) resting.set(voice.track, performance.now() + restMs);
    if (voice.recorder && voice.recorder.state !== "inactive") voice.recorder.stop();
    if (voice.player) voice.player.srcObject = null;
    voice.ended = Promise.resolve(voice.stopped).then(() => { voice.complete = true; });
  }

  // forget drops what the bot has.
  function forget(have) {
    for (const voice of voices.values()) {
      for (; voice.first < (have[voice.id] ?? 0) && voice.chunks.length > 0; voice.first++) {
        waiting -= voice.chunks.shift().size;
      }
      if (voice.told && voice.chunks.length === 0) voices.delete(voice.id);
    }
  }

  async function encoded(blob) {
    const bytes = new Uint8Array(await blob.arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return btoa(text);
  }

  async function answer() {
    const all = [];
    let room = mostAnswered;
    for (const voice of voices.values()) {
      const chunks = [], complete = voice.complete === true, waits = [...voice.chunks];
      const told = {
        id: voice.id, track: voice.track.id, epoch: voice.epoch, first: voice.first, chunks,
        startedAtMs: performance.timeOrigin + voice.startedAt, agoMs: performance.now() - voice.startedAt,
      };
      for (const chunk of waits) {
        if ((room -= chunk.size) < 0) break;
        chunks.push(await encoded(chunk));
      }
      told.ended = complete && chunks.length === waits.length;
      told.cause = voice.cause;
      voice.told = told.ended;
      all.push(told);
    }
    return {voices: all, passedOver};
  }

  // pull says what is wanted and what the bot has, and answers with what it has
  // not. Voices of another epoch than the one that is wanted end; where none are
  // wanted, the answer holds all that was said until now.
  window[key] = {
    async pull(order) {
      forget(order.have);
      for (const voice of voices.values()) if (!order.on || voice.epoch !== order.epoch) end(voice, "");
      wanted = order.on ? order : null;
      if (!wanted) {
        clearTimeout(timer);
        timer = 0;
        await Promise.all([...voices.values()].map(voice => voice.ended));
      } else if (!timer) {
        watch();
      }
      return answer();
    },
  };
})();
