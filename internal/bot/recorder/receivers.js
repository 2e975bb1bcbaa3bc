// A call page keeps the delay between arrival and playing as short as it can,
// because people talk to each other. A recording has no such hurry: a deeper
// buffer keeps sound and picture together, and whole, while the machine is
// busy. So every receiver of a connection is asked for one as soon as it is
// there (W3C WebRTC extensions: RTCRtpReceiver.jitterBufferTarget).
(() => {
  const targetMs = 200;
  const settle = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = async function (...description) {
    const settled = await settle.apply(this, description);
    for (const receiver of this.getReceivers()) {
      receiver.jitterBufferTarget = targetMs;
    }
    return settled;
  };
})();
