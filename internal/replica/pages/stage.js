// The connection of a page to the server, the same for all platforms: it adds the page
// as a guest, receives the state of the meeting and the media of the participants, and
// sends the actions of the guest.

import { probe } from "./hostile.js";
import { rename } from "./language.js";
import { Media } from "./media.js";
import { SFUMedia } from "./sfu.js";

// NoMeeting is thrown by Stage.enter and loadSettings if there is no meeting with the code.
export class NoMeeting extends Error {}

const path = (code) => `/stage/${encodeURIComponent(code)}`;

// loadSettings returns the settings of a meeting for a launcher page, after the page delay.
export async function loadSettings(code) {
  const response = await fetch(path(code));
  if (response.status === 404) throw new NoMeeting(code);
  const settings = await response.json();
  rename(settings.renamed);
  await new Promise((resolve) => setTimeout(resolve, remainingDelay(settings)));
  return settings;
}

// remainingDelay returns the rest of the page delay in ms.
const remainingDelay = (settings) => Math.max(0, settings.pageDelayMs - performance.now());

export class Stage {
  #passcode;
  #hostKey;
  #path;
  #media = null;
  #executed = { freeze: 0, reload: 0, navigate: 0, mute: 0, hide: 0 };
  #tracks = { microphone: null, camera: null, screen: null };
  #probing = false;
  #delayTimer = null;

  // hostKey makes the guest a host.
  constructor(code, passcode = "", hostKey = "") {
    this.code = code;
    this.#passcode = passcode;
    this.#hostKey = hostKey;
    this.state = null; // the last snapshot
    this.receivedAt = 0; // performance.now() of its arrival
    this.onMuted = () => {}; // the host turned the microphone off
    this.onHidden = () => {}; // the host turned the camera off and ended the screen share
    this.onState = () => {};
    this.onStream = () => {}; // (participant id, MediaStream)
  }

  get microphone() { return this.#tracks.microphone; }

  // send sends a MediaStreamTrack of the guest's microphone, camera or screen, or null.
  send(device, track) {
    if (this.#tracks[device] === track) return;
    this.#tracks[device] = track;
    this.#media?.replace(device, track);
  }

  // enter adds the page as a guest and subscribes to the state.
  async enter() {
    const response = await fetch(`${path(this.code)}/guests`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ passcode: this.#passcode, hostKey: this.#hostKey }),
    });
    if (response.status === 404) throw new NoMeeting(this.code);
    if (!response.ok) throw new Error(`the server responded with ${response.status}`);
    const { guest } = await response.json();
    this.#path = `${path(this.code)}/guests/${guest}`;
    const events = new EventSource(`${this.#path}/events`);
    events.onmessage = (message) => this.#receive(JSON.parse(message.data));
  }

  #receive(state) {
    this.state = state;
    rename(state.meeting.renamed);
    this.receivedAt = performance.now();
    this.#execute(state.commands);
    this.#probe(state);
    const wait = remainingDelay(state.meeting);
    if (wait === 0) this.#show();
    else this.#delayTimer ??= setTimeout(() => this.#show(), wait);
  }

  #show() {
    this.onState(this.state);
    if (this.state.state !== "admitted" || !this.state.media) {
      this.#media?.close();
      this.#media = null;
      return;
    }
    this.#media ??= this.state.meeting.sfu
      ? new SFUMedia(() => this.#send("sfu", {}), this.#tracks, this.onStream, (one) => this.isSpeaking(one))
      : new Media((offer) => this.#send("media", offer), this.#tracks, this.onStream);
    this.#media.follow(this.state);
  }

  // execute executes new commands of the meeting.
  #execute(commands) {
    const before = this.#executed;
    this.#executed = commands;
    if (commands.navigate > before.navigate) window.top.location.assign(commands.navigateTo);
    if (commands.reload > before.reload) window.top.location.reload();
    if (commands.mute > before.mute) this.onMuted();
    if (commands.hide > before.hide) this.onHidden();
    if (commands.freeze > before.freeze) this.#freeze();
  }

  // freeze blocks the page for good, with a synchronous request without a response. Unlike
  // an endless loop, it uses no processor time.
  #freeze() {
    const request = new XMLHttpRequest();
    request.open("GET", `${this.#path}/hang`, false);
    try {
      request.send();
    } catch {
      // The server has ended.
    }
    for (;;);
  }

  async #probe(state) {
    if (this.#probing || state.meeting.trap.length === 0) return;
    this.#probing = true;
    const findings = await probe(state.meeting.trap, state.guest);
    await this.#send("probed", { text: findings });
  }

  async #send(action, body) {
    const response = await fetch(`${this.#path}/${action}`, {
      method: "POST",
      keepalive: action === "leave",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${action}: the server responded with ${response.status}`);
    return response.status === 204 ? null : response.json();
  }

  ask(name, passcode = "") { return this.#send("ask", { name, passcode }); }
  passcode(passcode) { return this.#send("passcode", { passcode }); }
  devices(microphone, camera, screen) { return this.#send("devices", { microphone, camera, screen }); }
  leave() { return this.#send("leave", {}); }
  chat(text) { return this.#send("chat", { text }); }
  accept(notice) { return this.#send("accept", { notice }); }
  pin(participant) { return this.#send("pin", { participant }); }
  // decide admits, denies or removes a guest, or ends the meeting, as a host.
  decide(action, guest = "") { return this.#send(action, { guest }); }
  requestPermission() { return this.#send("permission", {}); }

  // isSpeaking returns whether a participant speaks now, computed from the position in
  // the last snapshot.
  isSpeaking(participant) {
    const media = this.state?.media;
    if (!media || participant.muted) return false;
    if (participant.speaking) return true;
    const at = (media.positionMs + performance.now() - this.receivedAt) % media.loopMs;
    return participant.speech.some(([from, to]) => at >= from && at < to);
  }
}
