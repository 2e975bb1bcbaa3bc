// A call page keeps the delay between arrival and playing as short as it can,
// because people talk to each other. A recording has no such hurry: a deeper
// buffer keeps sound and picture together, and whole, while the machine is
// busy. So every receiver of a connection is asked for one as soon as it is
// there (W3C WebRTC extensions: RTCRtpReceiver.jitterBufferTarget).
//
// The connections themselves are remembered, weakly, so that it can be told
// whether a call still runs on a page that is not recognised.
(() => {
  const targetMs = 200;
  const connections = window[Symbol.for("standin.connections")] = new Set();
  const settle = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = async function (...description) {
    const settled = await settle.apply(this, description);
    for (const known of connections) {
      const connection = known.deref();
      if (!connection || connection === this) connections.delete(known);
    }
    connections.add(new WeakRef(this));
    for (const receiver of this.getReceivers()) {
      receiver.jitterBufferTarget = targetMs;
    }
    return settled;
  };
})();
