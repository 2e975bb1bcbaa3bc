// The screen of an admitted guest: tiles, controls and panels.

import { hideBar, showTip } from "/assets/bar.js";
import { Captions } from "./captions.js";
import { leaveButton } from "./leaving.js";
import { modal } from "./modal.js";
import { Panels } from "./panels.js";
import { Recording } from "./recording.js";
import { Tiles } from "./tiles.js";
import { notices } from "./words.js";

export class Call {
  #stage;
  #devices;
  #tiles;
  #panels;
  #recording;
  #captions;
  #notice = null; // the current notice
  #noticeDialog = null;

  constructor(element, stage, devices) {
    this.#stage = stage;
    this.#devices = devices;
    this.#tiles = new Tiles(element, stage);
    this.#panels = new Panels(element, stage);
    this.#recording = new Recording(element, stage);
    this.#captions = new Captions(element.querySelector(".meeting-client"), element.querySelector("[data-captions]"));
    const footer = element.querySelector("#wc-footer");
    leaveButton(footer, stage);
    moreMenu(footer);
    hideBar(footer, ".leave-meeting-options, .dropdown-menu:not([hidden])");
    if (stage.state.meeting.tips) showTip(document.getElementById("notifications"));
  }

  follow(state) {
    this.#tiles.update(state.participants);
    this.#panels.follow(state);
    this.#recording.follow(state);
    this.#captions.follow(state);
    this.#consent(state.notices[0] ?? null);
  }

  // consent shows the first notice that is not accepted.
  #consent(notice) {
    if (notice === this.#notice) return;
    this.#notice = notice;
    this.#noticeDialog?.remove();
    if (!notice) return;
    this.#noticeDialog = modal({
      title: notices[notice],
      content: "By staying in this meeting, you consent to it.",
      buttons: [["Leave Meeting", () => this.#stage.leave()], ["Got it", () => this.#stage.accept(notice)]],
    });
  }

  stream(id, media) { this.#tiles.setStream(id, media); }

  tick() { this.#tiles.showSpeaking(this.#stage.state.participants, (participant) => this.#stage.isSpeaking(participant)); }

  // offersAudio reports whether the guest has not joined audio.
  offersAudio() { return !this.#devices.stream || !this.#tiles.playsAudio(); }

  // joinAudio is offered if the guest has no microphone or the page plays no audio.
  joinAudio() {
    const join = async () => {
      if (!this.#devices.stream) await this.#devices.request();
      this.#tiles.joinAudio();
      this.#devices.set({});
    };
    modal({
      title: "Join Audio",
      buttons: [["Close", () => {}], ["Join Audio by Computer", join]],
    });
  }
}

function moreMenu(footer) {
  const menu = footer.querySelector(".dropdown-menu");
  const more = footer.querySelector("[data-more]");
  const show = (open) => {
    menu.hidden = !open;
    more.ariaExpanded = open;
  };
  more.addEventListener("click", () => show(menu.hidden));
  menu.addEventListener("click", () => show(false));
}
