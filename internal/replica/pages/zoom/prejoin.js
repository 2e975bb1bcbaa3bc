// The pre-join screen: name, passcode, microphone and camera.

import { fresh, say } from "/assets/language.js";

export class PreJoin {
  #stage;
  #devices;
  #name;
  #passcode;
  #join;
  #named = false; // by trusted input events
  #submitting = false;

  constructor(root, stage, devices) {
    this.#stage = stage;
    this.#devices = devices;
    this.#name = root.querySelector("#input-for-name");
    this.#passcode = root.querySelector("#input-for-pwd");
    this.#join = root.querySelector(".preview-join-button");
    const label = stage.state.meeting.joinLabel;
    if (label) this.#join.firstElementChild.textContent = say(label);
    this.#name.maxLength = stage.state.meeting.maxNameLen;
    // Only trusted input events count.
    this.#name.addEventListener("input", (event) => {
      this.#named = event.isTrusted && this.#name.value.trim() !== "";
      this.#refresh();
    });
    this.#passcode.addEventListener("input", () => this.#refresh());
    this.#join.addEventListener("click", () => this.#submit());
    root.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target.matches("input")) this.#submit();
    });
    this.#name.focus();
    this.#requestDevices();
  }

  // follow shows whether the passcode is missing or wrong.
  follow(state) {
    const field = this.#passcode.closest("[data-passcode]");
    field.hidden = state.passcode === "";
    field.querySelector("[role=alert]").hidden = state.passcode !== "wrong";
    this.#refresh();
  }

  #refresh() {
    const incomplete = this.#stage.state.passcode !== "" && this.#passcode.value === "";
    this.#join.disabled = !this.#named || incomplete || this.#submitting;
    this.#join.classList.toggle("disabled", this.#join.disabled);
  }

  async #submit() {
    if (this.#join.disabled) return;
    this.#submitting = true;
    this.#refresh();
    try {
      await this.#stage.ask(this.#name.value, this.#passcode.value);
    } finally {
      this.#submitting = false;
      this.#refresh();
    }
  }

  async #requestDevices() {
    const granted = await this.#devices.request();
    // Without permission the dialog is shown twice, for each device.
    if (!granted) this.#showDeviceDialog(2);
    else if (this.#stage.state.meeting.deviceDialog) this.#showDeviceDialog(1);
  }

  #showDeviceDialog(times) {
    if (this.#stage.state.state !== "prejoin") return;
    const dialog = fresh("devices");
    dialog.querySelector("[data-use]").addEventListener("click", () => {
      dialog.remove();
      if (!this.#devices.stream) this.#requestDevices();
    });
    dialog.querySelector("[data-without]").addEventListener("click", () => {
      dialog.remove();
      this.#devices.set({ microphone: false, camera: false });
      if (times > 1) this.#showDeviceDialog(times - 1);
    });
    document.getElementById("dialogs").append(dialog);
  }
}
