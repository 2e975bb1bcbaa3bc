// The people and chat panels, chat notifications and banners of a Teams meeting.

import { fresh, say } from "/assets/language.js";
import { notices } from "./words.js";

export class Panels {
  #panel;
  #stage;
  #open = null; // "People", "Chat" or null
  #seen; // messages already shown

  constructor(call, stage) {
    this.#panel = call.querySelector(".panel");
    this.#stage = stage;
    call.querySelector("#roster-button").addEventListener("click", () => this.#toggle("People"));
    call.querySelector("#chat-button").addEventListener("click", () => this.#toggle("Chat"));
    this.#seen = stage.state.messages.length;
  }

  #toggle(name) {
    this.#open = this.#open === name ? null : name;
    this.#panel.hidden = !this.#open;
    this.#panel.dataset.tid = this.#open === "People" ? "calling-roster" : "calling-chat";
    this.#panel.replaceChildren();
    if (!this.#open) return;
    this.#panel.append(element("h2", say(name)));
    if (name === "People") this.#panel.append(list("tree", "Attendees"));
    if (name === "Chat") this.#panel.append(list("list", "Chat messages"), this.#writer());
    this.follow(this.#stage.state);
  }

  // writer returns a contenteditable element.
  #writer() {
    const writer = document.createElement("div");
    writer.className = "writer";
    writer.contentEditable = "plaintext-only";
    writer.setAttribute("role", "textbox");
    writer.ariaLabel = say("Type a message");
    writer.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      const text = writer.textContent.trim();
      writer.replaceChildren();
      if (text) this.#stage.chat(text);
    });
    return writer;
  }

  // follow updates the open panel and the notifications.
  follow(state) {
    for (const message of state.messages.slice(this.#seen)) {
      if (this.#open !== "Chat" && !message.mine) bubble(message);
    }
    this.#seen = state.messages.length;
    this.#panel.querySelector("[role=tree]")?.replaceChildren(...allPeople(state).map(attendee));
    this.#panel.querySelector("[role=list]")?.replaceChildren(...state.messages.map(messageElement));
  }
}

const allPeople = (state) => [{ name: state.name, self: true }, ...state.participants];

function attendee(one) {
  const item = document.createElement("div");
  item.setAttribute("role", "treeitem");
  item.dataset.tid = `participantsInCall-${one.name}`;
  item.ariaLabel = one.name;
  item.append(element("span", one.name));
  if (one.self) item.append(element("small", "You"));
  return item;
}

function messageElement(message) {
  const item = document.createElement("div");
  item.setAttribute("role", "listitem");
  item.dataset.tid = "chat-pane-item";
  const author = element("b", message.from);
  author.dataset.tid = "message-author-name";
  const text = element("div", message.text);
  text.dataset.tid = "chat-pane-message";
  item.append(author, text);
  if (message.mine) item.className = "mine";
  return item;
}

// bubble shows a notification for a message while the chat is closed.
function bubble(message) {
  const toast = document.createElement("div");
  toast.className = "bubble";
  toast.append(element("b", message.from), element("p", message.text));
  document.getElementById("toasts").append(toast);
  setTimeout(() => toast.remove(), 8000);
}

function list(role, label) {
  const made = document.createElement("div");
  made.className = "list";
  made.setAttribute("role", role);
  made.ariaLabel = say(label);
  return made;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

// Banners shows all notices that are not dismissed, and the banner for a lost
// connection.
export class Banners {
  #stage;
  #shown = "";

  constructor(stage) { this.#stage = stage; }

  follow(state) {
    const offline = document.getElementById("offline");
    offline.hidden = !state.offline;
    offline.textContent = state.offline ? say("Your network connection was lost. Trying to reconnect") : "";
    if (state.notices.join() === this.#shown) return;
    this.#shown = state.notices.join();
    document.getElementById("notices").replaceChildren(...state.notices.map((notice) => this.#banner(notice)));
  }

  #banner(notice) {
    const banner = fresh("notice");
    banner.querySelector("[data-text]").textContent = say(notices[notice]);
    banner.querySelector("[data-dismiss]").addEventListener("click", () => this.#stage.accept(notice));
    return banner;
  }
}
