// The page that a meeting's link opens: it would rather start the program, and
// shows the way to the web client only when that was tried.

import { fresh, say, speak } from "/assets/language.js";
import { NoMeeting, look } from "/assets/stage.js";
import { meetingCode } from "./address.js";
import { cookieBanner } from "./cookies.js";
import { dictionaries, screens } from "./words.js";

const triesToOpen = 800; // ms until the page takes it that no program came

const root = document.getElementById("root");
const code = meetingCode();

function showLauncher() {
  root.replaceChildren(fresh("launcher"));
  const launch = root.querySelector(".launch");
  const other = root.querySelector("[data-browser]");
  other.querySelector("a").href = webClient();
  const start = () => {
    location.assign(`zoommtg://${location.hostname}/join?action=join&confno=${code}`);
    setTimeout(() => { other.hidden = false; }, triesToOpen);
  };
  launch.addEventListener("click", start);
  launch.addEventListener("keydown", (event) => { if (event.key === "Enter") start(); });
}

// webClient is the address of the meeting's own page; the passcode and the token
// of a registration go with it.
function webClient() {
  const address = new URL(`/wc/${code}/join`, location.origin);
  const asked = new URLSearchParams(location.search);
  for (const name of ["pwd", "tk"]) if (asked.has(name)) address.searchParams.set(name, asked.get(name));
  return address.href;
}

function showInvalid() {
  document.title = "Error - Zoom";
  root.replaceChildren(fresh("invalid"));
  root.querySelector("[data-text]").textContent = say(screens.not_found);
}

try {
  const settings = await look(code);
  speak(settings.language, dictionaries);
  showLauncher();
  if (settings.cookieBanner) cookieBanner();
} catch (problem) {
  if (!(problem instanceof NoMeeting)) throw problem;
  showInvalid();
}
