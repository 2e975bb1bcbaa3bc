// The launcher, which shows the link to the web client only after an attempt to start
// the app.

import { fresh, say, speak } from "/assets/language.js";
import { NoMeeting, loadSettings } from "/assets/stage.js";
import { meetingCode } from "./address.js";
import { cookieBanner } from "./cookies.js";
import { dictionaries, screens } from "./words.js";

const appTimeoutMs = 800; // until the link to the web client is shown

const root = document.getElementById("root");
const code = meetingCode();

function showLauncher() {
  root.replaceChildren(fresh("launcher"));
  const launch = root.querySelector(".launch");
  const other = root.querySelector("[data-browser]");
  other.querySelector("a").href = webClient();
  const start = () => {
    location.assign(`zoommtg://${location.hostname}/join?action=join&confno=${code}`);
    setTimeout(() => { other.hidden = false; }, appTimeoutMs);
  };
  launch.addEventListener("click", start);
  launch.addEventListener("keydown", (event) => { if (event.key === "Enter") start(); });
}

// webClient returns the URL of the web client with passcode and registration token.
function webClient() {
  const address = new URL(`/wc/${code}/join`, location.origin);
  const query = new URLSearchParams(location.search);
  for (const name of ["pwd", "tk"]) if (query.has(name)) address.searchParams.set(name, query.get(name));
  return address.href;
}

function showInvalid() {
  document.title = "Error - Zoom";
  root.replaceChildren(fresh("invalid"));
  root.querySelector("[data-text]").textContent = say(screens.not_found);
}

try {
  const settings = await loadSettings(code);
  speak(settings.language, dictionaries);
  showLauncher();
  if (settings.cookieBanner) cookieBanner();
} catch (error) {
  if (!(error instanceof NoMeeting)) throw error;
  showInvalid();
}
