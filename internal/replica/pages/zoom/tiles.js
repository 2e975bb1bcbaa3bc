// The gallery: a tile for everybody. Each remote participant has a silent picture
// and an element that plays the sound, both of one stream.

import { say } from "/assets/language.js";
import { moreOptions } from "./words.js";

const frameClass = "gallery-video-container__video-frame";

export class Tiles {
  #stage;
  #gallery;
  #streams = new Map(); // participant id → MediaStream
  #tiles = new Map(); // participant id → element
  #pinned = null;

  constructor(call, stage) {
    this.#stage = stage;
    this.#gallery = call.querySelector(".gallery-video-container");
    // The guest's own tile is there twice, in the gallery and floating above it
    // (platforms: rules that cost others dearly).
    const { name } = stage.state;
    this.#gallery.append(tile(name));
    call.querySelector(".self-video").append(tile(name));
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
    this.#gallery.dataset.count = Math.min(this.#tiles.size + 1, 10);
  }

  #add(one) {
    const element = tile(one.name);
    if (one.media) {
      const video = document.createElement("video");
      Object.assign(video, { autoplay: true, muted: true, playsInline: true });
      const audio = document.createElement("audio");
      audio.autoplay = true;
      element.firstElementChild.prepend(video, audio);
    }
    element.append(this.#options(one));
    this.#tiles.set(one.id, element);
    this.#gallery.insertBefore(element, this.#gallery.lastElementChild);
    this.#play(one.id);
    return element;
  }

  // options are the three dots of a tile and the menu behind them.
  #options(one) {
    const options = document.createElement("div");
    options.className = "avatar-more";
    const dots = document.createElement("button");
    dots.type = "button";
    dots.textContent = "•••";
    dots.ariaLabel = moreOptions(one.name);
    const menu = document.createElement("div");
    menu.className = "dropdown-menu";
    menu.setAttribute("role", "menu");
    menu.hidden = true;
    const pin = document.createElement("a");
    pin.className = "dropdown-item";
    pin.tabIndex = 0;
    pin.setAttribute("role", "menuitem");
    menu.append(pin);
    dots.addEventListener("click", () => {
      menu.hidden = !menu.hidden;
      pin.textContent = say(this.#pinned === one.id ? "Remove Pin" : "Pin");
    });
    pin.addEventListener("click", () => {
      menu.hidden = true;
      this.#pin(this.#pinned === one.id ? null : one.id);
    });
    options.append(dots, menu);
    return options;
  }

  #pin(id) {
    this.#pinned = id;
    for (const [other, element] of this.#tiles) element.classList.toggle("pinned", other === id);
    this.#gallery.classList.toggle("has-pinned", id !== null);
    if (id !== null) this.#stage.pin(id);
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
    audio.srcObject = stream;
    audio.play().catch((problem) => console.warn("sound does not play:", problem));
  }

  // speaking marks the tiles of those who speak.
  speaking(participants, speaks) {
    for (const one of participants) {
      this.#tiles.get(one.id)?.classList.toggle(`${frameClass}--active`, speaks(one));
    }
  }
}

function tile(name) {
  const frame = document.createElement("div");
  frame.className = frameClass;
  const avatar = document.createElement("div");
  avatar.className = "video-avatar__avatar";
  const letter = document.createElement("span");
  letter.className = "video-avatar__avatar-title";
  letter.textContent = [...name.trim()][0]?.toUpperCase() ?? "?";
  const footer = document.createElement("div");
  footer.className = "video-avatar__avatar-footer";
  const label = document.createElement("span");
  label.textContent = name;
  footer.append(label);
  avatar.append(letter, footer);
  frame.append(avatar);
  return frame;
}
