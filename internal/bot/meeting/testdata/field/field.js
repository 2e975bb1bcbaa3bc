'use strict';
// What the documents of this folder share: the log of what the page really does,
// media, and the usual parts of each platform's pages.

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const log = (kind, detail = '') => fetch('/log', { method: 'POST', keepalive: true, body: `${kind} ${detail}` });
const find = (selector, root = document) => root.querySelector(selector);
const draw = (markup, where = document.body) => { where.innerHTML = markup; };
const add = (markup, where = document.body) => { where.insertAdjacentHTML('beforeend', markup); return where.lastElementChild; };
const lasting = [];

// pressed resolves when an element that matches is clicked.
const pressed = (selector, root = document) => new Promise((done) => {
  root.addEventListener('click', function listen(event) {
    const target = event.composedPath().find((one) => one.matches?.(selector));
    if (!target || target.matches('.disabled, [disabled], [aria-disabled=true]')) return;
    root.removeEventListener('click', listen, true);
    setTimeout(() => done(target));
  }, true);
});

// Whoever presses an element of the class "no" makes a mistake.
addEventListener('click', (event) => {
  const wrong = event.composedPath().find((one) => one.matches?.('.no'));
  if (wrong) log('mistake', `pressed ${wrong.textContent || wrong.getAttribute('aria-label')}`);
}, true);

// dialog lies over the page until one of its buttons is pressed.
async function dialog(text, buttons, { attributes = 'role=dialog aria-modal=true', title = 'h2' } = {}) {
  const shade = add(`<div style="position:fixed;inset:0;background:#0008;z-index:99"><div ${attributes} style="position:absolute;left:25%;top:25%;width:50%;background:#fff;padding:20px">
    <${title}>${text}</${title}><footer>${buttons}</footer></div></div>`);
  const button = await pressed('footer button, footer [role=button]', shade);
  shade.remove();
  return button;
}

// connect receives the sound of others, and hangUp ends that.
let connections = [];
async function connect() {
  const from = new RTCPeerConnection(), to = new RTCPeerConnection(), audio = new AudioContext();
  connections.push(from, to);
  from.onicecandidate = ({ candidate }) => candidate && to.addIceCandidate(candidate);
  to.onicecandidate = ({ candidate }) => candidate && from.addIceCandidate(candidate);
  const tone = new OscillatorNode(audio), gain = new GainNode(audio, { gain: 0.05 }), output = audio.createMediaStreamDestination();
  tone.connect(gain).connect(output);
  tone.start();
  from.addTrack(output.stream.getAudioTracks()[0], output.stream);
  to.ontrack = ({ streams }) => document.documentElement.append(Object.assign(document.createElement('audio'), { autoplay: true, srcObject: streams[0] }));
  await from.setLocalDescription(await from.createOffer());
  await to.setRemoteDescription(from.localDescription);
  await to.setLocalDescription(await to.createAnswer());
  await from.setRemoteDescription(to.localDescription);
}
function hangUp() {
  connections.forEach((one) => one.close());
  connections = [];
  document.querySelectorAll('html > audio').forEach((one) => one.remove());
}

// asked and over log what happens; admitted also connects the call.
const devices = { mic: true, cam: true };
const asked = () => log('asked', Object.keys(devices).filter((one) => devices[one]).join(' '));
const admitted = async () => { await connect(); await log('admitted'); };
const over = async () => { hangUp(); await log('over'); };

// Controls with data-turn turn a device on and off, and repaint themselves.
addEventListener('click', (event) => {
  const control = event.composedPath().find((one) => one.dataset?.turn);
  if (!control || control.disabled) return;
  setTimeout(() => {
    devices[control.dataset.turn] = !devices[control.dataset.turn];
    paint(control);
    repaint();
  }, Number(control.dataset.slow ?? 0));
}, true);
const labels = { mic: ['Turn off microphone', 'Turn on microphone'], cam: ['Turn off camera', 'Turn on camera'] };
function paint(control) {
  const kind = control.dataset.turn, on = devices[kind];
  if (control.tagName === 'INPUT') return;
  const { look } = control.dataset, label = labels[kind][on ? 0 : 1];
  if (look === 'inner') {
    control.innerHTML = `<div><div role=button tabindex=0 aria-label="${label}" data-is-muted=${!on}><svg width=24 height=24><circle r=9 /></svg></div></div>`;
    return;
  }
  if (look === 'tooltip') control.dataset.isMuted = !on;
  if (look === 'tooltip' || look === 'label') {
    control.setAttribute(look === 'label' ? 'aria-label' : 'data-tooltip', label);
    control.innerHTML = '<svg width=24 height=24><circle r=9 /></svg>';
    return;
  }
  if (look !== 'plain') control.setAttribute('aria-label', labels[kind][on ? 0 : 1]);
  if (look === 'muted' || look === 'plain') control.dataset.isMuted = !on;
  if (look === 'state') control.dataset.state = { mic: on ? 'mic' : 'mic-off', cam: on ? 'call-video' : 'call-video-off' }[kind];
  if (look === 'svg') {
    control.innerHTML = `<svg width=24 height=24 class="${{ mic: on ? 'SvgAudioMute' : 'SvgAudioUnmute', cam: on ? 'SvgVideoOn' : 'SvgVideoOff' }[kind]}"><rect width=20 height=20 /></svg><span>${labels[kind][on ? 0 : 1]}</span>`;
  } else if (look !== 'state') {
    control.innerHTML = `<i class=google-symbols aria-hidden=true>${{ mic: on ? 'mic' : 'mic_off', cam: on ? 'videocam' : 'videocam_off' }[kind]}</i>`;
  }
}
const repaint = () => document.querySelectorAll('[data-turn]').forEach(paint);

// people draws a list that holds only the rows in view, a moment after it is scrolled.
function virtual(box, names, row, height = 56) {
  const inner = box.appendChild(document.createElement('div'));
  inner.style.cssText = `position:relative;height:${names.length * height}px`;
  box.style.cssText += ';height:330px;overflow-y:auto';
  const fill = () => requestAnimationFrame(() => {
    const first = Math.max(0, Math.floor(box.scrollTop / height) - 1);
    inner.innerHTML = names.slice(first, first + 12).map((name, i) => `<div style="position:absolute;transform:translateY(${(first + i) * height}px);height:${height}px">${row(name, first + i)}</div>`).join('');
  });
  box.addEventListener('scroll', () => setTimeout(fill, 40));
  fill();
}
const crowd = [...Array(40)].map((_, i) => `Guest ${String.fromCharCode(65 + i % 26)}${Math.floor(i / 26) + 1}`);

// ---- Meet

const meet = {
  words: {},
  say(key, otherwise) { return this.words[key] ?? otherwise; },
  device(kind, look = 'muted') { return `<div class=Kx${kind}><div role=button tabindex=0 data-turn=${kind} data-look=${look}></div></div>`; },
  // pre shows the green room until Join is pressed with a name.
  async pre({ join, field, extra = '', look, wait = 300 } = {}) {
    const header = `<div class=NpQm><a href="#" aria-label="Return to home screen" onclick="return false"><img alt="" width=90 height=40></a><a class=no href="#" onclick="return false">Sign in</a></div>`;
    draw(`${header}<div class=Gv1><p>Getting ready…</p></div>`);
    await sleep(wait);
    draw(`${header}<div class=Gv1><div class=Rt5 data-participant-id="spaces/x/devices/0"><video width=320 height=180></video>${this.device('mic', look)}${this.device('cam', look)}
      <button aria-label="Backgrounds and effects">*</button></div><section><div role=heading aria-level=1>${this.say('ready', "What's your name?")}</div>
      <label><input type=text jsname=YPqjbf autocomplete=name placeholder="${field ?? this.say('name', 'Your name')}" aria-label="${field ?? this.say('name', 'Your name')}" maxlength=60></label>
      <button jsname=Qx7uuf disabled><span>${join ?? this.say('join', 'Ask to join')}</span></button><div><button class=no><span>Other ways to join</span></button></div>
      <small>System info will be sent to confirm you're not a bot</small></section></div>${extra}`);
    repaint();
    const input = find('input'), button = find('[jsname=Qx7uuf]');
    input.addEventListener('input', () => { button.disabled = !input.value; });
    await pressed('[jsname=Qx7uuf]');
    this.name = input.value;
    await asked();
  },
  controls({ all = true } = {}) {
    return `<div role=region aria-label="Call controls" class=Qp9><div>${this.device('mic')}${this.device('cam')}</div>${all ? `<button jsname=r8qRAd aria-label="${this.say('captions', 'Turn on captions')}"><i class=google-symbols>closed_caption</i></button>
      <button aria-label="Send a reaction"><i class=google-symbols>mood</i></button>` : ''}<button jsname=NakZHc aria-label="More options"><i class=google-symbols>more_vert</i></button>
      <button jsname=CQylAd class=no aria-label="${this.say('leave', 'Leave call')}"><i class=google-symbols>call_end</i></button></div>`;
  },
  // wait shows a lobby with the bot's own tile and the controls of a call.
  wait(markup, { all = false } = {}) {
    draw(`<div class=Wq2><a href="#" aria-label="Return to home screen" onclick="return false">Meet</a><div class=Zx1 data-participant-id="spaces/x/devices/0"><video width=320 height=180></video>
      <span class=notranslate>${this.name}</span></div>${markup}<time>0:12</time></div>${this.controls({ all })}`);
    repaint();
  },
  tile(name, id, extra = '') {
    return `<div class=oZRSLe data-participant-id="spaces/x/devices/${id}" style="width:300px;height:170px"><div class=p8><video width=160 height=90></video></div><div class=Xz><span class=notranslate>${name}</span></div>
      <button aria-label="Pin ${name} to your main screen"><i class="google-symbols">keep</i></button>${extra}</div>`;
  },
  call(names, { extra = '', count = names.length + 1 } = {}) {
    draw(`<div class=Vb4><main class=axUSnc>${names.map((name, i) => this.tile(name, i + 11)).join('')}<div class=oZRSLe data-participant-id="spaces/x/devices/1" data-self-name="${this.name}"><span class=notranslate>${this.name}</span>
      <button aria-label="More options for ${this.name}">x</button></div></main></div>${this.controls()}<nav><button aria-label="${this.say('people', 'People')} - ${count}" class=peoplebutton><i class=google-symbols>people</i><div data-avatar-count="${count}">${count}</div></button>
      <button aria-label="${this.say('chat', 'Chat with everyone')}"><i class=google-symbols>chat</i></button></nav>${extra}`);
    repaint();
  },
  async enter(names, options) { this.call(names, options); await admitted(); await sleep(options?.stay ?? 3500); },
  chat(author, text) {
    const panel = find('aside') ?? add('<aside aria-label="Side panel"><h2>In-call messages</h2><div class=Ge9Kpc aria-live=polite></div><textarea aria-label="Send a message"></textarea></aside>');
    add(`<div class=Ss4fHf><div class=poVWob>${author}</div><div data-message-id=m${Math.random()}><div jsname=dTKtvb>${text}</div></div></div>`, find('.Ge9Kpc', panel));
  },
  // final shows a screen of the end.
  final(text, more = '') {
    draw(`<div class=Mn0><a href="#" aria-label="Return to home screen" onclick="return false">Meet</a><div class=Lk><h1 class=roSPhc jsname=r4nke>${text}</h1>${more}
      <div><button class=no><span>Rejoin</span></button><button class=no><span>Return to home screen</span></button><a href="#">Submit feedback</a></div></div></div>`);
  },
};

// meetApp draws Meet in other elements than meet.
const meetApp = {
  words: {},
  name: 'Standin',
  say(key, otherwise) { return this.words[key] ?? otherwise; },
  wrap(markup) { return `<div jscontroller=P0 class=GOH7Zb><c-wiz jsrenderer=T2><div jsname=a4><div><div class=e1>${markup}</div></div></div></c-wiz></div>`; },
  devices(look = 'label', slow = 0) { return ['mic', 'cam'].map((kind) => `<div class=U${kind}><div><button data-turn=${kind} data-look=${look} data-slow=${slow}></button></div></div>`).join(''); },
  greenMarkup({ before = '', beside = '', join = 'Ask to join', button, field, look, slow } = {}) {
    return this.wrap(`<div role=banner><a href="#" aria-label="Return to home screen" onclick="return false"><svg width=90 height=30></svg></a><span>3:14 PM</span></div>${before}<div class=f4><div class=f5><video width=320 height=180></video>
      <div class=f3>${this.devices(look, slow)}</div></div><div class=f6><div class=f7>${this.say('ready', 'Ready to join?')}</div>${field ?? `<div class=f8><div><input type=text id=c9 maxlength=60 required><label for=c9>${this.say('name', 'Your name')}</label></div></div>`}
      <div class=f9>${button ?? `<button class=b7><div class=ripple></div><span jsname=V67aGc>${this.say('join', join)}</span></button>`}</div>${beside}</div></div>`);
  },
  // green shows the green room until its button is pressed with a name.
  async green(options) {
    draw(this.greenMarkup(options));
    repaint();
    let input;
    do { await pressed('.b7'); input = find('.f6 input:not([type=checkbox])'); } while (input && !input.value);
    this.name = input?.value ?? this.name;
    await asked();
  },
  // hall shows a lobby.
  hall(markup, { bar = '' } = {}) {
    draw(this.wrap(`<div class=h1><div class=h2 data-participant-id="a/0"><video width=320 height=180></video><div class=notranslate>${this.name}</div></div><div class=h3>${markup}</div></div><div class=h4>${this.devices()}${bar}
      <button class=no aria-label="${this.say('leave', 'Leave call')}" data-tooltip-enabled=true>${this.say('leaveIcon', '<svg width=24 height=24></svg>')}</button></div>`));
    repaint();
  },
  tile(name, id) {
    return `<div class=dkjMxf data-requested-participant-id="a/${id}" data-participant-id="a/${id}" style="display:inline-block;width:260px;height:150px"><div class=LBDzPb><video width=120 height=60></video></div><div class=NnTWjc><div jsname=EydYod><div class=XWGOtd><span class=notranslate>${name}</span></div></div></div></div>`;
  },
  bar() {
    return `<div class=R5 role=toolbar><div>${this.devices()}</div><span><button data-promo=1 aria-label="${this.say('captions', 'Turn on captions')}"><svg width=24 height=24></svg></button></span><button aria-label="${this.say('more', 'More options')}" aria-haspopup=menu>⋮</button>
      <button class=no aria-label="${this.say('leave', 'Leave call')}"><svg width=24 height=24></svg></button></div>`;
  },
  room(names, { extra = '', bar = this.bar(), count = names.length + 1 } = {}) {
    draw(this.wrap(`<div class=crqnQb><div class=axUSnc>${names.map((name, i) => this.tile(name, i + 7)).join('')}</div><div class=self><div data-participant-id="a/1" data-self-name="${this.name}"><span class=notranslate>${this.name}</span></div></div>${bar}
      <div class=corner><div role=button tabindex=0 aria-haspopup=dialog class=peoplebutton aria-label="${this.say('people', 'People')}"><div data-avatar-count=${count}>${count}</div></div><button aria-label="${this.say('chat', 'Chat with everyone')}"><svg width=24 height=24></svg></button></div></div>${extra}`));
    repaint();
  },
  async enter(names, options) { this.room(names, options); await admitted(); await sleep(options?.stay ?? 3500); },
  // last shows the screen of an end.
  last(text, more = '') {
    draw(this.wrap(`<div class=z1><div class=z2 role=img></div><div class=z3 jsname=r4nke>${text}</div><div>${more}</div><div class=z4><button class=no><span>${this.say('rejoin', 'Rejoin')}</span></button><button class=no><span>${this.say('home', 'Return to home screen')}</span></button></div></div>`));
  },
  // abroad visits a lobby and a meeting in a language, and ends with one of its words.
  async abroad(words, options) {
    this.words = words;
    Object.assign(labels, { mic: words.mic, cam: words.cam });
    await this.green(options);
    this.hall(`<div><div>${words.lobby}</div></div>`); await log('lobby');
    if (words.denied) { this.last(words.denied); over(); return; }
    await this.enter(['Ada Quill']);
    this.last(words.removed ?? words.ended); over();
  },
};

// ---- Teams

const teams = {
  words: {},
  say(key, otherwise) { return this.words[key] ?? otherwise; },
  toggle(kind, look) {
    if (look === 'state') return `<button id=${{ mic: 'microphone', cam: 'video' }[kind]}-button data-turn=${kind} data-look=state style="width:48px;height:48px">x</button>`;
    return `<div class=fui-Switch style="position:relative;width:40px;height:20px"><input type=checkbox role=switch data-turn=${kind} data-tid=toggle-${{ mic: 'mute', cam: 'video' }[kind]} ${devices[kind] ? 'checked' : ''} style="opacity:0;position:absolute;inset:0;width:40px;height:20px;margin:0"><div aria-hidden=true>o</div></div>`;
  },
  async pre({ title = 'Weekly sync', extra = '', look, keep } = {}) {
    draw(`<div id=loading-screen><div role=progressbar></div></div>`);
    await sleep(500);
    draw(`<div id=app><div data-tid=prejoin-screen><h1 class=ui-text>${title}</h1><div class=fui-Field><input data-tid=prejoin-display-name-input maxlength=50 placeholder="${this.say('name', 'Type your name')}"></div>
      <div>${this.toggle('cam', look)}${this.toggle('mic', look)}</div><div role=radiogroup><label><input type=radio name=a checked>Computer audio</label><label><input type=radio name=a>Phone audio</label><label><input type=radio name=a>Don't use audio</label></div>
      <div><button data-tid=prejoin-cancel-button class=no>${this.say('cancel', 'Cancel')}</button><button id=prejoin-join-button data-tid=prejoin-join-button>${this.say('join', 'Join now')}</button></div></div>${extra}</div>`);
    repaint();
    do { await pressed('[data-tid=prejoin-join-button]'); this.name = find('[data-tid=prejoin-display-name-input]').value; } while (!this.name);
    await asked();
    if (keep) find('[data-tid=prejoin-join-button]').disabled = true;
  },
  wait(markup) {
    draw(`<div id=app><div class=fui-Flex><h1>${this.title ?? 'Weekly sync'}</h1>${markup}</div><div role=toolbar>${this.toggle('mic', 'state')}${this.toggle('cam', 'state')}<button id=hangup-button data-tid=hangup-main-btn class=no aria-label="${this.say('leave', 'Leave')}">x</button></div></div>`);
    repaint();
  },
  tile(name, i, label = `${name}, muted, video is off`) {
    return `<div role=menuitem data-cid=calling-participant-stream data-stream-type=Video data-tid="${name}" aria-label="${label}" style="width:300px;height:170px"><div data-tid=voice-level-stream-outline style="position:absolute;width:9px;height:9px"></div><div class=ui-flex><span class=ui-text>${name}</span></div></div>`;
  },
  bar({ count = '' } = {}) {
    return `<div role=toolbar id=calling-bar><button id=chat-button data-tid=chat-button aria-label="${this.say('chat', 'Chat')}">x</button><button id=roster-button data-tid=call-roster aria-label="${this.say('people', 'People')}" class=peoplebutton>p<span>${count}</span></button>
      <button id=raisehands-button aria-label="${this.say('raise', 'Raise')}">x</button><button id=view-mode-button>v</button><button id=callingButtons-showMoreBtn>m</button>${this.toggle('cam', 'state')}${this.toggle('mic', 'state')}
      <button id=hangup-button data-tid=hangup-main-btn class=no aria-label="${this.say('leave', 'Leave')}">x</button></div>`;
  },
  call(names, { extra = '', labels: said = [], count = names.length + 1, bar = true } = {}) {
    draw(`<div id=app><div data-tid=modern-stage-wrapper>${names.map((name, i) => this.tile(name, i, said[i])).join('')}</div>${bar ? this.bar({ count }) : ''}
      <div data-cid=calling-participant-stream data-is-self=true data-tid="${this.name}" aria-label="${this.name}, myself"><span>${this.name}</span></div></div>${extra}`);
    repaint();
  },
  async enter(names, options) { this.call(names, options); await admitted(); await sleep(options?.stay ?? 3500); },
  // retry shows the screen after a call that could not be joined, or is over.
  retry(title, more = '') {
    draw(`<div id=app><div data-tid=calling-retry-screen><h1 id=calling-retry-screen-title>${title}</h1><p id=calling-retry-screen-description>${more}</p><button class=no data-tid=calling-retry-rejoinbutton>${this.say('rejoin', 'Rejoin')}</button>
      <button data-tid=calling-retry-cancelbutton class=no>${this.say('dismiss', 'Dismiss')}</button></div></div>`);
  },
};

// ---- Zoom

const zoom = {
  words: {},
  say(key, otherwise) { return this.words[key] ?? otherwise; },
  async pre({ extra = '', passcode = false, look = 'svg' } = {}) {
    document.title = 'Zoom';
    draw(`<div id=root><div class=preview-root><div class=preview-meeting-info><span class=preview-meeting-info-field-label>${this.say('join', 'Join')}</span></div><div class=preview-new-flow><div class=preview-video>
      <button id=preview-audio-control-button data-turn=mic data-look=${look} type=button></button><button id=preview-video-control-button data-turn=cam data-look=${look} type=button></button></div>
      ${passcode ? '<input type=password id=input-for-pwd>' : ''}<div class=preview-agreement><input id=input-for-name type=text maxlength=64 placeholder="${this.say('name', 'Your Name')}"></div>
      <button type=button class="zm-btn preview-join-button disabled">${this.say('join', 'Join')}</button></div></div></div>${extra}`);
    repaint();
    const input = find('#input-for-name'), button = find('.preview-join-button');
    input.addEventListener('keydown', () => setTimeout(() => button.classList.toggle('disabled', !input.value)));
    await pressed('.preview-join-button');
    this.name = input.value;
    await asked();
  },
  modal(text, buttons = '<button class="zm-btn">OK</button>', leaves = true) {
    const modal = add(`<div class=zm-modal-legacy style="position:fixed;inset:0;background:#0008;z-index:99"><div class="zm-modal" role=dialog aria-modal=true style="position:absolute;left:25%;top:25%;width:50%;background:#fff">
      <div class=zm-modal-body-title>${text}</div><div class=zm-modal-footer>${buttons}</div></div></div>`);
    return pressed('.zm-modal-footer button', modal).then((button) => { if (leaves) modal.remove(); return button; });
  },
  wait(markup, { tools = '' } = {}) {
    draw(`<div id=root><div class=meeting-app><div class=waiting-room-container><div class=wr-content>${markup}</div><div class=wr-tools>${tools}<button type=button class="zm-btn leave-btn no">${this.say('leave', 'Leave')}</button></div></div></div></div>`);
    repaint();
  },
  footer({ participants = true, count = '' } = {}) {
    return `<div id=wc-footer class=footer><div footer-section=left><button class="footer-button-base__button join-audio-container__btn" data-turn=mic data-look=svg></button><button class="footer-button-base__button send-video-container__btn" data-turn=cam data-look=svg></button></div>
      <div class=footer__btns-container>${participants ? `<div feature-type=participants><button class="footer-button-base__button peoplebutton" aria-label="${this.say('people', 'open the participants list pane')},${count} participants"><span class=footer-button__number-counter>${count}</span></button></div>` : ''}
      <div feature-type=chat><button class=footer-button-base__button aria-label="${this.say('chat', 'open the chat panel')}">c</button></div><div feature-type=more aria-label="More meeting control " role=button id=moreButton>…</div></div>
      <div footer-section=right><button class="footer-button-base__button no" aria-label="${this.say('leave', 'Leave')}">${this.say('leave', 'Leave')}</button></div></div>`;
  },
  call(names, { extra = '', main, count = names.length + 1, footer = true, participants = true, stage } = {}) {
    const frame = (name) => `<div class=gallery-video-container__video-frame style="width:200px;height:110px"><div class=video-avatar__avatar><div class=video-avatar__avatar-footer><span>${name}</span></div></div></div>`;
    draw(`<div id=root><div class=meeting-app><div class=meeting-client-inner>${stage ?? (main ? `<div class=single-main-container__main-view><div class=single-main-container__video-frame><video-player style="display:block;width:300px;height:160px"></video-player><div class=video-avatar__avatar-footer><span>${main}</span></div></div></div>`
      : `<div class=gallery-video-container__wrap>${names.map(frame).join('')}${frame(this.name)}</div>`)}${footer ? this.footer({ count, participants }) : ''}</div></div></div>${extra}`);
    repaint();
  },
  async enter(names, options) { this.call(names, options); await admitted(); await sleep(options?.stay ?? 3500); },
};

// ---- Other shapes of the same pages

// turn makes an element a control that turns a device on and off; show draws its state.
function turn(element, kind, show) {
  show(element, devices[kind]);
  element.addEventListener('click', () => { devices[kind] = !devices[kind]; show(element, devices[kind]); });
}

// light is Teams' light client.
const light = {
  words: { name: 'Type your name', join: 'Join now', camera: 'Camera', mic: 'Microphone', leave: 'Leave', people: 'People', chat: 'Chat' },
  form({ title = 'Microsoft Teams meeting', toggles = teams.toggle('cam') + teams.toggle('mic') } = {}) {
    return `<div id=app><div class=fui-FluentProvider><div data-tid=calling-prejoin-screen><header data-tid=prejoin-header-content><h1 data-tid=meeting-header-title>${title}</h1></header>
      <div data-tid=calling-prejoin-render-content-container><span class="fui-Input r12stul0"><input class=fui-Input__input data-tid=prejoin-display-name-input autocomplete=off maxlength=50 placeholder="${this.words.name}" aria-label="${this.words.name}"></span>
      <div data-tid=calling-prejoin-v2-video-preview>${toggles}</div><footer><button class="fui-Button no" data-tid=prejoin-cancel-button>Cancel</button><button class=fui-Button id=prejoin-join-button data-tid=prejoin-join-button aria-label="${this.words.join}"><span>${this.words.join}</span></button></footer></div></div></div></div>`;
  },
  async join(root = document) {
    do { await pressed('[data-tid=prejoin-join-button]', root); this.name = find('[data-tid=prejoin-display-name-input]', root).value; } while (!this.name);
  },
  async pre(options) { draw(this.form(options)); await this.join(); await asked(); },
  stream(name, { tid = name, label = `${name}, Context menu is available`, size = 'width:280px;height:150px', nametag = name } = {}) {
    return `<div style="${size}"><div tabindex=0 role=menuitem data-cid=calling-participant-stream data-stream-type=Video data-tid="${tid}" aria-label="${label}" style="${size}"><div data-tid=voice-level-stream-outline></div>
      <div data-tid=participant-info-nametag><div><span>${nametag}</span></div></div></div></div>`;
  },
  tools(count) {
    return `<div data-tid=ubar-horizontal-middle-end role=toolbar aria-label="Meeting controls"><span data-tid=call-duration role=timer>01:02</span><button id=chat-button aria-label="${this.words.chat}">c</button><button id=roster-button aria-label="${this.words.people}" class=peoplebutton>p<span data-tid=roster-button-tile>${count}</span></button>
      <button id=reaction-menu-button>r</button><button id=callingButtons-showMoreBtn aria-label=More>m</button>${teams.toggle('cam', 'state')}${teams.toggle('mic', 'state')}<div><button id=hangup-button class=no aria-label="${this.words.leave}"><span data-tid=hangup-main-btn>x</span></button></div></div>`;
  },
  call(streams, { count = streams.length + 1, tools = true, extra = '' } = {}) {
    draw(`<div id=app><div data-tid=calling-screen>${tools ? this.tools(count) : ''}<div data-tid=modern-stage-wrapper><div data-tid=MixedStage-wrapper>${streams.join('')}</div></div>
      <div data-tid=myself-video><div data-cid=calling-participant-stream data-tid="${this.name}" aria-label="${this.name}, Context menu is available"><span>${this.name}</span></div></div></div></div>${extra}`);
    repaint();
  },
  async enter(streams, options) { this.call(streams, options); await admitted(); await sleep(options?.stay ?? 3500); },
  people(names) { return names.map((name) => this.stream(name)); },
};

// wc is the present client of Zoom.
const wc = {
  words: { name: 'Your Name', join: 'Join', mute: 'Mute', unmute: 'Unmute', stop: 'Stop Video', start: 'Start Video', leave: 'Leave', people: 'open the participants list pane', chat: 'open the chat panel' },
  show(kind) {
    const [on, off] = { mic: [this.words.mute, this.words.unmute], cam: [this.words.stop, this.words.start] }[kind];
    return (button, state) => { button.setAttribute('aria-label', state ? on : off); button.innerHTML = `<span class=preview-control-button__text>${state ? on : off}</span>`; };
  },
  form({ extra = '' } = {}) {
    return `<div class=preview-root-container id=preview-root><div class=preview-body><div class=preview-video__control><button type=button class=preview-video__control-button id=preview-audio-control-button></button><button type=button class=preview-video__control-button id=preview-video-control-button></button></div>
      <form onsubmit="return false"><h1>Enter Meeting Info</h1>${extra}<label for=input-for-name>${this.words.name}</label><input id=input-for-name type=text autocomplete=name maxlength=64><button type=button class="zm-btn zm-btn-legacy zm-btn--primary preview-join-button disabled" disabled>${this.words.join}</button></form></div></div>`;
  },
  wire(root = document) {
    turn(find('#preview-audio-control-button', root), 'mic', this.show('mic'));
    turn(find('#preview-video-control-button', root), 'cam', this.show('cam'));
    const input = find('#input-for-name', root), button = find('.preview-join-button', root);
    input.addEventListener('input', () => { button.disabled = !input.value; button.classList.toggle('disabled', !input.value); });
  },
  async join(root = document) { await pressed('.preview-join-button', root); this.name = find('#input-for-name', root).value; },
  async pre(options) { draw(`<div id=root>${this.form(options)}</div>`); this.wire(); await this.join(); await asked(); },
  frame(name, kind = 'gallery-video-container__video-frame') {
    return `<div class=${kind} style="width:220px;height:120px"><div class=video-avatar__avatar><div class=video-avatar__avatar-title>${name}</div><div class=video-avatar__avatar-footer><span role=none>${name}</span></div></div></div>`;
  },
  footer(count) {
    return `<footer id=wc-footer class=footer><div footer-section=left><button class=join-audio-container__btn id=wc-audio></button><button class=send-video-container__btn id=wc-video></button></div><div class=footer__btns-container><div feature-type=participants><button class="footer-button-base__button peoplebutton" aria-label="${this.words.people},[${count}] particpants"><span class=footer-button__number-counter><span>${count}</span></span></button></div>
      <div feature-type=chat><button aria-label="${this.words.chat}">c</button></div><div aria-label="More meeting control " role=button>…</div></div><div footer-section=right><button class="footer__leave-btn no" aria-label="${this.words.leave}">${this.words.leave}</button></div></footer>`;
  },
  call(stage, { count = 2, footer = true, extra = '' } = {}) {
    draw(`<div id=root><div class=meeting-app><div class=meeting-client><div class=meeting-client-inner><div id=wc-content>${stage}</div>${footer ? this.footer(count) : ''}</div></div></div></div>${extra}`);
    if (!footer) return;
    turn(find('#wc-audio'), 'mic', this.show('mic'));
    turn(find('#wc-video'), 'cam', this.show('cam'));
  },
  gallery(names) { return `<div class=gallery-video-container__wrap>${[...names, this.name].map((name) => this.frame(name)).join('')}</div>`; },
  async enter(names, options) { this.call(this.gallery(names), { count: names.length + 1, ...options }); await admitted(); await sleep(options?.stay ?? 3500); },
  modal(title, { body = '', buttons = '<button class="zm-btn zm-btn--primary">OK</button>' } = {}) {
    const modal = add(`<div class=ReactModalPortal><div class=zm-modal-overlay style="position:fixed;inset:0;background:#0008;z-index:99"><div class="zm-modal zm-modal-legacy" style="position:absolute;left:25%;top:25%;width:480px;background:#fff"><div class=zm-modal-body><div class=zm-modal-body-title>${title}</div><div class=zm-modal-body-content><div class=content>${body}</div></div></div><div class=zm-modal-footer>${buttons}</div></div></div></div>`);
    return pressed('.zm-modal-footer button', modal).then((button) => { modal.remove(); return button; });
  },
  wait(title, description = '') {
    draw(`<div id=root><div class=meeting-app><div class=wait-room><section class=wait-room__main><h2 class=wait-room__title>${title}</h2><p class=wait-room__desc>${description}</p></section><button class="zm-btn leave-btn no">${this.words.leave}</button></div></div></div>`);
  },
};
