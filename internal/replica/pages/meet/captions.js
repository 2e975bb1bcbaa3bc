// The live captions of a Meet call.

const maxLines = 3;

export class Captions {
  #region;
  #lines = new Map(); // elements by the number of their first caption
  #on = false;
  #language = "en-US";

  constructor(call) {
    this.#region = document.createElement("div");
    this.#region.className = "captions";
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
      const element = this.#lines.get(line.number) ?? newLine(line);
      element.querySelector(".ygicle").textContent = line.text;
      return [line.number, element];
    });
    this.#lines = new Map(elements);
    this.#region.replaceChildren(...this.#lines.values());
  }
}

function newLine(line) {
  const element = document.createElement("div");
  element.className = "nMcdL bj4p3b";
  const name = document.createElement("span");
  name.className = "NWpY1d";
  name.textContent = line.from;
  const head = document.createElement("div");
  head.className = "adE6rb";
  head.append(name);
  const text = document.createElement("div");
  text.className = "ygicle VbkSUe";
  element.append(head, text);
  return element;
}
