// The parts of a field page that the platforms share: seeded choices, elements
// with mutation, the truth log, remote media, and the scenarios.
'use strict';

const { plan, seen, words } = window.field;

// ---- seeded choices

function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = Math.imul(state ^ (state >>> 15), state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 4294967296;
  };
}

function hash(text) {
  let value = 2166136261;
  for (const char of text) value = Math.imul(value ^ char.codePointAt(0), 16777619) >>> 0;
  return value;
}

const random = generator(plan.seed ^ hash(location.pathname) ^ ((seen.document || 0) * 7919));
const between = (low, high) => low + random() * (high - low);
const chance = (probability) => random() < probability;
const pick = (list) => list[Math.floor(random() * list.length)];

// fixed makes a choice that is the same in every document of the meeting.
function fixed(name, list) {
  return list[Math.floor(generator(plan.seed ^ hash(name))() * list.length)];
}

function shuffle(list) {
  const copy = [...list];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [copy[i], copy[j]] = [copy[j], copy[i]];
  }
  return copy;
}

// text returns the words for a key: the same variant in the whole meeting.
const text = (key) => fixed(key, words[key]);

// ---- elements

// documented lists the classes that bots of other projects rely on. All other
// class names change with the seed.
const documented = new Set([
  'roSPhc', 'oZRSLe', 'notranslate', 'Ge9Kpc', 'poVWob', 'Oaajhc', 'HX2H7', 'wEsLMd', 'OgVli', 'gjg47c',
  'vdi-frame-occlusion', 'ui-box', 'meeting-app', 'preview-join-button', 'preview-meeting-info', 'disabled', 'leave-btn',
  'login-btn-zoom', 'zm-modal-body-title', 'leave-meeting-options__btn--danger', 'speaker-active-container__video-frame',
  'speaker-bar-container__video-frame--active', 'single-main-container__video-frame', 'zm-modal', 'video-avatar__avatar-footer', 'participants-li',
]);

const className = (name) => (documented.has(name) ? name : 'k' + (hash(name + plan.seed) % 46656).toString(36));

// h creates an element. Properties: cls (class names), css (style), text, on
// (listeners), mix (shuffle the children), bare (never wrapped); all others are
// attributes.
function h(tag, properties = {}, children = []) {
  const element = document.createElement(tag);
  const { cls, css, text: content, on, mix, bare, ...attributes } = properties;
  if (cls) element.className = cls.split(' ').map(className).join(' ');
  if (css) element.style.cssText = css;
  if (content !== undefined) element.textContent = content;
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value);
  }
  for (const [name, listener] of Object.entries(on || {})) element.addEventListener(name, listener);
  let list = children.flat(Infinity).filter(Boolean);
  if (mix && plan.mutate) list = shuffle(list);
  element.append(...list.map(wrapped));
  element.bare = bare;
  return element;
}

function wrapped(child) {
  if (!(child instanceof HTMLElement) || child.bare || !plan.mutate || !chance(0.15)) return child;
  const inline = ['SPAN', 'BUTTON', 'A', 'INPUT', 'LABEL'].includes(child.tagName);
  const wrapper = document.createElement(inline ? 'span' : 'div');
  wrapper.className = className('wrap' + Math.floor(random() * 9));
  wrapper.append(child);
  return wrapper;
}

// button creates a button whose words are its text, or its label beside an icon.
function button(content, properties = {}, onClick = () => {}) {
  const { icon, ...rest } = properties;
  const base = { type: 'button', css: 'min-width:72px;height:36px;margin:3px;', ...rest, on: { click: onClick, ...(rest.on || {}) } };
  if (icon) return h('button', { ...base, 'aria-label': content }, [h('i', { bare: true, 'aria-hidden': 'true', text: icon })]);
  return h('button', base, [h('span', { text: content })]);
}

// optional leaves elements out that not every page has.
const optional = (element, probability = 0.7) => (!plan.mutate || chance(probability) ? element : null);

function show(...elements) {
  document.body.replaceChildren(...elements.flat(Infinity).filter(Boolean));
  for (const extra of lasting) document.body.append(extra);
}
const lasting = []; // elements that are children of body on every screen

// dialog shows a dialog over the page until one of its buttons is pressed, and
// returns the index of that button.
function dialog({ title, body, buttons, attributes = {}, titleProperties = {}, buttonProperties = [] }) {
  return new Promise((resolve) => {
    const overlay = h('div', {
      cls: 'scrim', css: 'position:fixed;inset:0;background:rgba(0,0,0,.5);z-index:90;display:flex;align-items:center;justify-content:center',
    });
    const choose = (index) => () => { overlay.remove(); resolve(index); };
    overlay.append(h('div', {
      role: 'dialog', 'aria-modal': 'true', 'aria-label': title, css: 'background:#fff;color:#222;padding:20px;width:420px;border-radius:8px', ...attributes,
    }, [
      h('h2', { text: title, ...titleProperties }),
      body && h('div', { text: body }),
      h('div', { css: 'display:flex;justify-content:flex-end' }, buttons.map((label, i) => button(label, buttonProperties[i] || {}, choose(i)))),
    ]));
    document.body.append(overlay);
  });
}

// ---- time and truth

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const delay = (low, high) => sleep(between(low, high) * plan.slow);

// log writes to the meeting's log on the server, and returns when it is there.
async function log(kind, detail = '') {
  seen[kind] = (seen[kind] || 0) + 1;
  await fetch('/field/log', { method: 'POST', keepalive: true, body: JSON.stringify({ kind, detail: String(detail) }) });
}

// reported waits until the bot has reported something, or for some milliseconds.
const reported = (signal, milliseconds) => fetch(`/field/wait?signal=${signal}&ms=${milliseconds}`).then((r) => r.ok);

// ---- remote media

const media = { stop() {}, speak() {} };

// startMedia connects two RTCPeerConnections in this page: one sends what the
// other people say and show, the other receives it like a meeting's client.
async function startMedia({ video = true, people = plan.people.length } = {}) {
  const sender = new RTCPeerConnection(), receiver = new RTCPeerConnection();
  sender.onicecandidate = ({ candidate }) => candidate && receiver.addIceCandidate(candidate);
  receiver.onicecandidate = ({ candidate }) => candidate && sender.addIceCandidate(candidate);
  const context = new AudioContext();
  const tone = new OscillatorNode(context, { frequency: 200 + (plan.seed % 400) });
  const gain = new GainNode(context, { gain: 0.2 });
  const output = context.createMediaStreamDestination();
  tone.connect(gain).connect(output);
  tone.start();
  sender.addTrack(output.stream.getAudioTracks()[0], output.stream);
  if (video) {
    for (let i = 0; i < Math.min(people, 3); i++) {
      const stream = drawing(i).captureStream(4);
      sender.addTrack(stream.getVideoTracks()[0], stream);
    }
  }
  const videos = [];
  let sound;
  receiver.ontrack = ({ track, streams }) => {
    if (track.kind === 'audio') sound = streams[0];
    else videos.push(streams[0]);
  };
  await sender.setLocalDescription(await sender.createOffer());
  await receiver.setRemoteDescription(sender.localDescription);
  await receiver.setLocalDescription(await receiver.createAnswer());
  await sender.setRemoteDescription(receiver.localDescription);
  const before = media.stop;
  media.stop = () => { before(); sender.close(); receiver.close(); context.close(); media.stop = () => {}; };
  media.speak = (aloud) => { gain.gain.value = aloud ? 0.2 : 0; };
  return { sound, videos };
}

// talk lets people speak in turn, two at once now and then, until the meeting is over.
// The page marks a moment later who speaks: mark shows it.
async function talk(mark) {
  const people = plan.people.slice(0, 3), over = seen.over;
  const say = async (names) => {
    await log('speaks', JSON.stringify(names));
    media.speak(names.length > 0);
    await sleep(between(0, 200));
    mark(names);
  };
  for (let turn = 0; seen.over === over; turn++) {
    const names = [people[turn % people.length]];
    if (people.length > 2 && plan.platform !== 'zoom-web' && chance(0.2)) names.push(people[(turn + 1) % people.length]);
    await say(names);
    await sleep(between(1500, 4000));
    if (people.length > 1 && !chance(0.6)) continue; // the next one speaks at once
    await say([]);
    await sleep(between(200, 700));
  }
}

// drawing returns a canvas whose picture changes.
function drawing(index) {
  const canvas = document.createElement('canvas');
  canvas.width = 160; canvas.height = 90;
  const paint = canvas.getContext('2d');
  let frame = 0;
  setInterval(() => {
    paint.fillStyle = `hsl(${(index * 90 + frame * 7) % 360} 60% 50%)`;
    paint.fillRect(0, 0, 160, 90);
    paint.fillStyle = '#fff';
    paint.fillRect((frame * 9) % 150, 20 + index * 15, 12, 12);
    frame++;
  }, 250);
  return canvas;
}

function audioElement(stream) {
  const element = document.createElement('audio');
  element.autoplay = true;
  element.srcObject = stream;
  return element;
}

function videoElement(stream, css) {
  const element = document.createElement('video');
  element.autoplay = true; element.muted = true; element.playsInline = true;
  element.style.cssText = css;
  element.srcObject = stream;
  return element;
}

// ---- what all pages do

const common = {
  // strange is a dialog with words that no bot can know.
  strange() {
    return dialog({ title: text('strangeDialog'), body: words.strangeBody && text('strangeBody'), buttons: shuffle([text('strangeYes'), text('strangeNo')]) });
  },

  // gate keeps the media back until one of its buttons is pressed, which leaves or joins.
  async notetaker() {
    const joined = await Promise.race([dialog({ title: 'Your call audio and video will be shared with Read AI', buttons: [text('leave'), text('joinNow')] }), sleep(15000)]);
    await log('gate', joined === 1 ? 'opened' : 'closed');
    if (joined !== 1) { await endMeeting(this, 'removed'); await new Promise(() => {}); }
  },

  // panelist offers to speak in a webinar, which joins anew.
  async panelist() {
    const answer = await Promise.race([dialog({ title: 'The host would like to promote you to a panelist', buttons: ['Join as Panelist', 'Stay as Attendee'] }), sleep(20000)]);
    await log('panelist', answer === 1 ? 'declined' : 'accepted');
    if (answer !== 1) { await endMeeting(this, 'removed'); await new Promise(() => {}); }
  },

  // decoys says the words of other screens in the chat.
  async decoys() {
    this.said = [];
    for (const message of shuffle(plan.messages)) {
      const author = pick(plan.people);
      this.said.push([author, message]);
      this.caption(author, message);
      if (this.panel) { this.panel.remove(); this.panel = null; }
      this.togglePanel('chat');
      await delay(250, 600);
    }
  },

  caption() {},

  // cover shows an unknown screen instead of the meeting, and returns a function
  // that shows the meeting again.
  cover() {
    const before = [...document.body.children].filter((element) => !lasting.includes(element));
    before.forEach((element) => element.remove());
    const cover = h('div', { css: 'padding:24px', text: text('unknownScreen') });
    document.body.append(cover);
    return () => { cover.remove(); document.body.prepend(...before); };
  },

  // crowd is a long list that holds only the rows in view.
  crowd(names, row, attributes = {}) {
    const inner = h('div', { css: `position:relative;height:${names.length * 28}px`, bare: true });
    const list = h('div', { css: 'height:240px;overflow-y:scroll', bare: true, ...attributes }, [inner]);
    const draw = () => {
      const first = Math.floor(list.scrollTop / 28);
      inner.replaceChildren(...names.slice(first, first + 11).map((name, i) => h('div', {
        css: `position:absolute;height:28px;top:${(first + i) * 28}px`, bare: true,
      }, [row(name)])));
    };
    list.addEventListener('scroll', draw);
    draw();
    return list;
  },

  // openPanel shows a panel, or closes it if it is shown.
  openPanel(kind, create) {
    if (this.panel) this.panel.remove();
    if (this.panel && this.panelKind === kind) { this.panel = null; return; }
    this.panelKind = kind;
    this.panel = create();
    document.body.append(this.panel);
  },
};

// ---- scenarios

// endMeeting logs how the meeting was over before the page shows it.
async function endMeeting(page, kind) {
  await log('over', kind);
  page.ended = true;
  media.stop();
  if (kind === 'drawnEnd') { // an end in unknown words, over the call
    dialog({ title: 'Nähdään pian!', buttons: ['OK'] });
    keepDialog();
    return;
  }
  if (kind === 'strangeEnd') { // an end in unknown words
    lasting.length = 0;
    show(h('div', { css: 'padding:24px' }, [h('p', { text: text('strangeEnd') }), button('OK')]));
    return;
  }
  await page.end(kind);
}

// keepDialog shows the last dialog again whenever it is closed.
function keepDialog() {
  const last = document.body.lastElementChild;
  new MutationObserver(() => { if (!last.isConnected) document.body.append(last); }).observe(document.body, { childList: true });
}

// waitInLobby shows the lobby until the bot has reported it, and a little longer.
async function waitInLobby(page, kind) {
  await log('lobby', kind);
  await page.lobby(kind);
  if (kind === 'unknownLobby') await delay(1500, 2800);
  else await reported('lobby', 4000);
  await delay(200, 1200);
}

// meet runs the bot's time in the meeting, until something ends it.
async function meetPeople(page, { alone = false } = {}) {
  await log('admitted', alone ? 'alone' : '');
  await page.call({ alone });
  if (alone) return new Promise(() => {});
  const recording = reported('recording', 60000);
  if (['dialogs', 'decoys', 'consent', 'notetaker'].includes(plan.scenario)) await page[plan.scenario]();
  else if (plan.decoys) page.decoys();
  await recording;
  if (plan.scenario === 'panelist') await page.panelist();
  await delay(1000, 2200);
  if (plan.scenario === 'unknownScreen') {
    await log('cover');
    const back = page.cover();
    await delay(2500, 4500);
    await log('uncover');
    back();
    await delay(1500, 2500);
  }
  if (plan.scenario === 'crowd') await delay(9000, 11000); // the bot reads the list
  if (plan.scenario === 'talk') await delay(14000, 18000);
  if (plan.scenario === 'quiet') await delay(3500, 5000); // the toolbar has hidden
  if (plan.scenario === 'reload' && seen.admitted === 1) {
    media.stop();
    location.reload();
    await new Promise(() => {});
  }
}

const endings = { drawnEnd: 'drawnEnd', removed: 'removed', lost: 'lost', strangeEnd: 'strangeEnd', freeEnd: 'freeEnd' };

// walls are the pages that keep the bot out.
const walls = new Set(['emailCode', 'codeError', 'locked', 'finalModal', 'registration', 'notFound', 'signIn', 'captcha', 'botWall', 'full', 'credentials', 'network', 'passcode']);

// play runs the scenario on a page that has loaded.
async function play(page) {
  const scenario = plan.scenario;
  if (walls.has(scenario) && page.early(scenario)) {
    await log('over', scenario);
    return page.wall(scenario);
  }
  if (scenario === 'problem' && !seen.over) {
    await log('over', scenario);
    return page.wall(scenario);
  }
  const finished = seen.over && seen.admitted && scenario !== 'lost';
  if (finished && !page.afterJoin) return page.wall('notFound');
  const straight = ['crowd', 'talk', 'terms', 'freeEnd', 'busyHost', 'straight', 'alone', 'consent', 'notetaker', 'panelist', 'reload', 'drawnEnd'].includes(scenario) || seen.admitted > 0;
  const hostFirst = scenario === 'hostAbsent' || scenario === 'hostNever';
  if (hostFirst && page.hostBefore) {
    await waitInLobby(page, 'hostAbsent');
    if (scenario === 'hostNever') return;
  }
  await page.prejoin(straight);
  if (finished) return page.wall('notFound');
  if (scenario === 'busyHost') {
    await log('lobby', 'busyHost');
    return page.wall(scenario);
  }
  if (walls.has(scenario)) {
    await delay(200, 900);
    await log('over', scenario);
    return page.wall(scenario);
  }
  if (scenario === 'left') { // declined by the platform, without a lobby
    await delay(1000, 2500);
    return endMeeting(page, 'left');
  }
  if (!straight) {
    if (hostFirst && !page.hostBefore) await waitInLobby(page, 'hostAbsent');
    if (scenario === 'hostNever') return;
    if (scenario === 'botLobby') return waitInLobby(page, 'botLobby');
    const unknown = scenario === 'unknownLobby' || scenario === 'unknownNever';
    await waitInLobby(page, unknown ? 'unknownLobby' : 'lobby');
    if (scenario === 'never' || scenario === 'unknownNever') return;
    if (scenario === 'denied' || scenario === 'noAnswer') return endMeeting(page, scenario);
  }
  await meetPeople(page, { alone: scenario === 'alone' });
  const ending = scenario === 'lost' && seen.admitted > 1 ? 'ended' : endings[scenario] || 'ended';
  await endMeeting(page, ending);
}

// left shows the page after the bot has left by the page's own button.
async function left(page) {
  await log('left');
  media.stop();
  await page.end('left');
}

window.addEventListener('error', (event) => { log('script error', event.message); });
window.addEventListener('unhandledrejection', (event) => { log('script error', event.reason && event.reason.stack || event.reason); });
