// The Teams page: it draws the state that the stage reports, in Teams' elements.

import { Devices } from "/assets/devices.js";
import { fresh, say } from "/assets/language.js";
import { NoMeeting, Stage } from "/assets/stage.js";
import { meetingAddress } from "./address.js";
import { Banners, Panels } from "./panels.js";
import { Tiles } from "./tiles.js";
import { screens, speak } from "./words.js";

const barStays = 4000; // ms after the last move of the mouse

const screen = document.getElementById("screen");
const dialogs = document.getElementById("dialogs");
const { code, passcode } = meetingAddress(location.href);
const stage = new Stage(code, passcode);
const devices = new Devices(stage, showDevices);
const banners = new Banners(stage);

let shown = null; // the screen that is there
let hears = true; // false for who joins without audio: no sound comes either
let tiles = null;
let panels = null;
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
    button.disabled = !devices.stream || button.dataset.device === "microphone" && !hears;
  }
  const preview = document.querySelector(".preview video");
  if (preview) devices.preview(preview);
}

// withoutDevices asks whether to go on without them, and waits for the yes.
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
  const give = () => stage.passcode(input.value);
  screen.querySelector("[data-passcode]").addEventListener("click", give);
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") give(); });
  input.focus();
}

async function showPreJoin(state) {
  const input = screen.querySelector('[data-tid="prejoin-display-name-input"]');
  const join = screen.querySelector('[data-tid="prejoin-join-button"]');
  input.maxLength = state.meeting.maxNameLen;
  join.textContent = say(state.meeting.joinLabel || "Join now");
  // The field takes what a person types; what a script puts there it overlooks.
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
      hears = choice.value === "computer";
      if (!hears) devices.set({ microphone: false });
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
  tiles = new Tiles(call, stage, hears);
  panels = new Panels(call, stage);
  call.querySelector("#hangup-button").addEventListener("click", () => stage.leave());
  if (state.meeting.tips) {
    const tip = fresh("tip");
    tip.querySelector("[data-got-it]").addEventListener("click", () => tip.remove());
    dialogs.append(tip);
  }
  hideBar(call.querySelector(".bar"));
}

// hideBar hides the controls of the meeting until the mouse moves.
function hideBar(bar) {
  let timer = 0;
  document.onmousemove = () => {
    bar.classList.add("shown");
    clearTimeout(timer);
    timer = setTimeout(() => bar.classList.remove("shown"), barStays);
  };
}

function showMessage(state) {
  devices.stop();
  screen.querySelector("[data-text]").textContent = say(state.text || screens[state.state]);
  screen.querySelector("[data-home]")?.addEventListener("click", () => location.assign("/"));
  screen.querySelector("[data-rejoin]")?.addEventListener("click", () => location.reload());
}

const initial = (name) => [...name.trim()][0]?.toUpperCase() ?? "?";

// ---- the state decides

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

// screenOf is the state, but for two that have two screens.
function screenOf(state) {
  if (state.state === "prejoin" && state.passcode) return "passcode";
  if (state.state === "sign_in" && state.text) return "sign_in_needed";
  return state.state;
}

function draw(state) {
  const wanted = screenOf(state);
  if (wanted !== shown) {
    shown = wanted;
    document.onmousemove = null;
    dialogs.replaceChildren();
    const [template, prepare] = templates[shown] ?? ["retry", showMessage];
    screen.replaceChildren(fresh(template));
    prepare(state);
    showDevices();
  }
  if (shown === "admitted") {
    tiles.update(state.participants);
    panels.follow(state);
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
  draw(state);
};
stage.onStream = (id, media) => tiles?.setStream(id, media);

try {
  await stage.enter();
} catch (problem) {
  if (!(problem instanceof NoMeeting)) throw problem;
  speak("en");
  draw({ state: "not_found", text: "", notices: [], offline: false });
}
