// The platform-neutral half of every page: it registers the page as a guest,
// follows the meeting's state, sends what the guest does, and receives the
// participants' media. What is shown, and when, is the platform's page's.

// NoMeeting is thrown by Stage.enter when no meeting has the code.
export class NoMeeting extends Error {}

export class Stage {
  #path;
  #media = null;

  constructor(code) {
    this.code = code;
    this.state = null; // the last snapshot
    this.receivedAt = 0; // performance.now() of its arrival
    this.microphone = null; // the MediaStreamTrack that the guest sends, if any
    this.onState = () => {};
    this.onStream = () => {}; // (participant id, MediaStream)
  }

  // enter makes the page a guest and follows the meeting until the page goes.
  async enter() {
    const response = await fetch(`/stage/${encodeURIComponent(this.code)}/guests`, { method: "POST" });
    if (response.status === 404) throw new NoMeeting(this.code);
    if (!response.ok) throw new Error(`the replica answered ${response.status}`);
    const { guest } = await response.json();
    this.#path = `/stage/${encodeURIComponent(this.code)}/guests/${guest}`;
    const events = new EventSource(`${this.#path}/events`);
    events.onmessage = (message) => this.#take(JSON.parse(message.data));
  }

  #take(state) {
    this.state = state;
    this.receivedAt = performance.now();
    this.onState(state);
    if (state.state !== "admitted" || !state.media) {
      this.#media?.close();
      this.#media = null;
      return;
    }
    this.#media ??= new Media((offer) => this.#send("media", offer), this.microphone, this.onStream);
    this.#media.follow(state);
  }

  async #send(action, body) {
    const response = await fetch(`${this.#path}/${action}`, {
      method: "POST",
      keepalive: action === "leave",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${action}: the replica answered ${response.status}`);
    return response.status === 204 ? null : response.json();
  }

  ask(name) { return this.#send("ask", { name }); }
  devices(microphone, camera) { return this.#send("devices", { microphone, camera }); }
  leave() { return this.#send("leave", {}); }
  chat(text) { return this.#send("chat", { text }); }
  accept(notice) { return this.#send("accept", { notice }); }

  // speaking tells whether a participant speaks just now, from where the loops
  // stood when the last snapshot came.
  speaking(participant) {
    const media = this.state?.media;
    if (!media || participant.muted) return false;
    const at = (media.positionMs + performance.now() - this.receivedAt) % media.loopMs;
    return participant.speech.some(([from, to]) => at >= from && at < to);
  }
}

// Media is the one peer connection of a page. It asks for the sound and picture
// of each participant, and asks anew when one joins or the connection is lost.
class Media {
  #exchange;
  #microphone;
  #onStream;
  #connection = null; // RTCPeerConnection
  #number = 0; // what the server calls it
  #confirmed = false; // a snapshot has named this connection
  #asked = new Set(); // participants it has room for
  #queue = Promise.resolve();
  #latest = null;
  #closed = false;

  constructor(exchange, microphone, onStream) {
    this.#exchange = exchange;
    this.#microphone = microphone;
    this.#onStream = onStream;
  }

  // follow brings the connection up to the state; one negotiation at a time.
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
    // Snapshots that were on their way before the server knew of the connection
    // do not name it either, so only one that comes after means it is lost.
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

  #open() {
    this.#connection = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
    this.#connection.ontrack = ({ streams: [stream] }) => this.#onStream(stream.id, stream);
    if (this.#microphone) this.#connection.addTransceiver(this.#microphone, { direction: "sendonly" });
  }

  async #negotiate(participants) {
    const connection = this.#connection;
    await connection.setLocalDescription(await connection.createOffer());
    await gathered(connection);
    const answer = await this.#exchange({
      description: connection.localDescription.sdp,
      participants,
      connection: this.#number,
    });
    await connection.setRemoteDescription({ type: "answer", sdp: answer.description });
    this.#number = answer.connection;
    await connected(connection);
  }

  #drop() {
    this.#connection?.close();
    this.#connection = null;
    this.#number = 0;
    this.#confirmed = false;
    this.#asked.clear();
  }

  close() {
    this.#closed = true;
    this.#drop();
  }
}

// connected waits until media can flow; a connection that does not come about
// is given up for a new one.
function connected(connection) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("media do not connect")), 3000);
    const look = () => {
      if (connection.connectionState !== "connected") return;
      clearTimeout(timer);
      resolve();
    };
    connection.addEventListener("connectionstatechange", look);
    look();
  });
}

// gathered waits until the description holds the page's addresses. Two seconds
// are enough on loopback; without addresses the server still learns them from
// the page's first packet.
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
