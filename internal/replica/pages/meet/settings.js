// The settings of a Meet call, with the language of captions.

import { element } from "/assets/tilegrid.js";

const languages = { "en-US": "English", "de-DE": "German (Germany)", "es-ES": "Spanish (Spain)", "es-MX": "Spanish (Mexico)" };

export class CallSettings {
  #button;
  #choose; // is called with the tag of the chosen language

  constructor(button, choose) {
    this.#button = button;
    this.#choose = choose;
    button.addEventListener("click", () => this.#toggleMenu());
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") document.querySelector(".more-menu")?.remove();
    });
  }

  #toggleMenu() {
    const open = document.querySelector(".more-menu");
    if (open) {
      open.remove();
      return;
    }
    const menu = element("ul", "more-menu");
    menu.role = "menu";
    const item = element("li", "");
    item.role = "menuitem";
    item.tabIndex = 0;
    item.append(element("span", "", "Settings"));
    item.addEventListener("click", () => {
      menu.remove();
      this.#openDialog();
    });
    menu.append(item);
    this.#button.after(menu);
  }

  #openDialog() {
    const dialog = element("div", "settings");
    dialog.role = "dialog";
    dialog.ariaModal = "true";
    const panel = document.createElement("div");
    const close = element("button", "", "×");
    close.ariaLabel = "Close dialog";
    close.addEventListener("click", () => dialog.remove());
    const tab = element("button", "", "Captions");
    tab.ariaLabel = "Captions";
    tab.addEventListener("click", () => panel.replaceChildren(this.#list()));
    dialog.append(close, tab, panel);
    document.body.append(dialog);
  }

  #list() {
    const list = element("ul", "");
    list.role = "listbox";
    list.ariaLabel = "Meeting language";
    list.append(...Object.entries(languages).map(([tag, name]) => {
      const option = element("li", "", name);
      option.role = "option";
      option.dataset.value = tag;
      option.addEventListener("click", () => this.#choose(tag));
      return option;
    }));
    return list;
  }
}
