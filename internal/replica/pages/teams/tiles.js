// The picture of the meeting: a tile for everybody. Each remote participant has
// a silent picture and an element that plays the sound, both of one stream.

import { say } from "/assets/language.js";

export class Tiles {
  #grid;
  #alone;
  #stage;
  #hears;
  #streams = new Map(); // participant id → MediaStream
  #tiles = new Map(); // participant id → element
  #pinned = null;
  #met = false; // somebody else has been here

  constructor(call, stage, hears) {
    this.#grid = call.querySelector(".tiles");
    this.#alone = call.querySelector(".alone");
    this.#stage = stage;
    this.#hears = hears;
    // The guest's own tile is there twice, in the grid and floating above it.
    const { name } = stage.state;
    this.#grid.append(tile(name));
    const own = tile(name);
    own.ariaLabel = "My video";
    call.querySelector(".self-view").append(own);
    // A menu closes when something else is clicked.
    call.addEventListener("click", (event) => {
      for (const menu of call.querySelectorAll(".menu")) if (!menu.parentElement.contains(event.target)) menu.remove();
    });
  }

  // stream takes a participant's media when they arrive.
  stream(id, stream) {
    this.#streams.set(id, stream);
    this.#play(id);
  }

  #play(id) {
    const element = this.#tiles.get(id);
    const stream = this.#streams.get(id);
    if (!element || !stream) return;
    element.querySelector("video").srcObject = stream;
    const audio = element.querySelector("audio");
    if (!audio) return;
    audio.srcObject = stream;
    audio.play().catch((problem) => console.warn("sound does not play:", problem));
  }

  // follow brings the tiles up to the roster.
  follow(participants) {
    const present = new Set(participants.map((one) => one.id));
    for (const [id, element] of this.#tiles) {
      if (present.has(id)) continue;
      element.remove();
      this.#tiles.delete(id);
      this.#streams.delete(id);
      if (this.#pinned === id) this.#pin(null);
    }
    for (const one of participants) {
      const element = this.#tiles.get(one.id) ?? this.#add(one);
      element.classList.toggle("camera-off", one.cameraOff || !one.media);
      element.classList.toggle("muted", one.muted);
    }
    this.#grid.dataset.count = Math.min(this.#tiles.size + 1, 9);
    this.#met ||= participants.length > 0;
    this.#alone.hidden = participants.length > 0;
    this.#alone.textContent = say(this.#met ? "You're the only one here" : "Waiting for others to join");
  }

  #add(one) {
    const element = tile(one.name);
    if (one.media) {
      const video = document.createElement("video");
      Object.assign(video, { autoplay: true, muted: true, playsInline: true });
      element.firstElementChild.prepend(video);
      if (this.#hears) {
        const audio = document.createElement("audio");
        audio.autoplay = true;
        element.firstElementChild.prepend(audio);
      }
    }
    // The outline is always there, and seen while its participant speaks.
    const outline = document.createElement("div");
    outline.dataset.tid = "voice-level-stream-outline";
    element.firstElementChild.append(outline, this.#options(one.id));
    this.#tiles.set(one.id, element);
    this.#grid.insertBefore(element, this.#grid.lastElementChild);
    this.#play(one.id);
    return element;
  }

  #options(id) {
    const options = document.createElement("div");
    options.className = "options";
    const button = document.createElement("button");
    button.ariaLabel = say("More options");
    button.ariaHasPopup = "menu";
    button.textContent = "•••";
    button.addEventListener("click", () => {
      const open = options.querySelector(".menu");
      if (open) open.remove();
      else options.append(this.#menu(id));
    });
    options.append(button);
    return options;
  }

  #menu(id) {
    const menu = document.createElement("div");
    menu.className = "menu";
    menu.setAttribute("role", "menu");
    const pin = document.createElement("button");
    pin.setAttribute("role", "menuitem");
    pin.textContent = say(this.#pinned === id ? "Unpin" : "Pin for me");
    pin.addEventListener("click", () => {
      menu.remove();
      this.#pin(this.#pinned === id ? null : id);
    });
    menu.append(pin);
    return menu;
  }

  #pin(id) {
    if (id !== null) this.#stage.pin(id);
    this.#pinned = id;
    for (const [other, element] of this.#tiles) element.classList.toggle("pinned", other === id);
    this.#grid.classList.toggle("has-pinned", id !== null);
  }

  // speaking marks the tiles of those who speak.
  speaking(participants, speaks) {
    for (const one of participants) {
      this.#tiles.get(one.id)?.querySelector('[data-tid="voice-level-stream-outline"]')
        .classList.toggle("vdi-frame-occlusion", speaks(one));
    }
  }
}

// tile is a participant's place: the outer element is the participant's, the
// inner one that of what it sends, which bears the name.
function tile(name) {
  const outer = document.createElement("div");
  outer.className = "tile";
  outer.dataset.cid = "calling-participant-stream";
  const stream = document.createElement("div");
  stream.className = "stream";
  stream.dataset.streamType = "Video";
  stream.dataset.tid = name;
  stream.ariaLabel = name;
  const avatar = document.createElement("span");
  avatar.className = "avatar";
  avatar.textContent = [...name.trim()][0]?.toUpperCase() ?? "?";
  const label = document.createElement("span");
  label.className = "name";
  label.textContent = name;
  stream.append(avatar, label);
  outer.append(stream);
  return outer;
}
