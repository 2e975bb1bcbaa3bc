// The cookie banner, which covers the lower part of the page until it is answered.

import { fresh } from "/assets/language.js";
import { meetingCode } from "./address.js";

// Shown once per meeting and tab.
const storageKey = `cookies:${meetingCode()}`;

export function cookieBanner() {
  if (sessionStorage.getItem(storageKey)) return;
  const banner = fresh("cookies");
  for (const id of ["onetrust-accept-btn-handler", "onetrust-reject-all-handler"]) {
    banner.querySelector(`#${id}`).addEventListener("click", () => {
      sessionStorage.setItem(storageKey, "answered");
      banner.remove();
    });
  }
  document.body.append(banner);
}
