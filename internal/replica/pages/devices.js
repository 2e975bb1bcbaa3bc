// The microphone, the camera and the shared screen of the page.

export class Devices {
  #stage;
  #changed;
  #shared = null; // MediaStreamTrack of the shared screen

  // changed is called after every change.
  constructor(stage, changed) {
    this.#stage = stage;
    this.#changed = changed;
    stage.onMuted = () => this.set({ microphone: false });
    stage.onHidden = () => {
      this.set({ camera: false });
      this.#endSharing();
    };
    this.stream = null; // MediaStream, or null if it was not granted
    this.microphone = false;
    this.camera = false;
    this.screen = false;
  }

  // request requests both devices and turns them on. It returns false if the browser
  // denies them.
  async request() {
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({ audio: true, video: true });
    } catch {
      return false;
    }
    this.#stage.send("microphone", this.stream.getAudioTracks()[0] ?? null);
    this.set({ microphone: true, camera: true });
    return true;
  }

  // set turns devices on or off. Without permission they stay off. A camera that is off
  // is stopped to save processor time, and so is a microphone if the settings say so.
  set({ microphone = this.microphone, camera = this.camera }) {
    this.microphone = this.stream !== null && microphone;
    this.camera = this.stream !== null && camera;
    for (const track of this.stream?.getAudioTracks() ?? []) track.enabled = this.microphone;
    const stopsMicrophone = this.#stage.state?.meeting.stopsMicrophone;
    if (!this.microphone && stopsMicrophone) for (const track of this.stream?.getAudioTracks() ?? []) track.stop();
    if (!this.camera) for (const track of this.stream?.getVideoTracks() ?? []) track.stop();
    this.#stage.send("camera", this.camera ? this.stream.getVideoTracks()[0] ?? null : null);
    this.#tell();
  }

  #tell() {
    this.#changed();
    this.#stage.devices(this.microphone, this.camera, this.screen);
  }

  // toggle turns "microphone", "camera" or "screen" on or off. A device that was stopped is
  // requested again.
  async toggle(device) {
    if (device === "screen") return this.screen ? this.#endSharing() : this.#share();
    const kind = device === "camera" ? "video" : "audio";
    const stopped = (this.stream?.getTracks() ?? []).filter((track) => track.kind === kind && track.readyState === "ended");
    if (!this[device] && stopped.length > 0) {
      const stream = await navigator.mediaDevices.getUserMedia({ [kind]: true }).catch(() => null);
      if (!stream) return;
      for (const track of stopped) this.stream.removeTrack(track);
      this.stream.addTrack(stream.getTracks()[0]);
      this.#stage.send("microphone", this.stream.getAudioTracks()[0] ?? null);
    }
    this.set({ [device]: !this[device] });
  }

  async #share() {
    const stream = await navigator.mediaDevices.getDisplayMedia({ video: true }).catch(() => null);
    if (!stream) return;
    [this.#shared] = stream.getVideoTracks();
    this.#shared.addEventListener("ended", () => this.#endSharing());
    this.screen = true;
    this.#stage.send("screen", this.#shared);
    this.#tell();
  }

  #endSharing() {
    if (!this.screen) return;
    this.screen = false;
    this.#shared.stop();
    this.#stage.send("screen", null);
    this.#tell();
  }

  // preview shows the camera in a video element or hides the element.
  preview(video) {
    video.srcObject = this.camera ? this.stream : null;
    video.hidden = !this.camera;
    if (this.camera) video.play().catch(() => {});
  }

  stop() {
    this.stream?.getTracks().forEach((track) => track.stop());
    this.#shared?.stop();
  }
}
