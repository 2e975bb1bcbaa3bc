// The tiles of a Meet call.

import { TileGrid, element, initial } from "/assets/tilegrid.js";

export class Tiles extends TileGrid {
  constructor(call, stage) {
    const { guest, name } = stage.state;
    const self = { id: guest, name };
    // The guest has two tiles, in the grid and above it. Only one is marked as the
    // guest's own.
    const selfTile = createTile(stage, self);
    selfTile.querySelector(".name").dataset.selfName = name;
    super(stage, call.querySelector(".tiles"), selfTile, 9);
    call.querySelector(".self-view").append(createTile(stage, self));
  }

  identity(id) { return identity(this.stage, id); }

  createTile(participant) {
    const tile = createTile(this.stage, participant);
    const pin = element("button", "round pin");
    pin.ariaLabel = `Pin ${participant.name} to your main screen`;
    pin.append(icon("pin"));
    pin.addEventListener("click", () => this.togglePin(participant.id));
    const indicator = element("span", "indicator");
    indicator.append(...["i", "i", "i"].map((name) => document.createElement(name)));
    tile.append(pin, indicator);
    return tile;
  }

  createPresentation({ id, name }) { return createTile(this.stage, { id: `${id}-presentation`, name: `${name} (Presentation)` }); }

  pin(id) {
    super.pin(id);
    for (const [other, tile] of this.tiles) {
      const pinned = other === id;
      const name = tile.querySelector(".name").textContent;
      tile.querySelector(".pin").ariaLabel = `${pinned ? "Unpin" : "Pin"} ${name} ${pinned ? "from" : "to"} your main screen`;
    }
  }

  // showSpeaking marks the tiles of participants who speak.
  showSpeaking(participants, isSpeaking) {
    for (const participant of participants) this.tiles.get(participant.id)?.classList.toggle("speaking", isSpeaking(participant));
  }
}

const identity = (stage, id) => `spaces/${stage.code}/devices/${id}`;

function createTile(stage, { id, name }) {
  const tile = element("div", "tile");
  tile.dataset.participantId = identity(stage, id);
  tile.append(element("span", "avatar", initial(name)), element("span", "name", name));
  return tile;
}

function icon(name) {
  const namespace = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(namespace, "svg");
  const use = document.createElementNS(namespace, "use");
  use.setAttribute("href", `#${name}`);
  svg.append(use);
  return svg;
}
