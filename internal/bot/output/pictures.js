// The bot's camera and shared screen. This script runs in a world of its own, which the
// page cannot reach: only the bot can show pictures. devices.js gives tracks of them to the
// page.
(() => {
  const key = Symbol.for("standin.pictures");
  if (window !== window.top || window[key]) return;
  const width = 1280, height = 720;
  const repeatMs = 1000; // after which a picture is sent again, so that encoders keep sending
  // A new picture is repeated faster first: WebRTC drops the first frames of a large picture,
  // and improves the next ones.
  const fastMs = 100, fastRepeats = 10;

  // Device sends the picture of its canvas on its tracks.
  class Device {
    #name;
    #canvas = new OffscreenCanvas(width, height);
    #context = this.#canvas.getContext("2d", {alpha: false, willReadFrequently: true});
    #source; // MediaStreamTrackGenerator, undefined until the page asks for the device
    #writer;
    #timer;
    #repeats = 0; // of the picture

    // offered is whether the page gets tracks.
    constructor(name, offered) {
      this.#name = name;
      this.offered = offered;
      document.addEventListener(`standin-${name}`, () => {
        if (!this.offered) return;
        const track = this.#open();
        document.dispatchEvent(new MediaStreamTrackEvent(`standin-${name}-track`, {track}));
      });
    }

    get opened() { return this.#source !== undefined; }

    // open returns a new track.
    #open() {
      if (!this.#source) {
        this.#source = new MediaStreamTrackGenerator({kind: "video"});
        this.#writer = this.#source.writable.getWriter();
      }
      const track = this.#source.clone();
      this.#sendNew();
      return track;
    }

    #sendNew() {
      this.#repeats = 0;
      this.#send();
    }

    #send() {
      clearTimeout(this.#timer);
      if (!this.#source) return;
      this.#timer = setTimeout(() => this.#send(), this.#repeats++ < fastRepeats ? fastMs : repeatMs);
      this.#writer.write(new VideoFrame(this.#canvas, {timestamp: Math.round(performance.now() * 1000)})).catch(() => {});
    }

    // draw shows what paint draws on black.
    draw(paint) {
      this.#context.fillStyle = "#000";
      this.#context.fillRect(0, 0, width, height);
      paint(this.#context);
      this.#sendNew();
    }

    // end ends all tracks, as if a person stopped the device.
    end() {
      this.offered = false;
      this.#writer?.close().catch(() => {});
      this.#source = this.#writer = undefined;
      this.draw(() => {});
    }
  }

  const devices = {camera: new Device("camera", true), screen: new Device("screen", false)};

  // paintName paints a name card. Pages cut the sides of tiles.
  const paintName = name => context => {
    context.fillStyle = "#1e293b";
    context.fillRect(0, 0, width, height);
    context.fillStyle = "#f8fafc";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let size = 96; size > 16; size -= 4) {
      context.font = `600 ${size}px sans-serif`;
      if (context.measureText(name).width <= 0.7 * width) break;
    }
    context.fillText(name, width / 2, height / 2, 0.7 * width);
  };

  window[key] = {
    // show shows an image, in base64, as large as it fits.
    async show(device, image) {
      const bytes = Uint8Array.from(atob(image), character => character.charCodeAt(0));
      const bitmap = await createImageBitmap(new Blob([bytes]));
      const scale = Math.min(width / bitmap.width, height / bitmap.height), [w, h] = [scale * bitmap.width, scale * bitmap.height];
      devices[device].draw(context => context.drawImage(bitmap, (width - w) / 2, (height - h) / 2, w, h));
      bitmap.close();
    },

    showName(device, name) { devices[device].draw(paintName(name)); },
    clear(device) { devices[device].draw(() => {}); },
    offer(device) { devices[device].offered = true; },
    opened(device) { return devices[device].opened; },
    end(device) { devices[device].end(); },
  };
})();
