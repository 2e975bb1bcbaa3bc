// Makes the page receive no video, for recordings without video: it removes the
// receiving direction of video transceivers before a description is created
// (W3C WebRTC, section 5.4: RTCRtpTransceiver.direction), so that senders stop
// sending video and the browser decodes none. Video that the page sends is not
// changed.
(() => {
  const withoutReceiving = { sendrecv: "sendonly", recvonly: "inactive" };
  const stopVideo = connection => {
    let changed = false;
    for (const transceiver of connection.getTransceivers()) {
      const direction = withoutReceiving[transceiver.direction];
      if (direction === undefined || transceiver.receiver.track.kind !== "video") continue;
      transceiver.direction = direction;
      changed = true;
    }
    return changed;
  };
  const { createOffer, createAnswer, setLocalDescription, setRemoteDescription } = RTCPeerConnection.prototype;
  Object.assign(RTCPeerConnection.prototype, {
    async createOffer(...options) {
      stopVideo(this);
      const offer = await createOffer.apply(this, options);
      // The option offerToReceiveVideo adds transceivers.
      return stopVideo(this) ? createOffer.call(this) : offer;
    },
    async createAnswer(...options) {
      stopVideo(this);
      return createAnswer.apply(this, options);
    },
    async setLocalDescription(...description) {
      if (!description[0]?.sdp) stopVideo(this);
      return setLocalDescription.apply(this, description);
    },
    async setRemoteDescription(...description) {
      const result = await setRemoteDescription.apply(this, description);
      if (this.signalingState === "have-remote-offer") stopVideo(this);
      return result;
    },
  });
})();
