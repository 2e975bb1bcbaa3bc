// The people and chat panels, chat notifications and notice dialogs of a Meet call.

import { fresh, say } from "/assets/language.js";
import { SidePanels } from "/assets/sidepanels.js";
import { element } from "/assets/tilegrid.js";
import { notices } from "./words.js";

export class Panels extends SidePanels {
  #tiles;

  constructor(call, stage, tiles) {
    super(call, stage, { people: call.querySelector("[data-people]"), chat: call.querySelector("[data-chat]") }, "toasts");
    this.#tiles = tiles;
  }

  content(name) {
    if (name === "chat") return [element("h2", "", say("In-call messages")), element("div", "history"), this.#writer()];
    const list = element("div", "");
    list.ariaLabel = say("Participants");
    list.setAttribute("role", "list");
    return [element("h2", "", say("People")), list];
  }

  #writer() {
    const writer = element("textarea", "");
    writer.ariaLabel = say("Send a message");
    writer.placeholder = say("Send a message");
    writer.maxLength = this.stage.state.meeting.maxMessageLen;
    return this.sendOnEnter(writer);
  }

  update(state) {
    this.panel.querySelector("[role=list]")?.replaceChildren(...this.#people(state));
    this.panel.querySelector(".history")?.replaceChildren(...state.messages.map((message) => {
      const item = messageElement(message);
      item.dataset.messageId = message.number;
      return item;
    }));
  }

  #people(state) {
    const self = { id: state.guest, name: state.name, self: true };
    return [self, ...state.participants].map((one) => {
      const item = element("div", "");
      item.setAttribute("role", "listitem");
      item.ariaLabel = one.name;
      item.dataset.participantId = this.#tiles.identity(one.id);
      item.append(element("span", "", one.name));
      if (one.self) item.append(element("span", "", " (You)"));
      return item;
    });
  }

  notification(message) { return messageElement(message, "bubble"); }
}

function messageElement(message, className = "") {
  const item = element("div", className);
  item.append(element("b", "", message.mine ? "You" : message.from), element("p", "", message.text));
  return item;
}

// Notices shows the first notice that is not accepted.
export class Notices {
  #shown = null;
  #element = null;

  follow(stage, leave) {
    const next = stage.state.state === "admitted" ? stage.state.notices[0] ?? null : null;
    if (next === this.#shown) return;
    this.#element?.remove();
    this.#shown = next;
    if (!next) return;
    this.#element = fresh("notice");
    this.#element.querySelector("[data-text]").textContent = say(notices[next]);
    this.#element.querySelector("[data-mdc-dialog-action=ok]").addEventListener("click", () => stage.accept(next));
    const leaving = this.#element.querySelector("[data-leave]");
    if (next === "shared") leaving.firstElementChild.textContent = say("Leave");
    leaving.addEventListener("click", leave);
    document.getElementById("dialogs").append(this.#element);
  }
}
