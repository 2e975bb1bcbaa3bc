// The launcher: it asks whether to go on in the app or in the browser.

import { fresh } from "/assets/language.js";
import { NoMeeting, look } from "/assets/stage.js";
import { clientAddress, meetingAddress } from "./address.js";
import { speak } from "./words.js";

const address = meetingAddress(location.href);

// A meeting that does not exist has a launcher too: it is the client that tells.
let settings = { language: "en", cookieBanner: false };
try {
  settings = await look(address.code);
} catch (problem) {
  if (!(problem instanceof NoMeeting)) throw problem;
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
