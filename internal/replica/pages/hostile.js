// The attempts of a hostile page: it connects to every URL in several ways, and asks for the
// devices of a bot. The trap server records successful connections. Errors must not break
// the page.

const attemptTimeoutMs = 3000;

const methods = {
  fetch: (url) => fetch(url, { mode: "no-cors", signal: AbortSignal.timeout(attemptTimeoutMs) }),

  img: (url) => new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = resolve;
    image.onerror = reject;
    image.src = url;
  }),

  websocket: (url) => new Promise((resolve, reject) => {
    const socket = new WebSocket(url.replace("http:", "ws:"));
    socket.onopen = resolve;
    socket.onerror = reject;
    setTimeout(() => socket.close(), attemptTimeoutMs);
  }),

  iframe: (url) => new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.hidden = true;
    frame.src = url;
    frame.onload = resolve;
    document.body.append(frame);
    setTimeout(() => frame.remove(), attemptTimeoutMs);
  }),
};

const timeout = () => new Promise((_, reject) => setTimeout(() => reject(new Error("timeout")), attemptTimeoutMs));

// takeDevice asks a bot's scripts for a track, as they ask each other.
function takeDevice(device) {
  let taken = "failed";
  const receive = () => { taken = "succeeded"; };
  window.top.document.addEventListener(`standin-${device}-track`, receive);
  window.top.document.dispatchEvent(new Event(`standin-${device}`));
  window.top.document.removeEventListener(`standin-${device}-track`, receive);
  return `take the ${device}: ${taken}`;
}

// probe makes all attempts and returns their results as text.
export async function probe(targets, guest) {
  const attempts = targets.flatMap((target) => Object.keys(methods).map(async (by) => {
    const url = new URL(target);
    url.searchParams.set("by", by);
    url.searchParams.set("guest", guest);
    try {
      await Promise.race([methods[by](url.href), timeout()]);
      return `${by} ${url.host}: succeeded`;
    } catch (problem) {
      return `${by} ${url.host}: ${problem?.message ?? "failed"}`;
    }
  }));
  return (await Promise.all(attempts)).concat(["microphone", "camera", "screen"].map(takeDevice)).join("\n");
}
