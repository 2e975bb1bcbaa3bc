// Google Meet: one document, whose screens replace each other.
'use strict';

const panelCSS = 'padding:24px;display:flex;gap:24px;flex-wrap:wrap';
const devices = { mic: true, camera: true };

// header stands on every page, also before the call.
function header() {
  return h('header', { css: 'display:flex;justify-content:space-between;padding:8px' }, [
    h('a', { href: '#', 'aria-label': text('home'), text: 'Meet' }),
    optional(h('a', { href: '#signin', text: text('signIn') }), 0.8),
  ]);
}

// deviceButtons are a div or a button with data-is-muted.
function deviceButtons() {
  const tag = fixed('device tag', ['div', 'button']);
  const create = (device, off, on) => {
    const element = h(tag, { role: 'button', tabindex: '0', css: 'width:44px;height:44px;background:#555;display:inline-block;margin:4px', jsname: 'BOHaEe' }, [h('i', { bare: true, text: '●' })]);
    const update = () => {
      element.setAttribute('data-is-muted', String(!devices[device]));
      element.setAttribute('aria-label', text(devices[device] ? off : on));
      if (plan.scenario === 'contradiction') element.replaceChildren(h('i', { bare: true, cls: 'google-symbols', text: device === 'mic' ? 'mic' : 'videocam' }));
    };
    element.addEventListener('click', () => { devices[device] = !devices[device]; update(); });
    update();
    return element;
  };
  return [create('mic', 'micOff', 'micOn'), create('camera', 'camOff', 'camOn')];
}

// selfPreview has the effects control, whose data-participant-id is there before
// admission.
function selfPreview() {
  return h('div', { cls: 'preview', css: 'width:320px;height:180px;background:#222;color:#fff' }, [
    h('div', { css: 'padding:8px', 'data-participant-id': 'spaces/x/devices/self', 'aria-label': text('effects') }, [
      h('button', { type: 'button', 'aria-label': text('effects'), css: 'width:40px;height:40px' }, [h('i', { bare: true, text: '✦' })]),
    ]),
    h('span', { cls: 'notranslate', text: plan.typed || '' }),
  ]);
}

// recaptcha runs invisibly on every join.
function recaptcha() {
  return h('iframe', { src: '/recaptcha/enterprise/anchor', title: 'reCAPTCHA', css: 'display:none', bare: true });
}

const page = {
  ...common,

  early(kind) { return ['notFound', 'signIn', 'credentials'].includes(kind) || fixed('early', [true, false]); },

  async prejoin(straight) {
    show(header(), h('div', { css: panelCSS, text: text('gettingReady') }));
    await delay(300, 1200);
    const label = text(straight ? 'joinNow' : 'ask');
    const name = h('input', {
      type: 'text', 'aria-label': text('name'), placeholder: text('name'), autocomplete: 'name', jsname: 'YPqjbf', maxlength: '60', css: 'width:260px;height:36px',
    });
    const pressed = new Promise((resolve) => {
      const join = h('button', { type: 'button', jsname: 'Qx7uuf', disabled: true, css: 'width:220px;height:48px' }, [h('span', { text: label })]);
      join.addEventListener('click', () => { if (name.value.trim()) resolve(); });
      name.addEventListener('input', () => { join.disabled = !name.value.trim(); });
      const form = h('div', { cls: 'form' }, [
        h('div', { role: 'heading', 'aria-level': '1', text: text('question') }),
        optional(h('div', { text: `${pick(plan.people)} ${text('inCall')}` })),
        h('div', {}, [name]),
        h('div', { mix: true }, [join, optional(button(text('otherWays'), { 'aria-haspopup': 'menu' }))]),
        optional(h('div', { text: text('systemInfo') }), 0.8),
      ]);
      const left = h('div', {}, [selfPreview(), h('div', {}, deviceButtons())]);
      show(header(), h('div', { css: panelCSS, mix: true }, [left, form]), recaptcha());
    });
    log('ready');
    this.nudges();
    await pressed;
    await log('asked', `mic=${devices.mic} camera=${devices.camera} name=${name.value}`);
    await delay(150, 500);
  },

  // nudges are the dialogs over the green room.
  async nudges() {
    if (plan.dialogs.includes('nudge')) {
      await dialog({ title: text('nudge'), body: text('nudgeBody'), buttons: shuffle([text('signIn'), text(fixed('nudge', ['gotIt', 'dismiss']))]) });
    }
    if (plan.dialogs.includes('account')) {
      await dialog({ title: text('chooseAccount'), buttons: [text('signIn'), text('withoutAccount')] });
    }
    if (plan.dialogs.includes('devices')) {
      const without = await dialog({ title: text('devices'), buttons: [text('useDevices'), text('withoutDevices')] });
      if (without) devices.mic = devices.camera = false;
    }
    if (plan.dialogs.includes('hear')) {
      const without = await dialog({ title: 'Do you want people to hear you in the meeting?', buttons: ['Use microphone', fixed('hear', ['Continue without microphone', 'Not now'])] });
      await log('hear', without === 1 ? 'without' : 'with');
      if (!without) devices.mic = true;
    }
    if (plan.dialogs.includes('strange')) await this.strange();
  },

  async lobby(kind) {
    const words = text(kind);
    const labelOnly = kind !== 'hostAbsent' && fixed('label only', [true, false, false]);
    const message = labelOnly
      ? h('div', { role: 'img', 'aria-label': words, css: 'width:200px;height:60px;background:#eef' })
      : h(fixed('lobby tag', ['div', 'h1', 'span', 'p']), { text: words });
    const home = optional(button(text('home'), {}, () => left(this)), 0.8);
    show(header(), h('div', { css: panelCSS, mix: true }, [selfPreview(), h('div', {}, [message, home])]), this.controls({ lobby: true }));
  },

  // controls are the call's toolbar, which lobbies show as well.
  controls({ lobby = false, alone = false } = {}) {
    const count = alone ? 1 : plan.people.length + 1;
    const inner = lobby ? [] : [
      button(text('captions'), { icon: '▤', jsname: 'r8qRAd' }),
      button(text('chat'), { icon: '▣' }, () => this.togglePanel('chat')),
      this.peopleButton(count),
    ];
    return h('div', { role: 'region', 'aria-label': text('callControls'), css: 'position:fixed;bottom:0;left:0;right:0;height:64px;background:#333', cls: 'controls' }, [
      h('div', { mix: true }, [
        ...deviceButtons(),
        button(text('leave'), { icon: '✆', jsname: 'CQylAd' }, () => left(this)),
        lobby ? null : button(text('more'), { icon: '⋮', jsname: 'NakZHc' }),
        ...inner,
      ]),
    ]);
  },

  peopleButton(count) {
    const open = () => this.togglePanel('people');
    if (fixed('people button', [0, 1])) {
      return h('div', { role: 'button', tabindex: '0', 'aria-haspopup': 'dialog', 'aria-label': text('people'), css: 'display:inline-block;width:60px;height:40px', on: { click: open } },
        [h('div', { 'data-avatar-count': String(count), bare: true, text: String(count) })]);
    }
    return button(`${text('people')} - ${count} ${text('joined')}`, { icon: '☺' }, open);
  },

  togglePanel(kind) {
    const content = kind === 'people' && plan.scenario === 'crowd'
      ? this.crowd(this.members, (name) => h('div', { role: 'listitem', 'aria-label': name, bare: true }, [
        h('i', { cls: 'notranslate', 'aria-hidden': 'true', text: 'mic_off', bare: true }), h('span', { cls: 'notranslate', text: name === plan.typed ? `${name} ${text('you')}` : name }),
      ]), { role: 'list', 'aria-label': text('participants') })
      : kind === 'people' ? h('div', { role: 'list', 'aria-label': text('participants') }, this.members.map((name) => {
        const self = name === plan.typed;
        return h('div', { role: 'listitem', 'aria-label': name, bare: true }, [
          h('span', { cls: 'notranslate', text: name }), self && h('span', { text: text('you') }),
        ]);
      }))
      : h('div', {}, [this.messages(), h('textarea', { 'aria-label': text('sendMessage') })]);
    this.openPanel(kind, () => h('aside', { 'aria-label': text('sidePanel'), css: 'position:fixed;right:0;top:48px;bottom:64px;width:280px;background:#fff;overflow:auto' }, [content]));
  },

  messages() {
    return h('div', { cls: 'Ge9Kpc', 'aria-live': 'polite' }, (this.said || []).map(([author, message], i) => h('div', { 'data-message-id': `m${i}`, bare: true }, [
      h('div', { cls: 'poVWob', text: author }), h('div', { jsname: 'dTKtvb', text: message }),
    ])));
  },

  tile(name, index, video, self) {
    const tile = h('div', { cls: 'oZRSLe', bare: true, 'data-participant-id': `spaces/x/devices/${index}`, css: 'width:240px;height:150px;background:#444;color:#fff' }, [
      video ? videoElement(video, 'width:100%;height:110px') : h('div', { css: 'height:110px', text: name.slice(0, 1) }),
      h('span', { cls: 'notranslate', text: name, ...(self ? { 'data-self-name': name } : {}) }),
    ]);
    const indicator = h('div', { cls: 'gjg47c', jscontroller: 'ES310d', css: 'width:24px;height:24px', bare: true });
    tile.append(indicator);
    if (!self) {
      const speaking = fixed('speaking', ['Oaajhc', 'HX2H7', 'wEsLMd', 'OgVli']);
      this.marks.push((names) => { indicator.className = names.includes(name) ? speaking : 'gjg47c'; });
    }
    return tile;
  },

  async call({ alone }) {
    const self = plan.typed;
    this.members = alone ? [self] : shuffle([self, ...plan.people]);
    const main = h('main', { css: 'display:flex;flex-wrap:wrap;gap:8px;padding:8px 8px 72px' });
    const bar = this.controls({ alone });
    show(header(), main, bar);
    main.append(this.tile(self, 0, null, true));
    if (fixed('self twice', [true, false])) main.append(this.tile(self, 0, null, true));
    this.hideToolbar(bar);
    if (alone) return;
    await delay(100, 800);
    const { sound, videos } = await startMedia();
    for (let i = 0; i < 3; i++) lasting.push(audioElement(sound));
    document.body.append(...lasting);
    this.marks = [];
    plan.people.slice(0, 6).forEach((name, i) => main.append(this.tile(name, i + 1, videos[i])));
    talk((names) => this.marks.forEach((mark) => mark(names)));
    if (plan.dialogs.includes('tip')) dialog({ title: text('tip'), buttons: [text('gotIt')], attributes: { 'aria-modal': 'false' } });
  },

  // hideToolbar hides the toolbar after some seconds without a mouse.
  hideToolbar(bar) {
    let timer;
    const wake = () => {
      bar.style.display = '';
      clearTimeout(timer);
      timer = setTimeout(() => { bar.style.display = 'none'; }, 2500);
    };
    document.addEventListener('mousemove', wake);
    wake();
  },

  async consent() {
    const answer = await Promise.race([dialog({
      title: text('consent'), body: text('consentBody'), buttons: [text('consentLeave'), text('consentJoin')],
      buttonProperties: [{ 'data-mdc-dialog-action': 'cancel' }, { 'data-mdc-dialog-action': 'ok' }],
    }), sleep(12000)]);
    await log('consent', answer === 1 ? 'given' : 'refused');
    if (answer !== 1) {
      await endMeeting(this, 'removed');
      await new Promise(() => {});
    }
  },

  async dialogs() {
    for (const kind of shuffle(['tip', 'strange', 'strange'])) {
      const closed = kind === 'tip' ? dialog({ title: text('tip'), buttons: [text('gotIt')] }) : this.strange();
      await Promise.race([closed, sleep(5000)]);
      await delay(200, 800);
    }
  },

  caption(author, message) {
    if (this.captions) this.captions.remove();
    this.captions = h('div', { role: 'region', 'aria-label': 'Captions', css: 'position:fixed;bottom:70px;left:20px;background:#000;color:#fff', bare: true }, [
      h('div', { text: author }), h('div', { text: message }),
    ]);
    document.body.append(this.captions);
  },

  message(words, extra = []) {
    const box = fixed('end tag', ['h1', 'div']);
    show(header(), h('div', { css: panelCSS }, [h(box, { cls: 'roSPhc', jsname: 'r4nke', text: words, bare: true }), h('div', { mix: true }, extra)]));
  },

  async end(kind) {
    lasting.length = 0;
    const home = button(text('home'));
    const extra = {
      denied: [home, optional(button(text('askAgain')), 0.3)], noAnswer: [home, optional(button(text('askAgain')), 0.5)],
      lost: [button(text('rejoin'), {}, () => location.reload()), home],
    }[kind] || [home, optional(button(text('rejoin')), 0.5)];
    this.message(text(kind), extra);
  },

  async wall(kind) {
    if (kind === 'signIn') {
      location.replace(`//${plan.accounts}/v3/signin/identifier?continue=${encodeURIComponent(location.href)}`);
      return;
    }
    if (kind === 'captcha') {
      show(header(), h('div', { css: panelCSS }, [h('h1', { text: text('captcha') }), h('iframe', {
        src: '/recaptcha/enterprise/anchor?visible=1', title: 'reCAPTCHA', width: '304', height: '78', css: 'width:304px;height:78px', bare: true,
      })]));
      return;
    }
    const key = { botWall: 'blocked' }[kind] || kind;
    this.message(text(key), [
      key === 'blocked' ? optional(h('div', { text: text('blockedBody') })) : null,
      optional(h('div', { text: text('returning') })), button(text('home')),
    ]);
  },
};

// signInDocument is the page of the platform's account service.
function signInDocument() {
  document.title = `${text('signInTitle')} - Google Accounts`;
  show(h('div', { css: panelCSS }, [
    h('h1', { text: text('signInTitle') }), h('div', { text: text('signInBody') }),
    h('input', { type: 'email', id: 'identifierId', 'aria-label': text('email') }), button(text('next')),
  ]));
}

async function start() {
  await log('document', location.pathname);
  if (location.pathname.startsWith('/v3/signin')) return signInDocument();
  document.title = `Meet - ${location.pathname.slice(1)}`;
  document.addEventListener('input', (event) => { if (event.target.type === 'text') plan.typed = event.target.value; });
  if (plan.repeat && !sessionStorage.repeated) { // the document is loaded twice
    sessionStorage.repeated = '1';
    show(header(), h('div', { text: text('gettingReady') }));
    await delay(200, 700);
    location.reload();
    return;
  }
  await play(page);
}
start();
