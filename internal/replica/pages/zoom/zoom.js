// The Zoom web client.

import { Devices } from "/assets/devices.js";
import { fresh, say, speak } from "/assets/language.js";
import { NoMeeting, Stage } from "/assets/stage.js";
import { meetingCode, passcode } from "./address.js";
import { Call } from "./call.js";
import { cookieBanner } from "./cookies.js";
import { leaveButton } from "./leaving.js";
import { closeDialogs, modal } from "./modal.js";
import { PreJoin } from "./prejoin.js";
import { dictionaries, ends, hostJoined, screens } from "./words.js";

const root = document.getElementById("root");
const stage = new Stage(meetingCode(), passcode());
const devices = new Devices(stage, showDevices);

let shown = null; // state on the screen
let screen = null; // object that updates the screen, or null

// ---- screens

function showPreJoin() {
  screen = new PreJoin(root.firstElementChild, stage, devices);
}

function showWaiting(state, before) {
  const text = state.state === "lobby" && before === "waiting_for_host" ? hostJoined : screens[state.state];
  root.querySelector("[data-text]").textContent = say(state.text || text);
  leaveButton(root.querySelector("footer"), stage);
}

function showCall() {
  screen = new Call(root.firstElementChild, stage, devices);
}

function showInvalid(state) {
  document.title = "Error - Zoom";
  showText(state);
}

// With a replaced text, the details are removed.
function showText(state) {
  root.querySelector("[data-text]").textContent = say(state.text || screens[state.state]);
  if (state.text) root.querySelector("[data-detail]")?.remove();
}

function showGone(state) {
  devices.stop();
  showText(state);
  root.querySelector("[data-rejoin]").addEventListener("click", () => location.reload());
}

// showEnd shows an end in a dialog above the current screen, which keeps its controls.
function showEnd(state) {
  devices.stop();
  const { title, content, label } = ends[state.state];
  const home = () => window.top.location.assign("/");
  if (!state.text) modal({ title, content, label, buttons: [["OK", home]] });
  // The text may be the label of the dialog.
  else if (state.text === label) modal({ title: "", content, label, buttons: [["OK", home]] });
  else modal({ title: state.text, buttons: [["OK", home]] });
}

const templates = {
  prejoin: ["prejoin", showPreJoin],
  lobby: ["waiting", showWaiting],
  waiting_for_host: ["waiting", showWaiting],
  admitted: ["call", showCall],
  left: ["gone", showGone],
  not_found: ["invalid", showInvalid],
  sign_in: ["signin", showText],
  captcha: ["captcha", showText],
};

// ---- state

function render(state) {
  if (state.state !== shown) {
    const before = shown;
    shown = state.state;
    screen = null;
    document.onmousemove = null;
    closeDialogs();
    if (ends[shown]) showEnd(state);
    else {
      const [template, show] = templates[shown];
      root.replaceChildren(fresh(template));
      show(state, before);
    }
    showDevices();
  }
  screen?.follow(state);
  showConnection(state.offline);
}

// showConnection shows or hides the reconnecting banner.
function showConnection(offline) {
  const banner = root.querySelector(".reconnecting");
  if (!offline) banner?.remove();
  else if (!banner) root.append(fresh("reconnecting"));
}

// The labels of device buttons, before the meeting and in it.
const captions = {
  microphone: { on: "Mute", off: "Unmute", onInCall: "mute my microphone", offInCall: "unmute my microphone" },
  camera: { on: "Stop Video", off: "Start Video", onInCall: "stop my video", offInCall: "start my video" },
  screen: { on: "Stop Share", off: "Share Screen", onInCall: "Stop Share", offInCall: "Share Screen" },
};

function showDevices() {
  for (const button of document.querySelectorAll("[data-device]")) {
    const device = button.dataset.device;
    const side = devices[device] ? "on" : "off";
    const texts = captions[device];
    let [caption, label] = [texts[side], shown === "prejoin" ? texts[side] : texts[`${side}InCall`]];
    if (offersAudio(device)) caption = label = "Join Audio";
    button.querySelector("[data-caption]").textContent = say(caption);
    button.ariaLabel = say(label);
    button.classList.toggle("off", side === "off");
    button.classList.toggle("sharer-button--stop", device === "screen" && side === "on");
  }
  const preview = root.querySelector(".preview-video video");
  if (preview) devices.preview(preview);
}

const offersAudio = (device) => device === "microphone" && shown === "admitted" && screen.offersAudio();

document.addEventListener("click", (event) => {
  const device = event.target.closest?.("[data-device]")?.dataset.device;
  if (!device) return;
  if (offersAudio(device)) screen.joinAudio();
  else devices.toggle(device);
});

setInterval(() => {
  if (shown === "admitted") screen.tick();
}, 200);

stage.onState = (state) => {
  if (shown === null) {
    speak(state.meeting.language, dictionaries);
    if (state.meeting.cookieBanner) cookieBanner();
  }
  render(state);
};
stage.onStream = (id, media) => {
  if (shown === "admitted") screen.stream(id, media);
};

try {
  await stage.enter();
} catch (error) {
  if (!(error instanceof NoMeeting)) throw error;
  render({ state: "not_found", text: "" });
}
