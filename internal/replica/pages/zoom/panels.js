// The participants and chat panels and chat notifications of a Zoom meeting.

import { say } from "/assets/language.js";
import { SidePanels } from "/assets/sidepanels.js";
import { element } from "/assets/tilegrid.js";
import { people, roles } from "./words.js";

export class Panels extends SidePanels {
  #participants; // button
  #chat;

  constructor(call, stage) {
    const participants = call.querySelector("[data-participants]"), chat = call.querySelector("[data-chat]");
    super(call, stage, { participants, chat }, "notifications");
    this.#participants = participants;
    this.#chat = chat;
  }

  content(name) {
    if (name === "chat") return [element("h2", "", say("Chat")), messageList(), this.#writer()];
    const list = element("ul", "participants-ul");
    list.id = "participants-ul";
    list.ariaLabel = say("Participants list");
    return [element("h2", "", say("Participants")), list];
  }

  // update updates the open panel and the buttons.
  update(state) {
    const count = state.participants.length + 1; // including this guest
    this.#participants.ariaLabel = people(count, this.open === "participants");
    this.#participants.querySelector("[data-count]").textContent = count;
    this.#chat.ariaLabel = say(`${this.open === "chat" ? "close" : "open"} the chat panel`);
    this.panel.querySelector("#participants-ul")?.replaceChildren(...this.#entries(state));
    this.panel.querySelector(".chat-message-list")?.replaceChildren(...state.messages.map(messageElement));
  }

  // entries returns the guest and then the other participants, the first of whom is the
  // host.
  #entries(state) {
    const self = { name: state.name, muted: !this.stage.microphone?.enabled };
    return [self, ...state.participants].map((one, place) => {
      const label = roles(place === 1, place === 0);
      const item = element("li", "participants-li");
      item.ariaLabel = label ? `${one.name} ${label}` : one.name;
      item.append(element("span", "participants-item__display-name", one.name));
      if (label) item.append(element("span", "participants-item__name-label", label));
      item.classList.toggle("muted", one.muted);
      return item;
    });
  }

  #writer() {
    const box = element("div", "chat-rtf-box");
    const writer = element("textarea", "chat-box__chat-textarea");
    writer.ariaLabel = say("Type message here ...");
    writer.placeholder = say("Type message here ...");
    writer.maxLength = this.stage.state.meeting.maxMessageLen;
    box.append(element("p", "chat-receiver", `${say("To:")} ${say("Everyone")}`), this.sendOnEnter(writer));
    return box;
  }

  notification(message) {
    const made = element("div", "chat-notification");
    made.append(element("span", "chat-notification__name", message.from), element("span", "chat-notification__text", message.text));
    return made;
  }
}

function messageList() {
  const list = element("div", "chat-message-list");
  list.setAttribute("role", "list");
  list.ariaLabel = say("Chat Message List");
  return list;
}

function messageElement(message) {
  const item = element("div", "chat-item-container");
  item.id = `chat-message-${message.number}`;
  item.setAttribute("role", "listitem");
  item.classList.toggle("chat-item-container--mine", message.mine);
  const sender = element("span", "chat-item__sender", message.mine ? say("You") : message.from);
  sender.dataset.name = message.from;
  item.append(sender, element("span", "chat-item__receiver", say("Everyone")), element("span", "chat-message__text-box", message.text));
  return item;
}
