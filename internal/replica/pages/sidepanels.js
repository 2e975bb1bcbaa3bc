// The side panels of a call and the notifications of chat messages, as far as they are the
// same on all platforms. Each platform's subclass has content(name), which returns the elements
// of a panel, update(state), which fills them, and notification(message).

const notificationMs = 8000;

export class SidePanels {
  #seen; // messages already shown
  #notifications; // element that contains the notifications
  open = null; // name of the open panel

  // buttons has the button of each panel by the name of the panel. The chat's name is "chat".
  constructor(call, stage, buttons, notifications) {
    this.panel = call.querySelector(".panel");
    this.stage = stage;
    this.#notifications = notifications;
    for (const [name, button] of Object.entries(buttons)) button.addEventListener("click", () => this.#toggle(name));
    this.#seen = stage.state.messages.length;
  }

  #toggle(name) {
    this.open = this.open === name ? null : name;
    this.panel.hidden = !this.open;
    this.panel.replaceChildren(...this.open ? this.content(this.open) : []);
    this.follow(this.stage.state);
  }

  // follow updates the open panel, and shows new messages while the chat is closed.
  follow(state) {
    for (const message of state.messages.slice(this.#seen)) {
      if (this.open === "chat" || message.mine) continue;
      const notification = this.notification(message);
      document.getElementById(this.#notifications).append(notification);
      setTimeout(() => notification.remove(), notificationMs);
    }
    this.#seen = state.messages.length;
    this.update(state);
  }

  // sendOnEnter sends the text of a chat input when Enter is pressed.
  sendOnEnter(input) {
    const content = "value" in input ? "value" : "textContent";
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey) return;
      event.preventDefault();
      const text = input[content].trim();
      input[content] = "";
      if (text) this.stage.chat(text);
    });
    return input;
  }
}
