// The platform-neutral half of every page: it registers the page as a guest,
// follows the meeting's state, sends what the guest does, and receives the
// participants' media. What is shown, and when, is the platform's page's.

import { probe } from "./hostile.js";
import { Media } from "./media.js";

// NoMeeting is thrown by Stage.enter and look when no meeting has the code.
export class NoMeeting extends Error {}

const path = (code) => `/stage/${encodeURIComponent(code)}`;

// look returns a meeting's settings to a page that comes before the meeting's
// own, when the page may show itself.
export async function look(code) {
  const response = await fetch(path(code));
  if (response.status === 404) throw new NoMeeting(code);
  const settings = await response.json();
  await new Promise((resolve) => setTimeout(resolve, tooEarly(settings)));
  return settings;
}

// tooEarly is how many ms a slow page still shows nothing.
const tooEarly = (settings) => Math.max(0, settings.pageDelayMs - performance.now());

export class Stage {
  #passcode;
  #path;
  #media = null;
  #obeyed = { freeze: 0, reload: 0, wander: 0 };
  #probing = false;
  #held = null; // the timer of a slow page

  constructor(code, passcode = "") {
    this.code = code;
    this.#passcode = passcode;
    this.state = null; // the last snapshot
    this.receivedAt = 0; // performance.now() of its arrival
    this.microphone = null; // the MediaStreamTrack that the guest sends, if any
    this.onState = () => {};
    this.onStream = () => {}; // (participant id, MediaStream)
  }

  // enter makes the page a guest and follows the meeting until the page goes.
  async enter() {
    const response = await fetch(`${path(this.code)}/guests`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ passcode: this.#passcode }),
    });
    if (response.status === 404) throw new NoMeeting(this.code);
    if (!response.ok) throw new Error(`the replica answered ${response.status}`);
    const { guest } = await response.json();
    this.#path = `${path(this.code)}/guests/${guest}`;
    const events = new EventSource(`${this.#path}/events`);
    events.onmessage = (message) => this.#take(JSON.parse(message.data));
  }

  #take(state) {
    this.state = state;
    this.receivedAt = performance.now();
    this.#obey(state.orders);
    this.#probe(state);
    const wait = tooEarly(state.meeting);
    if (wait === 0) this.#show();
    else this.#held ??= setTimeout(() => this.#show(), wait);
  }

  #show() {
    this.onState(this.state);
    if (this.state.state !== "admitted" || !this.state.media) {
      this.#media?.close();
      this.#media = null;
      return;
    }
    this.#media ??= new Media((offer) => this.#send("media", offer), this.microphone, this.onStream);
    this.#media.follow(this.state);
  }

  // obey does to the page what a verb of the control surface asked for.
  #obey(orders) {
    const before = this.#obeyed;
    this.#obeyed = orders;
    if (orders.wander > before.wander) window.top.location.assign(orders.wanderTo);
    if (orders.reload > before.reload) window.top.location.reload();
    if (orders.freeze > before.freeze) for (;;);
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
    if (!response.ok) throw new Error(`${action}: the replica answered ${response.status}`);
    return response.status === 204 ? null : response.json();
  }

  ask(name, passcode = "") { return this.#send("ask", { name, passcode }); }
  passcode(passcode) { return this.#send("passcode", { passcode }); }
  devices(microphone, camera) { return this.#send("devices", { microphone, camera }); }
  leave() { return this.#send("leave", {}); }
  chat(text) { return this.#send("chat", { text }); }
  accept(notice) { return this.#send("accept", { notice }); }
  pin(participant) { return this.#send("pin", { participant }); }
  requestPermission() { return this.#send("permission", {}); }

  // speaking tells whether a participant speaks just now, from where the loops
  // stood when the last snapshot came.
  speaking(participant) {
    const media = this.state?.media;
    if (!media || participant.muted) return false;
    const at = (media.positionMs + performance.now() - this.receivedAt) % media.loopMs;
    return participant.speech.some(([from, to]) => at >= from && at < to);
  }
}
