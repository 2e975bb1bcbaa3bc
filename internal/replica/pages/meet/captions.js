// The live captions of a Meet call.

import { element } from "/assets/tilegrid.js";

const maxLines = 3;

export class Captions {
  #region;
  #lines = new Map(); // elements by the number of their first caption
  #on = false;
  #language = "en-US";

  constructor(call) {
    this.#region = element("div", "captions");
    this.#region.setAttribute("role", "region");
    this.#region.ariaLabel = "Captions";
    call.append(this.#region);
  }

  turn(on) {
    this.#on = on;
    this.#region.hidden = !on;
  }

  speak(language) {
    this.#language = language;
  }

  // heard returns the words of a caption: other ones if another language is spoken.
  #heard(caption) {
    if (!caption.language || caption.language === this.#language) return caption.text;
    return caption.text.split(" ").map(() => "hm").join(" ");
  }

  // follow draws the last lines. What one participant says in a row is one line.
  follow(state) {
    const lines = [];
    for (const spoken of state.captions) {
      const caption = { ...spoken, text: this.#heard(spoken) };
      const last = lines[lines.length - 1];
      if (last?.from === caption.from) last.text += ` ${caption.text}`;
      else lines.push(caption);
    }
    const shown = this.#on ? lines.slice(-maxLines) : [];
    const elements = shown.map((line) => {
      const drawn = this.#lines.get(line.number) ?? newLine(line);
      drawn.querySelector(".ygicle").textContent = line.text;
      return [line.number, drawn];
    });
    this.#lines = new Map(elements);
    this.#region.replaceChildren(...this.#lines.values());
  }
}

function newLine({ from }) {
  const line = element("div", "nMcdL bj4p3b");
  const head = element("div", "adE6rb");
  head.append(element("span", "NWpY1d", from));
  line.append(head, element("div", "ygicle VbkSUe"));
  return line;
}
