// The live captions of a Zoom meeting: one line, without the name of the participant.

import { element } from "/assets/tilegrid.js";
import { modal } from "./modal.js";

const maxWords = 12;

export class Captions {
  #client;
  #box = null;
  #state = null; // the last one
  #asked = false; // for the spoken language

  constructor(client, item) {
    this.#client = client;
    item.addEventListener("click", () => this.#choose());
  }

  #choose() {
    if (this.#asked) {
      this.#toggle();
      return;
    }
    this.#asked = true;
    modal({
      title: "Set the language that is spoken for captions",
      content: "Everyone in this meeting gets captions in this language.",
      buttons: [["Cancel", () => { this.#asked = false; }], ["Save", () => this.#toggle()]],
    });
  }

  #toggle() {
    if (this.#box) {
      this.#box.remove();
      this.#box = null;
      return;
    }
    this.#box = element("div", "live-transcription-subtitle__box");
    this.#box.id = "live-transcription-subtitle";
    this.#box.append(element("span", "live-transcription-subtitle__item"));
    this.#client.append(this.#box);
    this.follow(this.#state);
  }

  // follow draws the last words of the last caption.
  follow(state) {
    this.#state = state;
    if (!this.#box) return;
    const words = (state.captions.at(-1)?.text ?? "").split(" ");
    this.#box.firstElementChild.textContent = words.slice(-maxWords).join(" ");
  }
}
