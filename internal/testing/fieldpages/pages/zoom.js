// Zoom's web client: a launcher page, and the client in a frame or in the top
// document.
'use strict';

const boxCSS = 'padding:24px;display:flex;flex-direction:column;gap:12px;max-width:640px';
const inFrame = fixed('frame', [true, false]);
const devices = { mic: true, camera: true };

const page = {
  ...common,

  hostBefore: fixed('host before', [true, false]),
  allowed: false,

  early(kind) {
    if (kind === 'codeError') return true;
    return ['signIn', 'network', 'botWall'].includes(kind) ? fixed('early', [true, false]) : false;
  },

  async prejoin() {
    show(h('div', { css: boxCSS, text: 'Zoom' }));
    await delay(200, 900);
    await this.permissions();
    if (plan.scenario === 'terms') await this.terms();
    const name = h('input', { type: 'text', id: fixed('classic', [true, false, false]) ? 'inputname' : 'input-for-name', 'aria-label': text('name'), css: 'width:280px;height:36px' });
    const join = button(text('join'), { cls: 'preview-join-button disabled zm-btn', id: name.id === 'inputname' ? 'joinBtn' : undefined });
    const passcode = plan.scenario === 'passcode' ? h('input', { type: 'password', id: 'input-for-pwd', 'aria-label': text('passcode'), css: 'width:280px;height:36px' }) : null;
    // The state is in the words of the label, or only in the icon.
    const byIcon = fixed('device icons', [true, false]);
    const device = (kind, id, on, off, icons) => {
      const icon = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      icon.setAttribute('width', '20');
      icon.setAttribute('height', '20');
      const show = () => {
        element.setAttribute('aria-label', byIcon ? kind === 'mic' ? 'ไมโครโฟน' : 'กล้อง' : text(devices[kind] ? on : off));
        if (byIcon) icon.setAttribute('class', devices[kind] ? icons[0] : icons[1]);
      };
      const element = button(text(on), { id, icon: '●' }, () => {
        devices[kind] = !devices[kind];
        show();
      });
      element.replaceChildren(icon);
      show();
      return element;
    };
    const covering = plan.dialogs.includes('info');
    show(h('div', { cls: 'preview', css: 'position:relative;' + boxCSS }, [
      h('h1', { text: text('enterInfo') }),
      h('div', { css: 'width:320px;height:180px;background:#111' }, [
        device('mic', 'preview-audio-control-button', 'mute', 'unmute', ['SvgAudioMute', 'SvgAudioUnmute']),
        device('camera', 'preview-video-control-button', 'stopVideo', 'startVideo', ['SvgVideoOn', 'SvgVideoOff']),
      ]),
      h('div', {}, [name]), passcode && h('div', {}, [passcode]),
      h('div', { css: 'position:relative;height:48px', bare: true }, [
        join,
        covering && h('div', { cls: 'preview-meeting-info', css: 'position:absolute;inset:0;background:rgba(255,255,255,.4)', text: 'Zoom Meeting', bare: true }),
      ]),
    ]));
    const state = { ready: false };
    name.addEventListener('keydown', (event) => {
      if (!event.isTrusted || state.live) return;
      state.live = true;
      join.classList.remove('disabled');
      setTimeout(() => { state.ready = true; }, 200); // a click in this moment is lost
    });
    log('ready');
    for (;;) {
      await new Promise((resolve) => { join.onclick = resolve; });
      if (!state.ready || join.classList.contains('disabled') || !name.value.trim() || (passcode && !passcode.value)) continue;
      break;
    }
    plan.typed = name.value;
    await log('asked', `mic=${devices.mic} camera=${devices.camera} name=${name.value}`);
    show(h('div', { cls: 'meeting-app', css: boxCSS, bare: true }, [h('div', { role: 'progressbar', css: 'height:8px;width:200px;background:#48f', bare: true })]));
    await delay(150, 500);
  },

  // terms shows the terms of a company, and ends the visit of who does not agree.
  async terms() {
    const answer = await dialog({ title: text('terms'), buttons: [text('cancel'), text('agree')], buttonProperties: fixed('terms id', [[], [{}, { id: 'disclaimer_agree' }]]) });
    await log('terms', answer === 1 ? 'agreed' : 'refused');
    if (answer === 0) {
      show(h('div', { css: boxCSS, text: 'Zoom' }));
      await new Promise(() => {});
    }
  },

  // acknowledged shows a modal with only OK over whatever is there.
  async acknowledged(words, stays) {
    const modal = h('div', { cls: 'zm-modal', css: 'position:fixed;inset:120px;background:#fff;z-index:80', bare: true }, [h('div', { cls: 'zm-modal-body-title', text: words, bare: true })]);
    const pressed = new Promise((resolve) => { modal.append(button(text('ok'), {}, resolve)); });
    document.body.append(modal);
    await pressed;
    if (stays) return new Promise(() => {});
    modal.remove();
    return this.prejoin();
  },

  // permissions asks for the devices, up to twice.
  async permissions() {
    const count = plan.dialogs.includes('allowTwice') ? 2 : plan.dialogs.includes('allow') ? 1 : 0;
    this.allowed = count === 0;
    for (let i = 0; i < count; i++) {
      const answer = await dialog({ title: text('devices'), buttons: [text('allow'), text('withoutDevices')] });
      this.allowed = this.allowed || answer === 0;
      await delay(50, 300);
    }
    await log('devices', this.allowed ? 'allowed' : 'without');
  },

  async lobby(kind) {
    document.body.style.background = '#fff';
    show(h('div', { cls: 'meeting-app', css: boxCSS, bare: true }, [
      h('div', { cls: 'wr-topic', text: 'Weekly' }),
      h(fixed('lobby tag', ['div', 'span', 'h2']), { cls: 'wr-information', text: text(kind) }),
      button(text('leave'), { cls: 'leave-btn' }, () => left(this)),
    ]));
  },

  async call({ alone }) {
    this.members = alone ? [plan.typed] : shuffle([plan.typed, ...plan.people]);
    const stage = h('div', { cls: 'speaker-view', css: 'height:340px', bare: true });
    const count = this.members.length;
    const bar = h('footer', { id: 'wc-footer', css: 'position:fixed;bottom:0;left:0;right:0;height:60px;background:#222;color:#fff', bare: true }, [
      h('div', { mix: true }, [
        plan.dialogs.includes('joinAudio') && !alone ? this.joinAudio() : button(text('unmute'), { icon: '●' }),
        button(text('participants'), { icon: '☺' }, () => this.togglePanel('people')),
        h('span', { text: `${count} ${text('participantsWord')}` }),
        button(text('chat'), { icon: '▣' }, () => this.togglePanel('chat')),
        h('div', { role: 'button', tabindex: '0', 'aria-label': text('more'), css: 'display:inline-block;width:48px;height:40px' }, [h('i', { bare: true, text: '…' })]),
        h('div', { 'footer-section': 'right' }, [button(text('leave'), { icon: '✕' }, () => this.askLeave())]),
      ]),
    ]);
    this.stage = stage;
    show(h('div', { cls: 'meeting-app', css: 'height:100vh', bare: true }, [stage, bar]));
    this.hideToolbar(bar);
    if (alone) {
      stage.append(this.frame(plan.typed, true, drawing(7)));
      return;
    }
    const crowd = plan.scenario === 'crowd';
    plan.people.slice(0, crowd ? 1 : 3).forEach((name, i) => stage.append(this.frame(name, i === 0, drawing(i))));
    if (crowd) stage.querySelector('.speaker-active-container__video-frame').className = 'single-main-container__video-frame';
    if (plan.scenario === 'terms') await this.terms();
    talk((names) => this.showSpeaker(names));
    await delay(100, 800);
    if (this.allowed && !plan.dialogs.includes('joinAudio')) await this.startSound();
    if (plan.dialogs.includes('assistant')) dialog({ title: text('assistant'), buttons: [text('ok')] });
    if (plan.dialogs.includes('muted')) dialog({ title: text('mutedTip'), buttons: [text('ok')], attributes: { 'aria-modal': undefined } });
  },

  // startSound makes the audio element, which Zoom does not do without devices.
  async startSound() {
    const { sound } = await startMedia({ video: false });
    if (this.ended) return media.stop(); // it was requested just before the end
    document.body.append(audioElement(sound));
    await log('sound');
  },

  joinAudio() {
    const element = button(text('joinAudio'), {}, async () => {
      element.remove();
      await this.startSound();
    });
    return element;
  },

  frame(name, active, canvas) {
    canvas.style.cssText = 'width:220px;height:120px';
    return h('div', { cls: active ? 'speaker-active-container__video-frame' : 'speaker-bar-container__video-frame', css: 'display:inline-block;width:230px;height:150px', bare: true }, [
      canvas, h('div', { cls: 'video-avatar__avatar-footer', text: name, bare: true }),
    ]);
  },

  // showSpeaker puts who speaks, or spoke last, on the main tile.
  showSpeaker(names) {
    const active = this.stage.querySelector('.speaker-active-container__video-frame, .single-main-container__video-frame');
    if (active && names.length > 0) active.querySelector('.video-avatar__avatar-footer').textContent = names[0];
  },

  hideToolbar(bar) {
    let timer;
    const wake = () => {
      bar.style.opacity = '';
      bar.style.transform = '';
      clearTimeout(timer);
      timer = setTimeout(() => { bar.style.opacity = '0'; bar.style.transform = 'translateY(60px)'; }, 2500);
    };
    document.addEventListener('mousemove', wake);
    wake();
  },

  askLeave() {
    document.body.append(h('div', { cls: 'leave-meeting-options__inner', css: 'position:fixed;right:20px;bottom:70px;background:#fff;padding:10px', bare: true }, [
      button(text('leaveMeeting'), { cls: 'leave-meeting-options__btn leave-meeting-options__btn--danger' }, () => left(this)),
    ]));
  },

  togglePanel(kind) {
    const content = kind === 'people' && plan.scenario === 'crowd'
      ? this.crowd(this.members, (name) => h('div', { cls: 'participants-li', role: 'listitem', 'aria-label': `${name}${name === plan.typed ? ` ${text('me')}` : ''}, muted`, bare: true }, [h('span', { text: name })]))
      : kind === 'people' ? h('div', { role: 'list' }, this.members.map((name) => {
        const words = name === plan.typed ? `${name} ${text('me')}` : name;
        return h('div', { cls: 'participants-li', role: 'listitem', 'aria-label': words, bare: true }, [h('span', { text: words })]);
      }))
      : h('div', { role: 'grid', 'aria-label': text('chatList') }, (this.said || []).map(([author, message], i) => h('div', { role: 'row', id: `chat-message-${i}`, 'aria-label': `${author} to Everyone, ${message}`, bare: true }, [h('span', { text: author }), h('p', { text: message })])));
    this.openPanel(kind, () => h('div', { css: 'position:fixed;right:0;top:0;bottom:60px;width:280px;background:#fff;overflow:auto' }, [content]));
  },

  async consent() {
    const answer = await Promise.race([dialog({ title: text('consent'), buttons: [text('leaveMeeting'), text('gotIt')] }), sleep(12000)]);
    await log('consent', answer === 1 ? 'given' : 'refused');
    if (answer === 0) {
      await endMeeting(this, 'removed');
      await new Promise(() => {});
    }
  },

  async dialogs() {
    const kinds = { assistant: () => dialog({ title: text('assistant'), buttons: [text('ok')] }), tip: () => dialog({ title: text('mutedTip'), buttons: [text('gotIt')] }), strange: () => this.strange() };
    for (const kind of shuffle(Object.keys(kinds))) {
      await Promise.race([kinds[kind](), sleep(5000)]);
      await delay(200, 800);
    }
  },

  modal(words, buttons) {
    show(h('div', { cls: 'zm-modal', role: 'dialog', css: 'padding:40px', bare: true }, [h('div', { cls: 'zm-modal-body-title', text: words, bare: true }), ...buttons]));
  },

  async end(kind) {
    if (kind === 'ended') return this.modal(text('ended'), [button(text('ok'))]);
    if (kind === 'freeEnd') return this.acknowledged(text('freeEnd'), fixed('stays', [true, false]));
    if (kind === 'removed' || kind === 'denied') return this.modal(text('removed'), [button(text('ok'))]);
    show(h('div', { css: boxCSS, text: 'Zoom' }));
    return undefined;
  },

  async wall(kind) {
    const message = (words, ...extra) => show(h('div', { css: boxCSS }, [words && h(fixed('wall tag', ['h1', 'div', 'span']), { text: words }), ...extra]));
    if (kind === 'codeError') document.title = 'Error - Zoom';
    switch (kind) {
      case 'codeError': return message(`${fixed('code text', ['This meeting requires registration', 'Virhe', '无法加入'])} (${fixed('code', ['3,099', '3,100', '3,603'])})`);
      case 'locked': return this.acknowledged(text('locked'), fixed('stays', [true, false]));
      case 'finalModal': return this.acknowledged(text('finalModal'), true);
      case 'busyHost': return this.acknowledged(text('busyHost'), false);
      case 'registration': return message(text('register'), h('input', { type: 'text', placeholder: text('name'), css: 'height:32px' }), button('Register'));
      case 'notFound': return message(text('invalid'));
      case 'signIn': return message(text('signIn'), button(text('signInButton'), { cls: 'login-btn-zoom' }));
      case 'botWall': return message(text('bots'));
      case 'captcha': return message('', button(text('captcha')), h('input', { type: 'text', css: 'height:32px' }));
      case 'full': return this.modal(text('full'), [button(text('ok'))]);
      case 'passcode': return message(text('wrongPasscode'), h('input', { type: 'password', id: 'input-for-pwd', css: 'height:32px' }), button(text('join')));
      default: return this.modal(text('network'), [button(text('ok'))]);
    }
  },
};

// launcher is the page of numbered and personal links, which tries to start the
// desktop program first.
async function launcher() {
  document.title = 'Launch Meeting - Zoom';
  const frame = h('iframe', { css: 'display:none', bare: true });
  const next = `/wc/${plan.number}/join?pwd=${plan.passcode}`;
  const link = h('a', { href: next, text: text('browser') });
  const late = fixed('late link', [true, false]);
  const place = h('div', { bare: true }, late ? [] : [link]);
  show(h('div', { css: boxCSS }, [button(text('launch'), { role: 'button' }, () => place.replaceChildren(link)), place]), frame);
  if (plan.dialogs.includes('cookies')) {
    const banner = h('div', { id: 'onetrust-banner-sdk', css: 'position:fixed;inset:auto 0 0 0;height:160px;background:#ddd;z-index:40', bare: true }, [
      h('button', { id: 'onetrust-accept-btn-handler', type: 'button', text: text('cookies'), css: 'width:160px;height:40px', on: { click: () => banner.remove() } }),
    ]);
    document.body.append(banner);
  }
  await delay(200, 500);
  frame.src = `zoommtg://localhost/join?confno=${plan.number}`;
}

async function start() {
  await log('document', location.pathname);
  const path = location.pathname;
  if (path.startsWith('/j/') || path.startsWith('/my/')) return launcher();
  document.title = 'Zoom';
  if (plan.scenario === 'registration') {
    if (!path.startsWith('/webinar/')) return location.replace(`/webinar/register/WN_${plan.passcode}`);
    await log('over', 'registration');
    return page.wall('registration');
  }
  const starting = plan.scenario === 'invalid' && !seen.started;
  if (starting || plan.scenario === 'notFound') { // the host has not started, or there is no meeting
    await log(starting ? 'lobby' : 'over', 'invalid');
    document.title = text('invalidTitle');
    show(h('div', { css: boxCSS }, [h('div', { text: text('invalid') })]));
    if (starting) {
      await delay(2500, 4000);
      await log('started');
    }
    return undefined;
  }
  if (inFrame && !path.endsWith('/client')) {
    show(h('iframe', { id: 'webclient', src: `/wc/${plan.number}/client`, allow: 'microphone; camera; autoplay; display-capture', css: 'border:0;width:100vw;height:100vh', bare: true }));
    return undefined;
  }
  return play(page);
}
start();
