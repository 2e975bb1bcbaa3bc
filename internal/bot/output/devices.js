// Gives the page the bot's microphone, camera and screen in place of Chromium's. Their
// tracks come from microphone.js and pictures.js, which run apart from the page: they are
// the only thing of them that the page gets. Frames of another origin keep Chromium's
// silent microphone and test picture.
(() => {
  if (!window.MediaDevices) return; // an insecure page has no devices
  const {getUserMedia, getDisplayMedia} = MediaDevices.prototype;
  const picture = {width: 1280, height: 720, aspectRatio: 16 / 9, frameRate: 30};
  const names = {audio: "microphone", video: "camera"};

  // takeTrack returns a new track of a device of the bot, or undefined without one.
  function takeTrack(name) {
    let top;
    try {
      top = window.top.document;
    } catch (error) {
      return undefined; // of another origin
    }
    let track;
    const receive = event => { track = event.track; };
    top.addEventListener(`standin-${name}-track`, receive);
    top.dispatchEvent(new Event(`standin-${name}`));
    top.removeEventListener(`standin-${name}-track`, receive);
    return track;
  }

  // describe makes a track look like the device in whose place it is.
  function describe(track, {label, settings, capabilities, constraints}) {
    Object.defineProperties(track, {
      label: {value: label, configurable: true},
      getSettings: {value: () => ({...settings}), configurable: true},
      getCapabilities: {value: () => ({...capabilities}), configurable: true},
      getConstraints: {value: () => ({...constraints}), configurable: true},
      applyConstraints: {value: async () => {}, configurable: true},
      clone: {value: () => describe(MediaStreamTrack.prototype.clone.call(track), {label, settings, capabilities, constraints}), configurable: true},
    });
    return track;
  }

  MediaDevices.prototype.getUserMedia = async function (...constraints) {
    const stream = await getUserMedia.apply(this, constraints);
    for (const device of stream.getTracks()) {
      const track = takeTrack(names[device.kind]);
      if (!track) continue;
      describe(track, {
        label: device.label, capabilities: device.getCapabilities(), constraints: device.getConstraints(),
        settings: {...device.getSettings(), ...(device.kind === "video" ? picture : {})},
      });
      stream.removeTrack(device);
      device.stop();
      stream.addTrack(track);
    }
    return stream;
  };

  // The page can share the bot's screen only while the bot has one.
  MediaDevices.prototype.getDisplayMedia = async function (...constraints) {
    const track = takeTrack("screen");
    if (!track) return getDisplayMedia.apply(this, constraints);
    const settings = {...picture, displaySurface: "monitor", logicalSurface: true, cursor: "never", deviceId: "screen:0:0"};
    return new MediaStream([describe(track, {label: "screen:0:0", settings, capabilities: {}, constraints: {}})]);
  };
})();
