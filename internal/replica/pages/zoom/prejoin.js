// The screen before the meeting: name, passcode, microphone and camera.

import { fresh, say } from "/assets/language.js";

export class PreJoin {
  #stage;
  #devices;
  #name;
  #passcode;
  #join;
  #named = false; // by keys that a person pressed
  #asking = false;

  constructor(root, stage, devices) {
    this.#stage = stage;
    this.#devices = devices;
    this.#name = root.querySelector("#input-for-name");
    this.#passcode = root.querySelector("#input-for-pwd");
    this.#join = root.querySelector(".preview-join-button");
    const label = stage.state.meeting.joinLabel;
    if (label) this.#join.firstElementChild.textContent = say(label);
    this.#name.maxLength = stage.state.meeting.maxNameLen;
    // A name that a script puts into the field does not count (platforms: rules
    // that cost others dearly).
    this.#name.addEventListener("input", (event) => {
      this.#named = event.isTrusted && this.#name.value.trim() !== "";
      this.#refresh();
    });
    this.#passcode.addEventListener("input", () => this.#refresh());
    this.#join.addEventListener("click", () => this.#ask());
    root.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target.matches("input")) this.#ask();
    });
    this.#name.focus();
    this.#requestDevices();
  }

  // follow shows whether a passcode is missing or was wrong.
  follow(state) {
    const field = this.#passcode.closest("[data-passcode]");
    field.hidden = state.passcode === "";
    field.querySelector("[role=alert]").hidden = state.passcode !== "wrong";
    this.#refresh();
  }

  #refresh() {
    const incomplete = this.#stage.state.passcode !== "" && this.#passcode.value === "";
    this.#join.disabled = !this.#named || incomplete || this.#asking;
    this.#join.classList.toggle("disabled", this.#join.disabled);
  }

  async #ask() {
    if (this.#join.disabled) return;
    this.#asking = true;
    this.#refresh();
    try {
      await this.#stage.ask(this.#name.value, this.#passcode.value);
    } finally {
      this.#asking = false;
      this.#refresh();
    }
  }

  async #requestDevices() {
    const granted = await this.#devices.request();
    // The question is put twice to who gives neither, as for each device.
    if (!granted) this.#question(2);
    else if (this.#stage.state.meeting.deviceDialog) this.#question(1);
  }

  #question(times) {
    if (this.#stage.state.state !== "prejoin") return;
    const dialog = fresh("devices");
    dialog.querySelector("[data-use]").addEventListener("click", () => {
      dialog.remove();
      if (!this.#devices.stream) this.#requestDevices();
    });
    dialog.querySelector("[data-without]").addEventListener("click", () => {
      dialog.remove();
      this.#devices.set({ microphone: false, camera: false });
      if (times > 1) this.#question(times - 1);
    });
    document.getElementById("dialogs").append(dialog);
  }
}
