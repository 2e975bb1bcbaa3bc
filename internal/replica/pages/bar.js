// What the pages of all platforms do with the controls of a call.

import { fresh } from "/assets/language.js";

const barHideMs = 4000; // after the last mouse move

// hideBar hides the controls until the mouse moves, unless one of the open menus is there.
export function hideBar(bar, openMenus = ":not(*)") {
  let timer = 0;
  const hide = () => {
    if (bar.querySelector(openMenus)) timer = setTimeout(hide, barHideMs);
    else bar.classList.remove("shown");
  };
  document.onmousemove = () => {
    bar.classList.add("shown");
    clearTimeout(timer);
    timer = setTimeout(hide, barHideMs);
  };
}

// showTip shows a tip about the controls that stays until it is dismissed.
export function showTip(parent) {
  const tip = fresh("tip");
  tip.querySelector("[data-got-it]").addEventListener("click", () => tip.remove());
  parent.append(tip);
}
