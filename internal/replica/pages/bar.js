// What the call pages of Meet and Teams do with their controls.

import { fresh } from "/assets/language.js";

const barHideMs = 4000; // after the last mouse move

// hideBar hides the controls until the mouse moves.
export function hideBar(bar) {
  let timer = 0;
  document.onmousemove = () => {
    bar.classList.add("shown");
    clearTimeout(timer);
    timer = setTimeout(() => bar.classList.remove("shown"), barHideMs);
  };
}

// showTip shows a tip about the controls that stays until it is dismissed.
export function showTip(dialogs) {
  const tip = fresh("tip");
  tip.querySelector("[data-got-it]").addEventListener("click", () => tip.remove());
  dialogs.append(tip);
}
