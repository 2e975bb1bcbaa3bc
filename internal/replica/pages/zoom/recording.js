// Recording by the guest: the menu item and the request for permission.

import { say } from "/assets/language.js";
import { button, modal } from "./modal.js";
import { permissions } from "./words.js";

export class Recording {
  #stage;
  #item;
  #indicator;
  #permission = ""; // last known
  #recording = false;

  constructor(call, stage) {
    this.#stage = stage;
    this.#item = call.querySelector("[data-record]");
    this.#indicator = call.querySelector(".recording-indicator");
    this.#permission = stage.state.permission;
    this.#item.addEventListener("click", () => this.#record());
  }

  #record() {
    if (this.#permission !== "granted") {
      this.#requestPermission();
      return;
    }
    this.#recording = !this.#recording;
    this.#item.textContent = say(this.#recording ? "Stop Recording" : "Record");
    this.#item.ariaLabel = this.#item.textContent;
    this.#indicator.hidden = !this.#recording;
  }

  #requestPermission() {
    modal({
      title: "Permission needed from Meeting Host",
      content: "You need the host's permission to record this meeting.",
      buttons: [["Close", () => {}], ["Request Permission", () => {
        if (this.#permission !== "asked") this.#stage.requestPermission();
      }]],
    });
  }

  // follow shows the response to the request.
  follow(state) {
    if (state.permission === this.#permission) return;
    this.#permission = state.permission;
    if (permissions[state.permission]) notify(say(permissions[state.permission]));
  }
}

// notify shows a notification until it is closed.
function notify(text) {
  const notification = document.createElement("div");
  notification.className = "zm-notification";
  notification.setAttribute("role", "alert");
  const message = document.createElement("span");
  message.textContent = text;
  const close = button("Close", () => notification.remove());
  notification.append(message, close);
  for (const earlier of document.querySelectorAll(".zm-notification")) earlier.remove();
  document.getElementById("notifications").append(notification);
}
