// Microphone and camera of the page, as the browser grants them.

export class Devices {
  #stage;
  #changed;

  // changed is called after every change, to show it.
  constructor(stage, changed) {
    this.#stage = stage;
    this.#changed = changed;
    this.stream = null; // what the browser granted
    this.microphone = false;
    this.camera = false;
  }

  // request asks the browser for both and turns them on; false when it refuses.
  async request() {
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({ audio: true, video: true });
    } catch {
      return false;
    }
    this.#stage.microphone = this.stream.getAudioTracks()[0] ?? null;
    this.set({ microphone: true, camera: true });
    return true;
  }

  // set turns devices on or off; without the browser's grant they stay off.
  set({ microphone = this.microphone, camera = this.camera }) {
    this.microphone = this.stream !== null && microphone;
    this.camera = this.stream !== null && camera;
    for (const track of this.stream?.getAudioTracks() ?? []) track.enabled = this.microphone;
    // A camera that is off is given back: its pictures would cost time for nothing.
    if (!this.camera) for (const track of this.stream?.getVideoTracks() ?? []) track.stop();
    this.#changed();
    this.#stage.devices(this.microphone, this.camera);
  }

  // toggle turns "microphone" or "camera" to the other side.
  async toggle(device) {
    if (device === "camera" && !this.camera && this.stream) {
      const again = await navigator.mediaDevices.getUserMedia({ video: true }).catch(() => null);
      if (!again) return;
      for (const track of this.stream.getVideoTracks()) this.stream.removeTrack(track);
      this.stream.addTrack(again.getVideoTracks()[0]);
    }
    this.set({ [device]: !this[device] });
  }

  // preview shows the camera in a video element, or hides the element.
  preview(video) {
    video.srcObject = this.camera ? this.stream : null;
    video.hidden = !this.camera;
    if (this.camera) video.play().catch(() => {});
  }

  stop() { this.stream?.getTracks().forEach((track) => track.stop()); }
}
