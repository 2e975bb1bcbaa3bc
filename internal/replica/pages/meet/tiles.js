// The picture of the call: a tile for everybody. Each remote participant has a
// silent picture and an element that plays the sound, both of one stream.

export class Tiles {
  #grid;
  #selfView;
  #streams = new Map(); // participant id → MediaStream
  #tiles = new Map(); // participant id → element
  #pinned = null;

  constructor(call, stage) {
    const { guest, name } = stage.state;
    this.#grid = call.querySelector(".tiles");
    this.#selfView = call.querySelector(".self-view");
    this.stage = stage;
    this.self = { id: guest, name };
    // The guest's own tile is there twice, in the grid and floating above it,
    // and only one of the two says that it is the guest's own.
    this.#grid.append(this.#selfTile(true));
    this.#selfView.append(this.#selfTile(false));
  }

  identity(id) { return `spaces/${this.stage.code}/devices/${id}`; }

  #selfTile(named) {
    const tile = this.#tile(this.self.id, this.self.name, false);
    if (named) tile.querySelector(".name").dataset.selfName = this.self.name;
    return tile;
  }

  #tile(id, name, remote) {
    const tile = document.createElement("div");
    tile.className = "tile";
    tile.dataset.participantId = this.identity(id);
    const avatar = document.createElement("span");
    avatar.className = "avatar";
    avatar.textContent = [...name.trim()][0]?.toUpperCase() ?? "?";
    const label = document.createElement("span");
    label.className = "name";
    label.textContent = name;
    tile.append(avatar, label);
    if (remote) tile.append(this.#pinButton(id, name), indicator());
    return tile;
  }

  #pinButton(id, name) {
    const pin = document.createElement("button");
    pin.className = "round pin";
    pin.ariaLabel = `Pin ${name} to your main screen`;
    pin.append(icon("pin"));
    pin.addEventListener("click", () => this.#pin(this.#pinned === id ? null : id));
    return pin;
  }

  #pin(id) {
    if (id !== null) this.stage.pin(id);
    this.#pinned = id;
    for (const [other, tile] of this.#tiles) {
      const pinned = other === id;
      const name = tile.querySelector(".name").textContent;
      tile.classList.toggle("pinned", pinned);
      tile.querySelector(".pin").ariaLabel = `${pinned ? "Unpin" : "Pin"} ${name} ${pinned ? "from" : "to"} your main screen`;
    }
    this.#grid.classList.toggle("has-pinned", id !== null);
  }

  // stream takes a participant's media when they arrive.
  stream(id, stream) {
    this.#streams.set(id, stream);
    this.#play(id);
  }

  #play(id) {
    const tile = this.#tiles.get(id);
    const stream = this.#streams.get(id);
    if (!tile || !stream) return;
    tile.querySelector("video").srcObject = stream;
    const audio = tile.querySelector("audio");
    audio.srcObject = stream;
    audio.play().catch((problem) => console.warn("sound does not play:", problem));
  }

  // follow brings the tiles up to the roster.
  follow(participants) {
    const present = new Set(participants.map((one) => one.id));
    for (const [id, tile] of this.#tiles) {
      if (present.has(id)) continue;
      tile.remove();
      this.#tiles.delete(id);
      this.#streams.delete(id);
      if (this.#pinned === id) this.#pin(null);
    }
    for (const one of participants) {
      const tile = this.#tiles.get(one.id) ?? this.#add(one);
      tile.classList.toggle("camera-off", one.cameraOff || !one.media);
      tile.classList.toggle("muted", one.muted);
    }
    this.#grid.dataset.count = Math.min(this.#tiles.size + 1, 9);
  }

  #add(one) {
    const tile = this.#tile(one.id, one.name, true);
    if (one.media) {
      const video = document.createElement("video");
      Object.assign(video, { autoplay: true, muted: true, playsInline: true });
      const audio = document.createElement("audio");
      audio.autoplay = true;
      tile.prepend(video, audio);
    }
    this.#tiles.set(one.id, tile);
    this.#grid.insertBefore(tile, this.#grid.lastElementChild);
    this.#play(one.id);
    return tile;
  }

  // speaking marks the tiles of those who speak.
  speaking(participants, speaks) {
    for (const one of participants) this.#tiles.get(one.id)?.classList.toggle("speaking", speaks(one));
  }
}

function indicator() {
  const element = document.createElement("span");
  element.className = "indicator";
  element.append(...["i", "i", "i"].map((name) => document.createElement(name)));
  return element;
}

export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const use = document.createElementNS(space, "use");
  use.setAttribute("href", `#${name}`);
  svg.append(use);
  return svg;
}
