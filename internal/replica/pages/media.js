// Sends the guest's audio and video, and receives the participants'.

// Media is the peer connection of a page. It negotiates the media of each participant,
// again when one joins or the connection is lost.
export class Media {
  #exchange;
  #tracks; // of microphone, camera and screen
  #onStream;
  #sent = {}; // RTCRtpTransceivers by the names of the tracks
  #connection = null; // RTCPeerConnection
  #number = 0; // of the connection on the server
  #confirmed = false; // a snapshot has named this connection
  #asked = new Set(); // participants with transceivers
  #queue = Promise.resolve();
  #latest = null;
  #closed = false;

  constructor(exchange, tracks, onStream) {
    this.#exchange = exchange;
    this.#tracks = { ...tracks };
    this.#onStream = onStream;
  }

  // follow updates the connection for the state, one negotiation at a time.
  follow(state) {
    this.#latest = state;
    this.#queue = this.#queue.then(() => this.#catchUp(state)).catch((problem) => {
      if (this.#closed) return;
      console.warn("media:", problem);
      setTimeout(() => this.#closed || this.follow(this.#latest), 1000);
    });
  }

  async #catchUp(state) {
    if (this.#closed) return;
    // The connection is lost if a snapshot lacks its number after an earlier one had
    // it. Snapshots sent before the negotiation do not have it either.
    if (this.#connection && state.media.connection === this.#number) this.#confirmed = true;
    else if (this.#confirmed) this.#drop();
    const missing = state.participants.filter((one) => one.media && !this.#asked.has(one.id));
    if (this.#connection && missing.length === 0) return;
    if (!this.#connection) this.#open();
    for (const one of missing) {
      this.#connection.addTransceiver("audio", { direction: "recvonly" });
      this.#connection.addTransceiver("video", { direction: "recvonly" });
      this.#asked.add(one.id);
    }
    try {
      await this.#negotiate(missing.map((one) => one.id));
    } catch (problem) {
      this.#drop();
      throw problem;
    }
  }

  // replace sends another track of a device from now on, or none.
  replace(device, track) {
    this.#tracks[device] = track;
    this.#sent[device]?.sender.replaceTrack(track).catch((problem) => console.warn(`${device}:`, problem));
  }

  #open() {
    this.#connection = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
    this.#connection.ontrack = ({ streams: [stream] }) => this.#onStream(stream.id, stream);
    for (const [device, track] of Object.entries(this.#tracks)) {
      const kind = device === "microphone" ? "audio" : "video";
      this.#sent[device] = this.#connection.addTransceiver(track ?? kind, { direction: "sendonly" });
    }
  }

  async #negotiate(participants) {
    const connection = this.#connection;
    await connection.setLocalDescription(await connection.createOffer());
    await gathered(connection);
    const answer = await this.#exchange({
      description: connection.localDescription.sdp,
      participants,
      sent: Object.fromEntries(Object.entries(this.#sent).map(([device, { mid }]) => [mid, device])),
      connection: this.#number,
    });
    await connection.setRemoteDescription({ type: "answer", sdp: answer.description });
    this.#number = answer.connection;
    await connected(connection);
  }

  #drop() {
    this.#connection?.close();
    this.#connection = null;
    this.#sent = {};
    this.#number = 0;
    this.#confirmed = false;
    this.#asked.clear();
  }

  close() {
    this.#closed = true;
    this.#drop();
  }
}

// connected waits until the connection is established, or fails after a timeout.
function connected(connection) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("media connection timeout")), 3000);
    const check = () => {
      if (connection.connectionState !== "connected") return;
      clearTimeout(timer);
      resolve();
    };
    connection.addEventListener("connectionstatechange", check);
    check();
  });
}

// gathered waits until the description contains the candidates, or two seconds, which
// is enough on loopback. The server also learns the address from the first packet.
function gathered(connection) {
  if (connection.iceGatheringState === "complete") return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 2000);
    connection.addEventListener("icegatheringstatechange", () => {
      if (connection.iceGatheringState !== "complete") return;
      clearTimeout(timer);
      resolve();
    });
  });
}
