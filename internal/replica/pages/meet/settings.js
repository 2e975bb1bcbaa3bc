// The settings of a Meet call, with the language of captions.

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
    menu.setAttribute("role", "menu");
    const item = element("li", "", "menuitem");
    item.tabIndex = 0;
    item.append(Object.assign(document.createElement("span"), { textContent: "Settings" }));
    item.addEventListener("click", () => {
      menu.remove();
      this.#openDialog();
    });
    menu.append(item);
    this.#button.after(menu);
  }

  #openDialog() {
    const dialog = element("div", "settings", "dialog");
    dialog.ariaModal = "true";
    const panel = document.createElement("div");
    const close = element("button");
    close.ariaLabel = "Close dialog";
    close.textContent = "×";
    close.addEventListener("click", () => dialog.remove());
    const tab = element("button");
    tab.ariaLabel = tab.textContent = "Captions";
    tab.addEventListener("click", () => panel.replaceChildren(this.#list()));
    dialog.append(close, tab, panel);
    document.body.append(dialog);
  }

  #list() {
    const list = element("ul", "", "listbox");
    list.ariaLabel = "Meeting language";
    list.append(...Object.entries(languages).map(([tag, name]) => {
      const option = element("li", "", "option");
      option.dataset.value = tag;
      option.textContent = name;
      option.addEventListener("click", () => this.#choose(tag));
      return option;
    }));
    return list;
  }
}

function element(name, className, role) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (role) made.setAttribute("role", role);
  return made;
}
