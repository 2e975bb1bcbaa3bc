// The tiles of a Teams meeting.

import { say } from "/assets/language.js";
import { TileGrid, element, initial } from "/assets/tilegrid.js";

export class Tiles extends TileGrid {
  #alone;
  #withAudio;
  #hadOthers = false; // another participant has been present

  constructor(call, stage, withAudio) {
    const { name } = stage.state;
    super(stage, call.querySelector(".tiles"), createTile(name), 9);
    this.#alone = call.querySelector(".alone");
    this.#withAudio = withAudio;
    // The guest has two tiles, in the grid and above it.
    const selfView = createTile(name);
    selfView.ariaLabel = "My video";
    call.querySelector(".self-view").append(selfView);
    // A click outside of a menu closes it.
    call.addEventListener("click", (event) => {
      for (const menu of call.querySelectorAll(".menu")) if (!menu.parentElement.contains(event.target)) menu.remove();
    });
  }

  mediaParent(tile) { return tile.firstElementChild; }

  playsAudio() { return this.#withAudio; }

  update(participants) {
    super.update(participants);
    this.#hadOthers ||= participants.length > 0;
    this.#alone.hidden = participants.length > 0;
    this.#alone.textContent = say(this.#hadOthers ? "You're the only one here" : "Waiting for others to join");
  }

  createTile(participant) {
    const tile = createTile(participant.name);
    // The outline always exists. It is visible while the participant speaks.
    const outline = document.createElement("div");
    outline.dataset.tid = "voice-level-stream-outline";
    tile.firstElementChild.append(outline, this.#options(participant.id));
    return tile;
  }

  createPresentation({ name }) {
    const tile = element("div", "tile");
    const stream = element("div", "stream");
    stream.dataset.streamType = "ScreenSharing";
    stream.dataset.tid = name;
    tile.append(stream);
    return tile;
  }

  #options(id) {
    const options = element("div", "options");
    const button = element("button", "", "•••");
    button.ariaLabel = say("More options");
    button.ariaHasPopup = "menu";
    button.addEventListener("click", () => {
      const open = options.querySelector(".menu");
      if (open) open.remove();
      else options.append(this.#menu(id));
    });
    options.append(button);
    return options;
  }

  #menu(id) {
    const menu = element("div", "menu");
    menu.setAttribute("role", "menu");
    const pin = element("button", "", say(this.pinned === id ? "Unpin" : "Pin for me"));
    pin.setAttribute("role", "menuitem");
    pin.addEventListener("click", () => {
      menu.remove();
      this.togglePin(id);
    });
    menu.append(pin);
    return menu;
  }

  // showSpeaking marks the tiles of participants who speak.
  showSpeaking(participants, isSpeaking) {
    for (const participant of participants) {
      this.tiles.get(participant.id)?.querySelector('[data-tid="voice-level-stream-outline"]')
        .classList.toggle("vdi-frame-occlusion", isSpeaking(participant));
    }
  }
}

// createTile returns a tile: the outer element is the participant's, the inner one the
// stream's, which has the name.
function createTile(name) {
  const tile = element("div", "tile");
  tile.dataset.cid = "calling-participant-stream";
  const stream = element("div", "stream");
  stream.dataset.streamType = "Video";
  stream.dataset.tid = name;
  stream.ariaLabel = name;
  stream.append(element("span", "avatar", initial(name)), element("span", "name", name));
  tile.append(stream);
  return tile;
}
