// The Meet page.

import { hideBar, showTip } from "/assets/bar.js";
import { Devices } from "/assets/devices.js";
import { fresh, say } from "/assets/language.js";
import { NoMeeting, Stage } from "/assets/stage.js";
import { initial } from "/assets/tilegrid.js";
import { Captions } from "./captions.js";
import { CallSettings } from "./settings.js";
import { Notices, Panels } from "./panels.js";
import { Tiles } from "./tiles.js";
import { people, screens, speak } from "./words.js";

const screen = document.getElementById("screen");
const dialogs = document.getElementById("dialogs");
const code = location.pathname.slice(1);
const stage = new Stage(code);
const notices = new Notices();
const devices = new Devices(stage, showDevices);

let shown = null; // state on the screen
let tiles = null;
let panels = null;
let subtitles = null;

// ---- devices

async function requestDevices() {
  if (!await devices.request() || stage.state.meeting.deviceDialog) deviceDialog();
}

function showDevices() {
  for (const button of document.querySelectorAll("[data-device]")) {
    const on = devices[button.dataset.device];
    if (button.dataset.device === "screen") button.ariaLabel = say(on ? "Stop sharing" : "Share screen");
    else button.ariaLabel = say(`Turn ${on ? "off" : "on"} ${button.dataset.device}`);
    button.classList.toggle("off", !on);
  }
  const preview = document.querySelector(".preview video");
  if (preview) devices.preview(preview);
}

function deviceDialog() {
  if (shown !== "prejoin" || dialogs.childElementCount > 0) return;
  const dialog = fresh("devices");
  dialog.querySelector("[data-use]").addEventListener("click", () => {
    dialog.remove();
    if (!devices.stream) requestDevices();
  });
  dialog.querySelector("[data-without]").addEventListener("click", () => {
    dialog.remove();
    devices.set({ microphone: false, camera: false });
  });
  dialogs.append(dialog);
}

// ---- screens

function showPreJoin(state) {
  const input = screen.querySelector("input");
  const join = screen.querySelector("[data-join]");
  const label = state.meeting.joinLabel || (state.meeting.lobby ? "Ask to join" : "Join now");
  join.firstElementChild.textContent = say(label);
  // Only trusted input events enable the button.
  input.addEventListener("input", (event) => {
    if (event.isTrusted) join.disabled = input.value.trim() === "";
  });
  const submit = () => {
    if (join.disabled) return;
    join.disabled = true;
    stage.ask(input.value);
  };
  join.addEventListener("click", submit);
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") submit(); });
  input.focus();
  requestDevices();
}

function showWaiting(state) {
  screen.querySelector("[data-text]").textContent = say(state.text || screens[state.state]);
  screen.querySelector(".avatar").textContent = initial(state.name);
  screen.querySelector('[aria-label="' + say("Leave call") + '"]').addEventListener("click", () => stage.leave());
}

function showCall(state) {
  const call = screen.firstElementChild;
  document.title = `Meet - ${code}`;
  tiles = new Tiles(call, stage);
  panels = new Panels(call, stage, tiles);
  call.querySelector("[data-code]").textContent = code;
  call.querySelector(".bar .leave").addEventListener("click", () => leave(state.meeting.leaveAtOnce));
  subtitles = new Captions(call);
  const captions = call.querySelector("[data-captions]");
  captions.addEventListener("click", () => {
    const on = captions.classList.toggle("on");
    subtitles.turn(on);
    subtitles.follow(stage.state);
    captions.ariaLabel = say(`Turn ${on ? "off" : "on"} captions`);
  });
  new CallSettings(call.querySelector("[data-more]"), (language) => subtitles.speak(language));
  if (state.meeting.tips) showTip(dialogs);
  hideBar(call.querySelector(".bar"));
}

function leave(atOnce) {
  if (atOnce) {
    stage.leave();
    return;
  }
  const dialog = fresh("leaving");
  dialog.querySelector("[data-stay]").addEventListener("click", () => dialog.remove());
  dialog.querySelector("[data-just-leave]").addEventListener("click", () => stage.leave());
  dialogs.append(dialog);
}

function showMessage(state) {
  devices.stop();
  screen.querySelector("[data-text]").textContent = say(state.text || screens[state.state]);
  screen.querySelector("[data-home]").addEventListener("click", () => location.assign("/"));
  const rejoin = screen.querySelector("[data-rejoin]");
  if (state.state === "left") rejoin.addEventListener("click", () => location.reload());
  else rejoin.remove();
}

function followCall(state) {
  tiles.update(state.participants);
  panels.follow(state);
  subtitles.follow(state);
  notices.follow(stage, () => stage.leave());
  const count = state.participants.length + 1; // including this guest
  const badge = screen.querySelector("[data-avatar-count]");
  badge.dataset.avatarCount = count;
  badge.textContent = count;
  badge.ariaLabel = `${count} participants`;
  screen.querySelector("[data-people]").ariaLabel = people(count);
}

// ---- state

const templates = {
  prejoin: ["prejoin", showPreJoin],
  lobby: ["waiting", showWaiting],
  waiting_for_host: ["waiting", showWaiting],
  admitted: ["call", showCall],
  sign_in: ["signin", () => {}],
  captcha: ["captcha", () => {}],
};

function render(state) {
  if (state.state !== shown) {
    shown = state.state;
    document.onmousemove = null;
    dialogs.replaceChildren();
    const [template, show] = templates[shown] ?? ["message", showMessage];
    screen.replaceChildren(fresh(template));
    show(state);
    showDevices();
  }
  if (shown === "admitted") followCall(state);
  showOffline(state.offline);
}

// showOffline shows or hides the banner above the current screen.
function showOffline(offline) {
  const banner = document.getElementById("offline");
  banner.hidden = !offline;
  banner.textContent = offline ? say("You lost your network connection. Trying to reconnect") : "";
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-device]");
  if (button) devices.toggle(button.dataset.device);
});

setInterval(() => {
  if (shown !== "admitted") return;
  tiles.showSpeaking(stage.state.participants, (participant) => stage.isSpeaking(participant));
  screen.querySelector("[data-time]").textContent =
    new Date().toLocaleTimeString("en", { hour: "numeric", minute: "2-digit" });
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
  render({ state: "not_found", text: "" });
}
