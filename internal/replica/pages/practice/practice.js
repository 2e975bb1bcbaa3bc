// The page on which a person joins a practice meeting of any platform, as its host.

import { Devices } from "/assets/devices.js";
import { fresh } from "/assets/language.js";
import { NoMeeting, Stage } from "/assets/stage.js";
import { element, initial, TileGrid } from "/assets/tilegrid.js";

const screen = document.getElementById("screen");
const stage = new Stage(location.pathname.split("/").pop(), "", location.hash.slice(1));
const devices = new Devices(stage, showDevices);
let shown = null; // state on the screen
let tiles = null;

class Tiles extends TileGrid {
  createTile({ name }) {
    const tile = element("div", "tile");
    tile.append(element("span", "avatar", initial(name)), element("span", "name", name));
    return tile;
  }

  createPresentation({ name }) { return this.createTile({ name: `${name} presents` }); }
}

function showDevices() {
  for (const button of document.querySelectorAll("[data-device]")) button.ariaPressed = String(devices[button.dataset.device]);
  const self = screen.querySelector(".tile.self video");
  if (self) devices.preview(self);
}

function showJoin() {
  const form = screen.querySelector("form");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    form.querySelector("button").disabled = true;
    if (form.elements.microphone.checked && await devices.request()) devices.set({ camera: false });
    await stage.ask(form.elements.name.value);
  });
  form.elements.name.select();
}

function showCall(state) {
  const self = element("div", "tile self");
  self.append(Object.assign(document.createElement("video"), { muted: true, autoplay: true, hidden: true }),
    element("span", "avatar", initial(state.name)), element("span", "name", state.name));
  tiles = new Tiles(stage, screen.querySelector(".tiles"), self, 9);
  screen.querySelector("[data-leave]").addEventListener("click", () => stage.leave());
  screen.querySelector("[data-end]").addEventListener("click", () => stage.decide("end"));
  const form = screen.querySelector(".chat form"), input = form.querySelector("input");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) stage.chat(input.value.trim());
    input.value = "";
  });
  for (const button of screen.querySelectorAll("[data-device]")) {
    button.addEventListener("click", async () => {
      if (devices.stream) return devices.toggle(button.dataset.device);
      if (await devices.request()) devices.set({ [button.dataset.device === "camera" ? "microphone" : "camera"]: false });
    });
  }
  showDevices();
}

function row(name, ...decisions) {
  const line = element("li", "");
  line.append(element("span", "", name), ...decisions.map(([label, action, id, kind]) => {
    const button = element("button", kind ?? "", label);
    button.ariaLabel = `${label} ${name}`;
    button.addEventListener("click", () => stage.decide(action, id));
    return button;
  }));
  return line;
}

// replaceIfChanged leaves a list alone whose content is the same, so that its buttons keep the focus.
function replaceIfChanged(list, key, lines) {
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  list.replaceChildren(...lines());
}

function followCall(state) {
  tiles.update(state.participants);
  const waiting = screen.querySelector(".waiting");
  waiting.hidden = state.waiting.length === 0;
  replaceIfChanged(waiting.querySelector("ul"), JSON.stringify(state.waiting), () =>
    state.waiting.map(({ id, name }) => row(name, ["Admit", "admit", id, "primary"], ["Deny", "deny", id])));
  const others = state.participants.map(({ id, name }) => [id, name]);
  replaceIfChanged(screen.querySelector(".people ul"), JSON.stringify(others), () => [row(state.name === "You" ? "You" : `${state.name} (you)`),
    ...others.map(([id, name]) => row(name, ...id.startsWith("g") ? [["Remove", "remove", id]] : []))]);
  const chat = screen.querySelector(".chat ol");
  const before = chat.dataset.key;
  replaceIfChanged(chat, String(state.messages.length), () => state.messages.map(({ from, text }) => {
    const line = element("li", "");
    line.append(element("b", "", from), ` ${text}`);
    return line;
  }));
  if (chat.dataset.key !== before) chat.scrollTop = chat.scrollHeight;
  const last = state.captions.slice(-2);
  screen.querySelector(".captions").replaceChildren(...last.map(({ from, text }) => {
    const line = element("p", "");
    line.append(element("b", "", from), ` ${text}`);
    return line;
  }));
}

const texts = {
  left: "You left.", ended: "You ended it for everyone.", not_found: "There is no such meeting, or it has ended.", removed: "You were removed.",
  lobby: "This link does not make you the host: use the one that was printed.",
};

function render(state) {
  if (state.state !== shown) {
    shown = state.state;
    const template = { prejoin: "join", admitted: "call" }[shown] ?? "over";
    screen.replaceChildren(fresh(template));
    if (template === "join") showJoin();
    else if (template === "call") showCall(state);
    else {
      devices.stop();
      screen.querySelector("[data-text]").textContent = texts[shown] ?? "The meeting is not open.";
      screen.querySelector("[data-again]").addEventListener("click", () => location.reload());
    }
  }
  if (shown === "admitted") followCall(state);
}

setInterval(() => {
  if (shown !== "admitted") return;
  for (const participant of stage.state.participants) tiles.tiles.get(participant.id)?.classList.toggle("speaking", stage.isSpeaking(participant));
}, 200);

stage.onState = render;
stage.onStream = (id, media) => tiles?.setStream(id, media);

try {
  await stage.enter();
} catch (error) {
  if (!(error instanceof NoMeeting)) throw error;
  render({ state: "not_found" });
}
