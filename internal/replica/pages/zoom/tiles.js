// The gallery of a Zoom meeting.

import { say } from "/assets/language.js";
import { TileGrid, element, initial } from "/assets/tilegrid.js";
import { moreOptions } from "./words.js";

const frameClass = "gallery-video-container__video-frame";

export class Tiles extends TileGrid {
  constructor(call, stage) {
    // The guest has two tiles, in the gallery and above it.
    const { name } = stage.state;
    super(stage, call.querySelector(".gallery-video-container"), createTile(name), 10);
    call.querySelector(".self-video").append(createTile(name));
  }

  playsAudio() { return this.stage.state.meeting.audio === "" || this.audioJoined; }

  // joinAudio plays the audio from now on, unless the meeting never does.
  joinAudio() {
    if (this.stage.state.meeting.audio === "never") return;
    this.audioJoined = true;
    this.startAudio();
  }

  mediaParent(tile) { return tile.firstElementChild; }

  // createTile adds the menu behind the three dots.
  createTile(participant) {
    const tile = createTile(participant.name);
    const options = element("div", "avatar-more");
    const dots = element("button", "", "•••");
    dots.type = "button";
    dots.ariaLabel = moreOptions(participant.name);
    const menu = element("div", "dropdown-menu");
    menu.setAttribute("role", "menu");
    menu.hidden = true;
    const pin = element("a", "dropdown-item");
    pin.tabIndex = 0;
    pin.setAttribute("role", "menuitem");
    menu.append(pin);
    dots.addEventListener("click", () => {
      menu.hidden = !menu.hidden;
      pin.textContent = say(this.pinned === participant.id ? "Remove Pin" : "Pin");
    });
    pin.addEventListener("click", () => {
      menu.hidden = true;
      this.togglePin(participant.id);
    });
    options.append(dots, menu);
    tile.append(options);
    return tile;
  }

  createPresentation() {
    const tile = element("div", "sharee-container");
    tile.append(element("div", "sharee-container__viewport"));
    return tile;
  }

  // showSpeaking marks the tiles of participants who speak.
  showSpeaking(participants, isSpeaking) {
    for (const participant of participants) {
      this.tiles.get(participant.id)?.classList.toggle(`${frameClass}--active`, isSpeaking(participant));
    }
  }
}

function createTile(name) {
  const frame = element("div", frameClass);
  const avatar = element("div", "video-avatar__avatar");
  const footer = element("div", "video-avatar__avatar-footer");
  footer.append(element("span", "", name));
  avatar.append(element("span", "video-avatar__avatar-title", initial(name)), footer);
  frame.append(avatar);
  return frame;
}
