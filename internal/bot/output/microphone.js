// The bot's microphone. This script runs in a world of its own, which the page cannot
// reach: only the bot can push sound. devices.js gives tracks of it to the page.
(() => {
  const key = Symbol.for("standin.microphone");
  if (window !== window.top || window[key]) return;
  const sampleRate = 48000;
  const leadMs = 60;   // from the arrival of the first sound to its time
  const minLeadMs = 5; // sound that is later than that has a gap before it

  let context, destination; // undefined until the page asks for the microphone
  let next = 0;             // time of the context at which the pushed sound ends
  const playing = new Set();

  // open returns a new track of the microphone.
  function open() {
    context ??= new AudioContext({sampleRate, latencyHint: "interactive"});
    destination ??= new MediaStreamAudioDestinationNode(context, {channelCount: 1});
    return destination.stream.getAudioTracks()[0].clone();
  }

  document.addEventListener("standin-microphone", () => {
    document.dispatchEvent(new MediaStreamTrackEvent("standin-microphone-track", {track: open()}));
  });

  function decode(text) {
    const bytes = Uint8Array.from(atob(text), character => character.charCodeAt(0));
    return Float32Array.from(new Int16Array(bytes.buffer), sample => sample / 32768);
  }

  window[key] = {
    get opened() { return context !== undefined; },

    // push plays PCM, in base64, after what was pushed before. It returns when that
    // begins, in ms of the Unix time. It plays no rest of a sound that began in another
    // document.
    push(text, rest) {
      if (!context || rest && next === 0) return {opened: false};
      if (context.state !== "running") context.resume();
      const samples = decode(text), now = context.currentTime;
      const buffer = new AudioBuffer({length: samples.length, sampleRate, numberOfChannels: 1});
      buffer.copyToChannel(samples, 0);
      if (next - now < minLeadMs / 1000) next = now + leadMs / 1000;
      const source = new AudioBufferSourceNode(context, {buffer});
      source.connect(destination);
      source.onended = () => playing.delete(source);
      source.start(next);
      playing.add(source);
      const atMs = Date.now() + (next - now) * 1000;
      next += buffer.duration;
      return {opened: true, atMs};
    },

    // stop ends all sound and returns its time.
    stop() {
      for (const source of playing) source.stop();
      playing.clear();
      next = 0;
      return {atMs: Date.now()};
    },
  };
})();
