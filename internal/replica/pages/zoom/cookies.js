// The question about cookies: it lies over the lower part of the page until it
// is answered, and takes the clicks that are meant for what is beneath.

import { fresh } from "/assets/language.js";
import { meetingCode } from "./address.js";

// It is asked once for each meeting that a tab opens.
const memory = `cookies:${meetingCode()}`;

export function cookieBanner() {
  if (sessionStorage.getItem(memory)) return;
  const banner = fresh("cookies");
  for (const id of ["onetrust-accept-btn-handler", "onetrust-reject-all-handler"]) {
    banner.querySelector(`#${id}`).addEventListener("click", () => {
      sessionStorage.setItem(memory, "answered");
      banner.remove();
    });
  }
  document.body.append(banner);
}
