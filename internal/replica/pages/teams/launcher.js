// The launcher, which offers the app and the browser.

import { fresh } from "/assets/language.js";
import { NoMeeting, loadSettings } from "/assets/stage.js";
import { clientAddress, meetingAddress } from "./address.js";
import { speak } from "./words.js";

const address = meetingAddress(location.href);

// The launcher is also shown if the meeting does not exist.
let settings = { language: "en", cookieBanner: false };
try {
  settings = await loadSettings(address.code);
} catch (error) {
  if (!(error instanceof NoMeeting)) throw error;
}

speak(settings.language);
const choice = fresh("choice");
choice.querySelector("[data-browser]").addEventListener("click", () => location.assign(clientAddress(address)));
choice.querySelector("[data-app]").addEventListener("click", () => {
  choice.querySelector("[data-app-missing]").hidden = false;
});
document.getElementById("screen").append(choice);
if (settings.cookieBanner) {
  const cookies = fresh("cookies");
  cookies.addEventListener("click", (event) => {
    if (event.target.closest("[data-cookies]")) cookies.remove();
  });
  document.body.append(cookies);
}
