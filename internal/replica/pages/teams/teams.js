// The Teams page.

import { hideBar, showTip } from "/assets/bar.js";
import { Devices } from "/assets/devices.js";
import { fresh, say } from "/assets/language.js";
import { NoMeeting, Stage } from "/assets/stage.js";
import { initial } from "/assets/tilegrid.js";
import { meetingAddress } from "./address.js";
import { Captions } from "./captions.js";
import { Banners, Panels } from "./panels.js";
import { Tiles } from "./tiles.js";
import { screens, speak } from "./words.js";

const screen = document.getElementById("screen");
const dialogs = document.getElementById("dialogs");
const { code, passcode } = meetingAddress(location.href);
const stage = new Stage(code, passcode);
const devices = new Devices(stage, showDevices);
const banners = new Banners(stage);

let shown = null; // current screen
let withAudio = true; // false if the guest joins without audio
let tiles = null;
let panels = null;
let captions = null;
let joinedAt = 0;

// ---- devices

const labels = {
  microphone: { true: "Mute mic", false: "Unmute mic" },
  camera: { true: "Turn camera off", false: "Turn camera on" },
};

function showDevices() {
  for (const button of document.querySelectorAll("[data-device]")) {
    const on = devices[button.dataset.device];
    button.ariaChecked = String(on);
    button.ariaLabel = say(labels[button.dataset.device][on]);
    button.classList.toggle("off", !on);
    button.disabled = !devices.stream || button.dataset.device === "microphone" && !withAudio;
  }
  const share = screen.querySelector("#screenshare-button");
  if (share) share.ariaLabel = say(devices.screen ? "Stop sharing" : "Share");
  const preview = document.querySelector(".preview video");
  if (preview) devices.preview(preview);
}

// shareMenu opens the menu of the share button, or ends the screen share.
function shareMenu(call) {
  const menu = call.querySelector(".share-menu");
  call.querySelector("#screenshare-button").addEventListener("click", () => {
    if (devices.screen) devices.toggle("screen");
    else menu.hidden = !menu.hidden;
  });
  menu.querySelector("button").addEventListener("click", () => {
    menu.hidden = true;
    devices.toggle("screen");
  });
}

// withoutDevices shows the dialog about missing devices and waits for the confirmation.
function withoutDevices() {
  const dialog = fresh("devices");
  dialogs.append(dialog);
  return new Promise((resolve) => {
    dialog.querySelector("[data-without]").addEventListener("click", () => {
      dialog.remove();
      devices.set({ microphone: false, camera: false });
      resolve();
    });
  });
}

// ---- screens

function showPasscode() {
  const input = screen.querySelector("input");
  const submit = () => stage.passcode(input.value);
  screen.querySelector("[data-passcode]").addEventListener("click", submit);
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") submit(); });
  input.focus();
}

async function showPreJoin(state) {
  const input = screen.querySelector('[data-tid="prejoin-display-name-input"]');
  const join = screen.querySelector('[data-tid="prejoin-join-button"]');
  input.maxLength = state.meeting.maxNameLen;
  join.textContent = say(state.meeting.joinLabel || "Join now");
  // Only trusted input events enable the button.
  input.addEventListener("input", (event) => {
    if (event.isTrusted) join.disabled = input.value.trim() === "";
  });
  join.addEventListener("click", async () => {
    join.disabled = true;
    if (state.meeting.devicesAfterJoin) await withoutDevices();
    stage.ask(input.value);
  });
  for (const choice of screen.querySelectorAll("[name=audio]")) {
    choice.addEventListener("change", () => {
      withAudio = choice.value === "computer";
      if (!withAudio) devices.set({ microphone: false });
      showDevices();
    });
  }
  screen.querySelector("[data-cancel]").addEventListener("click", () => location.assign("/"));
  input.focus();
  const granted = await devices.request();
  if (shown === "prejoin" && (!granted || state.meeting.devicesBeforeJoin)) await withoutDevices();
}

function showWaiting(state) {
  screen.querySelector("[data-greeting]").textContent = state.name;
  screen.querySelector("[data-text]").textContent = say(state.text || screens[state.state]);
  screen.querySelector(".avatar").textContent = initial(state.name);
  screen.querySelector("#hangup-button").addEventListener("click", () => stage.leave());
}

function showCall(state) {
  const call = screen.firstElementChild;
  joinedAt = performance.now();
  tiles = new Tiles(call, stage, withAudio);
  panels = new Panels(call, stage);
  captions = new Captions(call, call.querySelector("#callingButtons-showMoreBtn"));
  call.querySelector("#hangup-button").addEventListener("click", () => stage.leave());
  shareMenu(call);
  if (state.meeting.tips) showTip(dialogs);
  hideBar(call.querySelector(".bar"));
}

function showMessage(state) {
  devices.stop();
  screen.querySelector("[data-text]").textContent = say(state.text || screens[state.state]);
  screen.querySelector("[data-home]")?.addEventListener("click", () => location.assign("/"));
  screen.querySelector("[data-rejoin]")?.addEventListener("click", () => location.reload());
}

// ---- state

const templates = {
  prejoin: ["prejoin", showPreJoin],
  passcode: ["passcode", showPasscode],
  lobby: ["waiting", showWaiting],
  waiting_for_host: ["waiting", showWaiting],
  admitted: ["call", showCall],
  ended: ["over", showMessage],
  left: ["over", showMessage],
  not_found: ["notfound", showMessage],
  sign_in: ["signin", () => {}],
  sign_in_needed: ["signinneeded", showMessage],
  captcha: ["captcha", showMessage],
};

// screenOf returns the screen for a state. Two states have two screens.
function screenOf(state) {
  if (state.state === "prejoin" && state.passcode) return "passcode";
  if (state.state === "sign_in" && state.text) return "sign_in_needed";
  return state.state;
}

function render(state) {
  const wanted = screenOf(state);
  if (wanted !== shown) {
    shown = wanted;
    document.onmousemove = null;
    dialogs.replaceChildren();
    const [template, show] = templates[shown] ?? ["retry", showMessage];
    screen.replaceChildren(fresh(template));
    show(state);
    showDevices();
  }
  if (shown === "admitted") {
    tiles.update(state.participants);
    panels.follow(state);
    captions.follow(state);
  }
  banners.follow(state);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-device]");
  if (button) devices.toggle(button.dataset.device);
});

setInterval(() => {
  if (shown !== "admitted") return;
  tiles.showSpeaking(stage.state.participants, (participant) => stage.isSpeaking(participant));
  const passed = Math.floor((performance.now() - joinedAt) / 1000);
  screen.querySelector("[data-time]").textContent =
    [passed / 60, passed % 60].map((part) => String(Math.floor(part)).padStart(2, "0")).join(":");
}, 200);

stage.onState = (state) => {
  if (shown === null) speak(state.meeting.language);
  render(state);
};
stage.onStream = (id, media) => tiles?.setStream(id, media);

try {
  await stage.enter();
} catch (error) {
  if (!(error instanceof NoMeeting)) throw error;
  speak("en");
  render({ state: "not_found", text: "", notices: [], offline: false });
}
