// Zoom's dialogs.

import { fresh, say } from "/assets/language.js";

const dialogs = document.getElementById("dialogs");

// modal shows a dialog. Buttons are [text, action]; the last one is the primary button.
// All buttons close the dialog.
export function modal({ title, content = "", label = "", buttons = [] }) {
  const element = fresh("modal");
  element.firstElementChild.ariaLabel = label || say(title);
  fill(element.querySelector(".zm-modal-body-title"), title);
  fill(element.querySelector(".zm-modal-body-content"), content);
  const footer = element.querySelector(".zm-modal-footer");
  for (const [text, action] of buttons) footer.append(button(text, () => { element.remove(); action(); }));
  footer.lastElementChild?.classList.add("zm-btn--primary");
  dialogs.append(element);
  return element;
}

export const closeDialogs = () => dialogs.replaceChildren();

function fill(element, text) {
  element.textContent = say(text);
  element.hidden = !text;
}

export function button(text, action) {
  const element = document.createElement("button");
  element.type = "button";
  element.className = "zm-btn";
  element.textContent = say(text);
  element.addEventListener("click", action);
  return element;
}
