import { slides, turn } from "/assets/slides.js";

// The tiles of a meeting, as far as they are the same on all platforms. Each remote
// participant has a muted video element and an audio element with the same stream.
//
// Each platform's subclass has createTile(participant), which returns the tile of a
// participant, and createPresentation(participant), which returns the tile of what a
// participant presents.

export class TileGrid {
  #grid;
  #maxCount;
  #streams = new Map(); // MediaStream by participant ID
  tiles = new Map(); // element by participant ID
  #presentations = new Map(); // element by participant ID
  pinned = null; // ID of the pinned participant

  // selfTile is the guest's own tile, which stays the last one. The grid's
  // data-count is the number of tiles up to maxCount.
  constructor(stage, grid, selfTile, maxCount) {
    this.stage = stage;
    this.#grid = grid;
    this.#maxCount = maxCount;
    grid.append(selfTile);
  }

  // mediaParent returns the element of a tile that contains video and audio.
  mediaParent(tile) { return tile; }

  // playsAudio returns whether tiles have audio elements.
  playsAudio() { return true; }

  // setStream sets the media of a participant.
  setStream(id, stream) {
    this.#streams.set(id, stream);
    this.#play(id);
  }

  #play(id) {
    const tile = this.tiles.get(id), stream = this.#streams.get(id);
    if (!tile || !stream) return;
    const video = tile.querySelector("video");
    if (video.srcObject !== stream) video.srcObject = stream; // once per stream: it restarts the video
    const audio = tile.querySelector("audio");
    if (!audio) return;
    audio.srcObject = stream;
    audio.play().catch((error) => console.warn("cannot play audio:", error));
  }

  // startAudio adds audio elements to the tiles, once playsAudio returns true.
  startAudio() {
    for (const [id, tile] of this.tiles) {
      if (tile.querySelector("audio") || !tile.querySelector("video")) continue;
      this.mediaParent(tile).prepend(Object.assign(document.createElement("audio"), { autoplay: true }));
      this.#play(id);
    }
  }

  // update shows the tiles of the participants.
  update(participants) {
    const present = new Set(participants.map((participant) => participant.id));
    for (const [id, tile] of this.tiles) {
      if (present.has(id)) continue;
      tile.remove();
      this.tiles.delete(id);
      this.#streams.delete(id);
      if (this.pinned === id) this.pin(null);
    }
    for (const participant of participants) {
      const tile = this.tiles.get(participant.id) ?? this.#add(participant);
      tile.classList.toggle("camera-off", participant.cameraOff || !participant.media);
      tile.classList.toggle("muted", participant.muted);
    }
    this.#present(participants.filter((participant) => participant.presenting));
    this.#grid.dataset.count = Math.min(this.tiles.size + 1, this.#maxCount);
  }

  #present(presenters) {
    for (const [id, tile] of this.#presentations) {
      if (presenters.some((presenter) => presenter.id === id)) continue;
      tile.remove();
      this.#presentations.delete(id);
    }
    for (const presenter of presenters) {
      turn(presenter.slide);
      if (this.#presentations.has(presenter.id)) continue;
      const tile = this.createPresentation(presenter);
      const video = Object.assign(document.createElement("video"), { autoplay: true, muted: true, playsInline: true, srcObject: slides(presenter.slide) });
      this.mediaParent(tile).prepend(video);
      tile.classList.add("presentation");
      this.#presentations.set(presenter.id, tile);
      this.#grid.prepend(tile);
    }
    this.#grid.classList.toggle("has-presentation", presenters.length > 0);
  }

  #add(participant) {
    const tile = this.createTile(participant);
    if (participant.media) {
      const video = document.createElement("video");
      Object.assign(video, { autoplay: true, muted: true, playsInline: true });
      this.#freeze(video);
      const media = [video];
      if (this.playsAudio()) media.push(Object.assign(document.createElement("audio"), { autoplay: true }));
      this.mediaParent(tile).prepend(...media);
    }
    this.tiles.set(participant.id, tile);
    this.#grid.insertBefore(tile, this.#grid.lastElementChild);
    this.#play(participant.id);
    return tile;
  }

  // freeze pauses a video at its first frame, if the meeting wants that: for good, or
  // until it is played.
  #freeze(video) {
    const kind = this.stage.state.meeting.video;
    if (kind !== "paused" && kind !== "stuck") return;
    video.requestVideoFrameCallback(() => {
      video.autoplay = false; // or a new stream plays
      video.pause();
      if (kind === "stuck") video.play = async () => {};
    });
  }

  // pin pins the tile of a participant, or none for null.
  pin(id) {
    if (id !== null) this.stage.pin(id);
    this.pinned = id;
    for (const [other, tile] of this.tiles) tile.classList.toggle("pinned", other === id);
    this.#grid.classList.toggle("has-pinned", id !== null);
  }

  // togglePin pins or unpins the tile of a participant.
  togglePin(id) { this.pin(this.pinned === id ? null : id); }
}

// initial returns the first letter of a name for an avatar.
export const initial = (name) => [...name.trim()][0]?.toUpperCase() ?? "?";

// element creates an element with a class and a text.
export function element(tag, className, text = "") {
  return Object.assign(document.createElement(tag), { className, textContent: text });
}
