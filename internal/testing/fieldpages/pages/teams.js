// Microsoft Teams: a chain of documents for guests, and the light client.
'use strict';

const sheetCSS = 'padding:20px;display:flex;flex-direction:column;gap:10px;max-width:640px';
const light = fixed('light client', [true, false]);
const code = location.pathname.split('/').pop();

// spinner is what the documents of the chain show.
function spinner() {
  show(h('div', { css: 'padding:80px;text-align:center' }, [
    h('div', { role: 'progressbar', css: 'width:48px;height:48px;border:4px solid #6264a7;border-radius:50%', bare: true }),
    optional(h('p', { text: text('loading') })),
  ]));
}

// chain gives for each document the address of the next.
const chain = {
  '/meet/': () => (new URLSearchParams(location.search).has('lightExperience')
    ? `/light-meetings/launch?coords=${encodeURIComponent(btoa(JSON.stringify({ meetingCode: code })))}`
    : `/dl/launcher/launcher.html?url=${encodeURIComponent(`/_#/meet/${code}?anon=true`)}&type=meet&directDl=true&msLaunch=true`),
  '/l/': () => `/dl/launcher/launcher.html?url=${encodeURIComponent('/_#/l/meetup-join/x?anon=true')}&type=meetup-join`,
  '/dl/': () => '/v2/?meetingjoin=true',
  '/v2/': () => `/meet/${plan.number}?p=${plan.passcode}&lightExperience=true`,
};

// launcher waits for "Continue on this browser" on the pages that ask.
function launcher() {
  return new Promise((resolve) => {
    const words = text('continueBrowser');
    const look = fixed('launcher', ['button', 'label', 'link']);
    const proceed = {
      button: () => button(words, { 'data-tid': 'joinOnWeb' }, resolve),
      label: () => h('button', { type: 'button', 'aria-label': words, css: 'width:300px;height:48px', on: { click: resolve } }, [h('div', { text: words }), h('div', { text: 'Chrome' })]),
      link: () => h('a', { href: '/light-meetings/launch?coords=e30=', role: 'button', text: words, on: { click: (event) => { event.preventDefault(); resolve(); } } }),
    }[look]();
    show(h('div', { css: sheetCSS }, [
      h('h1', { text: 'Microsoft Teams' }),
      h('div', { mix: true }, [proceed, optional(button(text('joinApp'))), optional(h('a', { href: '#download', text: text('download') }))]),
    ]));
  });
}

// toggle is a Fluent switch: its input is transparent and lies over the indicator.
function toggle(tid, label) {
  const id = `switch-${tid}`;
  return h('div', { cls: 'fui-Switch', css: 'position:relative;height:32px;width:200px', bare: true }, [
    h('input', { type: 'checkbox', role: 'switch', 'data-tid': tid, id, checked: true, css: 'opacity:0;position:absolute;left:0;top:0;width:48px;height:32px;margin:0;z-index:1', bare: true }),
    h('div', { cls: 'fui-Switch__indicator', 'aria-hidden': 'true', css: 'position:absolute;left:8px;top:8px;width:36px;height:16px;background:#6264a7', bare: true }),
    h('label', { for: id, cls: 'fui-Switch__label', text: label, css: 'position:absolute;left:56px;top:6px', bare: true }),
  ]);
}

const page = {
  ...common,

  afterJoin: true, // only then Teams checks whether the meeting exists
  early(kind) { return (kind === 'notFound' && this.wrongURL()) || (kind === 'signIn' && fixed('early', [true, false])) || (kind === 'captcha' && fixed('early', [true, false])); },
  wrongURL: () => fixed('wrong URL', [true, false, false]),

  async prejoin() {
    spinner();
    await delay(200, 900);
    const name = h('input', { type: 'text', 'data-tid': 'prejoin-display-name-input', placeholder: text('name'), maxlength: '50', css: 'width:280px;height:36px' });
    const error = h('div', { role: 'alert', css: 'color:#a00' });
    this.join = button(text('join'), { 'data-tid': 'prejoin-join-button' });
    this.cancel = button(text('cancel'), { 'data-tid': 'prejoin-cancel-button' });
    this.status = h('div', { bare: true });
    this.microphone = toggle('toggle-mute', text('mic'));
    this.cameraSwitch = toggle('toggle-video', text('camera'));
    const radio = (label, checked) => h('label', {}, [h('input', { type: 'radio', name: 'audio', checked, 'aria-label': label }), h('span', { text: label })]);
    const form = h('div', { css: sheetCSS, mix: true }, [
      h('div', {}, [name, error]),
      h('div', { css: 'display:flex' }, [this.cameraSwitch, this.microphone]),
      h('div', { role: 'radiogroup' }, [radio(text('computerAudio'), true), optional(radio(text('phoneAudio'))), radio(text('noAudio'))]),
    ]);
    show(h('div', { css: 'position:relative' }, [h('div', { text: optional(true) ? 'Microsoft Teams' : '' }), form, this.status, h('div', { css: 'padding:20px', mix: true }, [this.cancel, this.join])]));
    log('ready');
    await this.hydrate(name);
    if (plan.dialogs.includes('allow')) dialog({ title: text('allow'), buttons: [text('withoutDevices')] });
    for (let tries = 0; ; tries++) {
      await new Promise((resolve) => { this.join.onclick = resolve; });
      if (!name.value.trim()) {
        error.textContent = text('nameMissing');
        continue;
      }
      if (plan.dialogs.includes('sure') && tries === 0) {
        await dialog({ title: text('sure'), buttons: [text('withoutDevices')] });
        continue; // Join has to be pressed again
      }
      break;
    }
    plan.typed = name.value;
    const on = (element) => element.querySelector('input').checked;
    await log('asked', `mic=${on(this.microphone)} camera=${on(this.cameraSwitch)} name=${name.value}`);
    this.join.querySelector('span').textContent = text('join');
    this.join.disabled = true;
    await delay(200, 600);
  },

  // hydrate starts the form: a shroud lies over it for a moment, and what was
  // typed before is wiped, because the application does not know it.
  async hydrate(name) {
    const shroud = h('div', { css: 'position:fixed;inset:0;background:rgba(255,255,255,.6);z-index:50', bare: true });
    document.body.append(shroud);
    await delay(250, 900);
    shroud.remove();
    await delay(0, 500);
    name.value = '';
  },

  async lobby(kind) {
    if (kind === 'botLobby') { // in words that nobody has published
      show(h('div', { css: sheetCSS }, [h(fixed('bot lobby', ['h1', 'div', 'p']), { text: 'Your organization’s policy applies to you' }), button(text('cancel'), {}, () => left(this))]));
      return;
    }
    const words = text(kind);
    const tag = fixed('lobby tag', ['span', 'h2', 'div']);
    this.status.replaceChildren(h('div', { css: 'padding:0 20px' }, [h(tag, { id: tag === 'span' ? 'call-status' : undefined, role: fixed('lobby role', [undefined, 'status']), text: words })]));
    this.cancel.onclick = () => left(this);
  },

  async call({ alone }) {
    const stage = h('div', { 'data-tid': 'modern-stage-wrapper', css: 'display:flex;flex-wrap:wrap;gap:8px;padding:8px' });
    const action = (id, tid, label, onClick) => button(label, { icon: '◻', id: light ? undefined : id, 'data-tid': tid }, onClick);
    const bar = h('div', { role: 'toolbar', css: 'position:fixed;top:0;left:0;right:0;height:52px;background:#eee', mix: true }, [
      action('chat-button', 'chat-button', text('chat'), () => this.togglePanel('chat')),
      action('roster-button', 'call-roster', text('people'), () => this.togglePanel('people')),
      button(text('raise'), { icon: '✋', id: 'raisehands-button' }),
      optional(button(text('view'), { icon: '▦', id: fixed('view', ['view-mode-button', 'custom-view-button']) })),
      button(text('more'), { icon: '…', id: 'callingButtons-showMoreBtn' }),
      button(text('leave'), light ? { 'data-tid': 'hangup-button', id: 'hangup-button' } : { id: 'hangup-button', 'data-tid': 'hangup-main-btn', 'data-inp': 'hangup-button' }, () => left(this)),
    ]);
    this.members = alone ? [plan.typed] : shuffle([plan.typed, ...plan.people]);
    show(bar, h('div', { css: 'padding-top:60px' }, [stage]));
    stage.append(this.tile(plan.typed, null, true));
    if (alone) {
      stage.append(h('div', { text: text('alone') }));
      return;
    }
    await delay(100, 800);
    const { sound, videos } = await startMedia();
    document.body.append(audioElement(sound));
    this.marks = [];
    plan.people.slice(0, 6).forEach((name, i) => stage.append(this.tile(name, videos[i], false)));
    talk((names) => this.marks.forEach((mark) => mark(names)));
    if (plan.dialogs.includes('recording')) {
      document.body.append(h('div', { role: 'alert', css: 'position:fixed;top:56px;left:20%;background:#ffd', bare: true }, [h('span', { text: text('recording') }), button(text('dismiss'), {}, (event) => event.currentTarget.parentElement.remove())]));
    }
  },

  tile(name, video, self) {
    const outline = h('div', { 'data-tid': 'voice-level-stream-outline', bare: true, css: 'width:230px;height:4px' });
    const tile = h('div', {
      'data-stream-type': 'Video', 'data-tid': name, 'data-cid': 'calling-participant-stream', 'aria-label': name, role: 'menuitem', css: 'width:240px;height:150px;background:#333;color:#fff', bare: true,
    }, [video && videoElement(video, 'width:100%;height:110px'), h('div', { cls: 'ui-chat', text: name }), outline]);
    if (!self) {
      this.marks.push((names) => outline.classList.toggle('vdi-frame-occlusion', names.includes(name)));
    }
    return tile;
  },

  togglePanel(kind) {
    const content = kind === 'people' && plan.scenario === 'crowd'
      ? this.crowd(this.members, (name) => h('div', { role: 'treeitem', 'data-cid': 'roster-participant', 'aria-label': `${name} External unfamiliar, muted`, bare: true }, [
        h('span', { 'data-tid': 'participant-info-nametag', text: name === plan.typed ? `${name} ${text('you')}` : name })]), { role: 'tree', 'aria-label': text('attendees') })
      : kind === 'people' ? h('div', { role: 'tree', 'aria-label': text('attendees') }, this.members.map((name) => h('div', { role: 'treeitem', 'data-cid': 'roster-participant', 'data-tid': `participantsInCall-${name}`, 'aria-label': name, bare: true }, [
        h('span', { text: name === plan.typed ? `${name} ${text('you')}` : name })])))
      : h('div', {}, [
        ...(this.said || []).map(([author, message]) => h('div', { 'data-tid': 'chat-pane-message', bare: true }, [h('span', { 'data-tid': 'message-author-name', text: author }), h('div', { text: message })])),
        h('div', { contenteditable: 'true', role: 'textbox', 'aria-label': text('message'), css: 'height:40px;border:1px solid #888' })]);
    this.openPanel(kind, () => h('div', { cls: 'rail', css: 'position:fixed;right:0;top:56px;bottom:0;width:280px;background:#fff;overflow:auto' }, [content]));
  },

  async dialogs() {
    for (let i = 0; i < 2; i++) {
      await Promise.race([this.strange(), sleep(5000)]);
      await delay(200, 800);
    }
  },

  // retry is the screen that Teams shows for everything that went wrong.
  retry(title, description, extra = []) {
    show(h('div', { 'data-tid': 'calling-retry-screen', css: sheetCSS, bare: true }, [
      title && h('h1', { id: 'calling-retry-screen-title', text: title, bare: true }),
      description && h('h2', { id: 'calling-retry-screen-description', text: description, bare: true }),
      ...extra,
    ]));
  },

  async end(kind) {
    const rejoin = button(text('rejoin'), { 'data-tid': 'calling-retry-rejoinbutton' });
    const dismiss = button(text('dismiss'), { 'data-tid': 'calling-retry-cancelbutton' });
    if (kind === 'removed') return this.retry(text('removed'), null, [dismiss]);
    if (kind === 'denied') {
      if (fixed('denied', [true, false])) return this.retry(text('denied'), null, [dismiss]);
      show(h('div', { css: sheetCSS }, [h('h1', { text: text('denied') }), dismiss]));
      return undefined;
    }
    if (kind === 'ended') {
      show(h('div', { css: sheetCSS }, [h('h1', { text: text('ended') }), optional(h('div', { text: text('mistake') }), 0.6), rejoin, dismiss]));
      return undefined;
    }
    show(h('div', { css: sheetCSS }, [h('h1', { text: text('mistake') }), rejoin, dismiss]));
    return undefined;
  },

  async wall(kind) {
    if (kind === 'notFound' && plan.scenario === kind && this.early(kind)) {
      show(h('div', { css: sheetCSS }, [h('h1', { text: text('wrongUrl') })]));
      return;
    }
    if (kind === 'notFound') {
      const field = (tid, value) => h('input', { type: 'text', 'data-tid': tid, value, css: 'height:32px' });
      this.retry(optional(true, 0.5) ? text('notFoundTitle') : null, text('notFound'), [
        field('meeting-code-input', plan.number), field('meeting-passcode-input', plan.passcode),
        button(text('rejoin'), { disabled: true }), button(text('dismiss'), { 'data-tid': 'calling-retry-cancelbutton' }),
      ]);
      return;
    }
    if (kind === 'emailCode') { // a form in words that no bot can know
      const code = fixed('email code', [true, false]);
      show(h('div', { css: sheetCSS }, [h('h1', { text: 'Vahvista sähköpostisi' }), h('input', code ? { type: 'text', inputmode: 'numeric', maxlength: '6', css: 'height:32px' } : { type: 'email', css: 'height:32px' }), button('Seuraava')]));
      return;
    }
    if (kind === 'locked') return this.retry(null, text('locked'), [button(text('dismiss'), { 'data-tid': 'calling-retry-cancelbutton' })]);
    if (kind === 'problem') {
      this.retry(text('connect'), null, [button(text('rejoin')), button(text('dismiss'), { 'data-tid': 'calling-retry-cancelbutton' })]);
      return;
    }
    if (kind === 'captcha') {
      show(h('div', { css: sheetCSS }, [h('h1', { text: text('captcha') }), h('img', { 'data-tid': 'HIP-Captcha-Image', src: '/captcha.svg', alt: '', width: '240', height: '80' }), h('input', { type: 'text', css: 'height:32px' }), button(text('next'))]));
      return;
    }
    // signIn
    if (this.early(kind) && fixed('login page', [true, false])) {
      location.replace(`//${plan.accounts}/common/oauth2/v2.0/authorize?client_id=x`);
      return;
    }
    const words = text('signIn');
    if (fixed('sign-in dialog', [true, false])) {
      dialog({ title: words, buttons: [text('signInButton')] });
      return;
    }
    show(h('div', { css: sheetCSS }, [h(fixed('sign-in tag', ['h1', 'div', 'p']), { text: words }), button(text('signInButton'))]));
  },
};

function signInDocument() {
  document.title = 'Sign in to your account';
  show(h('div', { css: sheetCSS }, [
    h('div', { role: 'heading', text: text('signInButton') }), h('input', { type: 'email', name: 'loginfmt', placeholder: text('email') }), button(text('next')),
  ]));
}

async function start() {
  await log('document', location.pathname);
  if (location.pathname.startsWith('/common/')) return signInDocument();
  document.title = fixed('title', ['Microsoft Teams', 'Join conversation', 'Microsoft Teams meeting']);
  const next = Object.entries(chain).find(([path]) => location.pathname.startsWith(path));
  if (next) {
    spinner();
    await delay(200, 700);
    if (next[0] === '/dl/' && plan.launcher) await launcher();
    location.replace(next[1]());
    return;
  }
  if (plan.repeat && !sessionStorage.repeated) { // lightExperience=false loads it again
    sessionStorage.repeated = '1';
    spinner();
    await delay(300, 1200);
    location.replace(`/meet/${plan.number}?p=${plan.passcode}&lightExperience=false`);
    return;
  }
  await play(page);
}
start();
