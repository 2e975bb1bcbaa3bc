// The participants and chat panels and chat notifications of a Zoom meeting.

import { say } from "/assets/language.js";
import { people, roles } from "./words.js";

const notificationMs = 8000;

export class Panels {
  #stage;
  #panel;
  #participants; // button
  #chat;
  #open = null; // "participants", "chat" or null
  #seen; // messages already shown

  constructor(call, stage) {
    this.#stage = stage;
    this.#panel = call.querySelector(".panel");
    this.#participants = call.querySelector("[data-participants]");
    this.#chat = call.querySelector("[data-chat]");
    this.#participants.addEventListener("click", () => this.#toggle("participants"));
    this.#chat.addEventListener("click", () => this.#toggle("chat"));
    this.#seen = stage.state.messages.length;
  }

  #toggle(name) {
    this.#open = this.#open === name ? null : name;
    this.#panel.replaceChildren();
    this.#panel.hidden = !this.#open;
    if (this.#open === "participants") this.#panel.append(heading("Participants"), participantList());
    if (this.#open === "chat") this.#panel.append(heading("Chat"), messageList(), this.#writer());
    this.follow(this.#stage.state);
  }

  // follow updates the open panel, the buttons and the notifications.
  follow(state) {
    const count = state.participants.length + 1; // including this guest
    this.#participants.ariaLabel = people(count, this.#open === "participants");
    this.#participants.querySelector("[data-count]").textContent = count;
    this.#chat.ariaLabel = say(`${this.#open === "chat" ? "close" : "open"} the chat panel`);
    for (const message of state.messages.slice(this.#seen)) {
      if (this.#open !== "chat" && !message.mine) notify(message);
    }
    this.#seen = state.messages.length;
    this.#panel.querySelector("#participants-ul")?.replaceChildren(...this.#entries(state));
    this.#panel.querySelector(".chat-message-list")?.replaceChildren(...state.messages.map(messageElement));
  }

  // entries returns the guest and then the other participants, the first of whom is the
  // host.
  #entries(state) {
    const self = { name: state.name, muted: !this.#stage.microphone?.enabled };
    return [self, ...state.participants].map((one, place) => {
      const label = roles(place === 1, place === 0);
      const item = document.createElement("li");
      item.className = "participants-li";
      item.ariaLabel = label ? `${one.name} ${label}` : one.name;
      item.append(span("participants-item__display-name", one.name));
      if (label) item.append(span("participants-item__name-label", label));
      item.classList.toggle("muted", one.muted);
      return item;
    });
  }

  #writer() {
    const box = document.createElement("div");
    box.className = "chat-rtf-box";
    const to = document.createElement("p");
    to.className = "chat-receiver";
    to.textContent = `${say("To:")} ${say("Everyone")}`;
    const writer = document.createElement("textarea");
    writer.className = "chat-box__chat-textarea";
    writer.ariaLabel = say("Type message here ...");
    writer.placeholder = say("Type message here ...");
    writer.maxLength = this.#stage.state.meeting.maxMessageLen;
    writer.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      const text = writer.value.trim();
      writer.value = "";
      if (text) this.#stage.chat(text);
    });
    box.append(to, writer);
    return box;
  }
}

function heading(text) {
  const element = document.createElement("h2");
  element.textContent = say(text);
  return element;
}

function participantList() {
  const list = document.createElement("ul");
  list.id = "participants-ul";
  list.className = "participants-ul";
  list.ariaLabel = say("Participants list");
  return list;
}

function messageList() {
  const list = document.createElement("div");
  list.className = "chat-message-list";
  list.setAttribute("role", "list");
  list.ariaLabel = say("Chat Message List");
  return list;
}

function messageElement(message) {
  const item = document.createElement("div");
  item.id = `chat-message-${message.number}`;
  item.className = "chat-item-container";
  item.setAttribute("role", "listitem");
  item.classList.toggle("chat-item-container--mine", message.mine);
  const sender = span("chat-item__sender", message.mine ? say("You") : message.from);
  sender.dataset.name = message.from;
  item.append(sender, span("chat-item__receiver", say("Everyone")), span("chat-message__text-box", message.text));
  return item;
}

// notify shows a notification for a message while the chat is closed.
function notify(message) {
  const element = document.createElement("div");
  element.className = "chat-notification";
  element.append(span("chat-notification__name", message.from), span("chat-notification__text", message.text));
  document.getElementById("notifications").append(element);
  setTimeout(() => element.remove(), notificationMs);
}

function span(className, text) {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = text;
  return element;
}
