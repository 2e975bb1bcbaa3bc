// The people and chat panels, chat notifications and banners of a Teams meeting.

import { fresh, say } from "/assets/language.js";
import { SidePanels } from "/assets/sidepanels.js";
import { element } from "/assets/tilegrid.js";
import { notices } from "./words.js";

export class Panels extends SidePanels {
  constructor(call, stage) {
    super(call, stage, { people: call.querySelector("#roster-button"), chat: call.querySelector("#chat-button") }, "toasts");
  }

  content(name) {
    this.panel.dataset.tid = name === "people" ? "calling-roster" : "calling-chat";
    if (name === "people") return [element("h2", "", say("People")), list("tree", "Attendees")];
    return [element("h2", "", say("Chat")), list("list", "Chat messages"), this.#writer()];
  }

  // writer returns a contenteditable element.
  #writer() {
    const writer = element("div", "writer");
    writer.contentEditable = "plaintext-only";
    writer.setAttribute("role", "textbox");
    writer.ariaLabel = say("Type a message");
    return this.sendOnEnter(writer);
  }

  update(state) {
    this.panel.querySelector("[role=tree]")?.replaceChildren(...allPeople(state).map(attendee));
    this.panel.querySelector("[role=list]")?.replaceChildren(...state.messages.map(messageElement));
  }

  notification(message) {
    const toast = element("div", "bubble");
    toast.append(element("b", "", message.from), element("p", "", message.text));
    return toast;
  }
}

const allPeople = (state) => [{ name: state.name, self: true }, ...state.participants];

function attendee(one) {
  const item = element("div", "");
  item.setAttribute("role", "treeitem");
  item.dataset.tid = `participantsInCall-${one.name}`;
  item.ariaLabel = one.name;
  item.append(element("span", "", one.name));
  if (one.self) item.append(element("small", "", "You"));
  return item;
}

function messageElement(message) {
  const item = element("div", message.mine ? "mine" : "");
  item.setAttribute("role", "listitem");
  item.dataset.tid = "chat-pane-item";
  const author = element("b", "", message.from);
  author.dataset.tid = "message-author-name";
  const text = element("div", "", message.text);
  text.dataset.tid = "chat-pane-message";
  item.append(author, text);
  return item;
}

function list(role, label) {
  const made = element("div", "list");
  made.setAttribute("role", role);
  made.ariaLabel = say(label);
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
