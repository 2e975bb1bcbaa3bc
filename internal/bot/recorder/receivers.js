// Increases the jitter buffer of all receivers (W3C WebRTC Extensions:
// RTCRtpReceiver.jitterBufferTarget). Meeting pages keep the delay short for
// conversations. A recording can wait: a larger buffer keeps audio and video
// complete and synchronized while the machine is busy. While somebody listens live,
// livesound.go makes it smaller.
//
// The script also keeps weak references to the connections, for inbound.go and
// remoteaudio.js.
(() => {
  const connections = window[Symbol.for("standin.connections")] = new Set();
  const targetMs = Symbol.for("standin.jitterBufferMs");
  window[targetMs] = 200;
  const setRemoteDescription = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = async function (...description) {
    const result = await setRemoteDescription.apply(this, description);
    for (const reference of connections) {
      const connection = reference.deref();
      if (!connection || connection === this) connections.delete(reference);
    }
    connections.add(new WeakRef(this));
    for (const receiver of this.getReceivers()) {
      receiver.jitterBufferTarget = window[targetMs];
    }
    return result;
  };
})();
