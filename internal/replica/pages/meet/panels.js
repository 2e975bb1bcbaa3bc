// The people and chat panels, chat notifications and notice dialogs of a Meet call.

import { fresh, say } from "/assets/language.js";
import { notices } from "./words.js";

export class Panels {
  #panel;
  #stage;
  #tiles;
  #open = null; // "people", "chat" or null
  #seen = 0; // messages already shown

  constructor(call, stage, tiles) {
    this.#panel = call.querySelector(".panel");
    this.#stage = stage;
    this.#tiles = tiles;
    call.querySelector("[data-people]").addEventListener("click", () => this.#toggle("people"));
    call.querySelector("[data-chat]").addEventListener("click", () => this.#toggle("chat"));
    this.#seen = stage.state.messages.length;
  }

  #toggle(name) {
    this.#open = this.#open === name ? null : name;
    this.#panel.replaceChildren();
    this.#panel.hidden = !this.#open;
    if (this.#open === "people") this.#panel.append(heading("People"), this.#list());
    if (this.#open === "chat") this.#panel.append(heading("In-call messages"), this.#history(), this.#writer());
    this.follow(this.#stage.state);
  }

  #list() {
    const list = document.createElement("div");
    list.ariaLabel = say("Participants");
    list.setAttribute("role", "list");
    return list;
  }

  #history() {
    const history = document.createElement("div");
    history.className = "history";
    return history;
  }

  #writer() {
    const writer = document.createElement("textarea");
    writer.ariaLabel = say("Send a message");
    writer.placeholder = say("Send a message");
    writer.maxLength = this.#stage.state.meeting.maxMessageLen;
    writer.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      const text = writer.value.trim();
      writer.value = "";
      if (text) this.#stage.chat(text);
    });
    return writer;
  }

  // follow updates the open panel and the notifications.
  follow(state) {
    for (const message of state.messages.slice(this.#seen)) {
      if (this.#open !== "chat" && !message.mine) bubble(message);
    }
    this.#seen = state.messages.length;
    const list = this.#panel.querySelector("[role=list]");
    list?.replaceChildren(...this.#people(state));
    const history = this.#panel.querySelector(".history");
    history?.replaceChildren(...state.messages.map((message) => {
      const element = messageElement(message);
      element.dataset.messageId = message.number;
      return element;
    }));
  }

  #people(state) {
    const self = { id: state.guest, name: state.name, self: true };
    return [self, ...state.participants].map((one) => {
      const item = document.createElement("div");
      item.setAttribute("role", "listitem");
      item.ariaLabel = one.name;
      item.dataset.participantId = this.#tiles.identity(one.id);
      const name = document.createElement("span");
      name.textContent = one.name;
      item.append(name);
      if (one.self) {
        const you = document.createElement("span");
        you.textContent = " (You)";
        item.append(you);
      }
      return item;
    });
  }
}

function heading(text) {
  const element = document.createElement("h2");
  element.textContent = say(text);
  return element;
}

function messageElement(message) {
  const element = document.createElement("div");
  const from = document.createElement("b");
  from.textContent = message.mine ? "You" : message.from;
  const text = document.createElement("p");
  text.textContent = message.text;
  element.append(from, text);
  return element;
}

// bubble shows a notification for a message while the chat is closed.
function bubble(message) {
  const element = messageElement(message);
  element.className = "bubble";
  document.getElementById("toasts").append(element);
  setTimeout(() => element.remove(), 8000);
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
    this.#element.querySelector("[data-leave]").addEventListener("click", leave);
    document.getElementById("dialogs").append(this.#element);
  }
}
