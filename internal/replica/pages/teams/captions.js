// The live captions of a Teams meeting: a list that reuses its elements.

import { element } from "/assets/tilegrid.js";

const rows = 3;

export class Captions {
  #wrapper = null;
  #state = null; // the last one
  #call;

  constructor(call, more) {
    this.#call = call;
    more.addEventListener("click", () => this.#menu(more));
  }

  #menu(more) {
    const open = document.querySelector(".more-menu");
    if (open) {
      open.remove();
      return;
    }
    const menu = element("div", "more-menu");
    menu.setAttribute("role", "menu");
    const item = element("div", "", "Captions");
    item.setAttribute("role", "menuitem");
    item.tabIndex = 0;
    item.addEventListener("click", () => {
      menu.remove();
      this.#toggle();
    });
    menu.append(item);
    more.after(menu);
  }

  #toggle() {
    if (this.#wrapper) {
      this.#wrapper.remove();
      this.#wrapper = null;
      return;
    }
    this.#wrapper = element("div", "captions");
    this.#wrapper.dataset.tid = "closed-caption-renderer-wrapper";
    const list = element("div", "");
    list.dataset.tid = "closed-caption-v2-virtual-list-content";
    for (let i = 0; i < rows; i++) {
      const row = element("div", "");
      row.append(named("author"), named("closed-caption-text"));
      list.append(row);
    }
    this.#wrapper.append(list);
    this.#call.append(this.#wrapper);
    this.follow(this.#state);
  }

  // follow draws the last captions in the same rows.
  follow(state) {
    this.#state = state;
    if (!this.#wrapper) return;
    const shown = state.captions.slice(-rows);
    [...this.#wrapper.firstElementChild.children].forEach((row, index) => {
      row.firstElementChild.textContent = shown[index]?.from ?? "";
      row.lastElementChild.textContent = shown[index]?.text ?? "";
    });
  }
}

function named(tid) {
  const made = element("span", "");
  made.dataset.tid = tid;
  return made;
}
