// What the page of a hostile meeting tries: every address it is given, by every
// means a script has. What comes of it is known where it arrives; the page only
// says that it has tried. Nothing here may break the page.

const patience = 3000; // ms for one attempt

const means = {
  fetch: (url) => fetch(url, { mode: "no-cors", signal: AbortSignal.timeout(patience) }),

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
    setTimeout(() => socket.close(), patience);
  }),

  iframe: (url) => new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.hidden = true;
    frame.src = url;
    frame.onload = resolve;
    document.body.append(frame);
    setTimeout(() => frame.remove(), patience);
  }),
};

const giveUp = () => new Promise((_, reject) => setTimeout(() => reject(new Error("no answer")), patience));

// probe returns what the page saw of each attempt, for people.
export async function probe(targets, guest) {
  const attempts = targets.flatMap((target) => Object.keys(means).map(async (by) => {
    const url = new URL(target);
    url.searchParams.set("by", by);
    url.searchParams.set("guest", guest);
    try {
      await Promise.race([means[by](url.href), giveUp()]);
      return `${by} ${url.host}: answered`;
    } catch (problem) {
      return `${by} ${url.host}: ${problem?.message ?? "failed"}`;
    }
  }));
  return (await Promise.all(attempts)).join("\n");
}
