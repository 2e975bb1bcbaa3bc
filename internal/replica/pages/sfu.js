// Receives the participants' media from a LiveKit server, with its own client, and sends the guest's.

const checkMs = 500;

// SFUMedia has the same methods as Media.
export class SFUMedia {
  #connect;
  #tracks; // of microphone, camera and screen
  #onStream;
  #isSpeaking;
  #room = null;
  #sent = {}; // LocalTrackPublications by the names of the tracks
  #state;
  #slots = 0;
  #spoke = []; // IDs of participants, the last speaker first
  #timer;
  #closed = false;

  // connect returns {url, token, slots}.
  constructor(connect, tracks, onStream, isSpeaking) {
    this.#connect = connect;
    this.#tracks = { ...tracks };
    this.#onStream = onStream;
    this.#isSpeaking = isSpeaking;
  }

  follow(state) {
    const first = !this.#state;
    this.#state = state;
    if (first) this.#join().catch((problem) => console.warn("media:", problem));
  }

  async #join() {
    const { Room } = await import("/assets/livekit-client.js");
    const { url, token, slots } = await this.#connect();
    const room = new Room({ adaptiveStream: false, dynacast: false });
    for (const event of ["trackSubscribed", "trackUnsubscribed"]) {
      room.on(event, (_track, _publication, participant) => this.#show(participant));
    }
    await room.connect(url, token, { autoSubscribe: false });
    if (this.#closed) return room.disconnect();
    this.#room = room;
    this.#slots = slots;
    for (const device of Object.keys(this.#tracks)) this.#publish(device);
    this.#timer = setInterval(() => this.#choose(), checkMs);
    this.#choose();
  }

  #show(participant) {
    const tracks = [...participant.trackPublications.values()].map(({ track }) => track?.mediaStreamTrack).filter(Boolean);
    this.#onStream(participant.identity, new MediaStream(tracks));
  }

  // choose subscribes to everybody's sound, and to the video of those who have a slot, as large as their tiles.
  #choose() {
    const present = this.#state.participants;
    const speaking = present.filter((one) => this.#isSpeaking(one)).map((one) => one.id);
    this.#spoke = [...new Set([...speaking, ...this.#spoke, ...present.map((one) => one.id)])];
    const shown = this.#spoke.filter((id) => present.some((one) => one.id === id && !one.cameraOff));
    if (this.#slots > 0) shown.length = Math.min(shown.length, this.#slots);
    const videos = [...document.querySelectorAll("video")];
    for (const participant of this.#room.remoteParticipants.values()) {
      for (const publication of participant.trackPublications.values()) {
        const wanted = publication.kind === "audio" || shown.includes(participant.identity);
        if (publication.isDesired !== wanted) publication.setSubscribed(wanted);
        if (publication.kind === "audio" || !publication.track) continue;
        const tile = videos.find(({ srcObject }) => srcObject?.getTracks().includes(publication.track.mediaStreamTrack));
        if (tile) publication.setVideoDimensions({ width: tile.clientWidth, height: tile.clientHeight });
      }
    }
  }

  // replace sends another track of a device from now on, or none.
  replace(device, track) {
    this.#tracks[device] = track;
    if (this.#room) this.#publish(device);
  }

  async #publish(device) {
    const track = this.#tracks[device], before = this.#sent[device], source = { screen: "screen_share" }[device] ?? device;
    try {
      if (before) await this.#room.localParticipant.unpublishTrack(before.track, false);
      this.#sent[device] = track && await this.#room.localParticipant.publishTrack(track, { source, simulcast: false });
    } catch (problem) {
      console.warn(`${device}:`, problem);
    }
  }

  close() {
    this.#closed = true;
    clearInterval(this.#timer);
    this.#room?.disconnect(false);
  }
}
