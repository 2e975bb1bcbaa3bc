// Gives the page the bot's microphone in place of Chromium's silent one. The track comes
// from microphone.js, which runs apart from the page: it is the only thing of it that the
// page gets. Frames of another origin keep the silent microphone.
(() => {
  const getUserMedia = MediaDevices.prototype.getUserMedia;

  // takeTrack returns a new track of the bot's microphone, or undefined without one.
  function takeTrack() {
    let top;
    try {
      top = window.top.document;
    } catch (error) {
      return undefined; // of another origin
    }
    let track;
    const receive = event => { track = event.track; };
    top.addEventListener("standin-microphone-track", receive);
    top.dispatchEvent(new Event("standin-microphone"));
    top.removeEventListener("standin-microphone-track", receive);
    return track;
  }

  // describe makes a track look like the device in whose place it is.
  function describe(track, device) {
    const settings = device.getSettings(), capabilities = device.getCapabilities(), constraints = device.getConstraints();
    Object.defineProperties(track, {
      label: {value: device.label, configurable: true},
      getSettings: {value: () => ({...settings}), configurable: true},
      getCapabilities: {value: () => ({...capabilities}), configurable: true},
      getConstraints: {value: () => ({...constraints}), configurable: true},
      applyConstraints: {value: async () => {}, configurable: true},
      clone: {value: () => describe(MediaStreamTrack.prototype.clone.call(track), device), configurable: true},
    });
    return track;
  }

  MediaDevices.prototype.getUserMedia = async function (...constraints) {
    const stream = await getUserMedia.apply(this, constraints);
    for (const device of stream.getAudioTracks()) {
      const track = takeTrack();
      if (!track) continue;
      describe(track, device);
      stream.removeTrack(device);
      device.stop();
      stream.addTrack(track);
    }
    return stream;
  };
})();
