// Gives the page its microphone without echo cancellation, noise suppression and gain
// control. It is silent, and to process it costs CPU time as long as the page has it.
(() => {
  if (!window.MediaDevices) return; // an insecure page has no devices
  const { getUserMedia } = MediaDevices.prototype;
  const unprocessed = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
  MediaDevices.prototype.getUserMedia = async function (constraints, ...rest) {
    const audio = constraints?.audio;
    const oldForm = audio?.mandatory || audio?.optional; // it cannot be mixed with the other
    if (audio && !oldForm) constraints = { ...constraints, audio: { ...audio, ...unprocessed } };
    return getUserMedia.call(this, constraints, ...rest);
  };
})();
