// The leave button of the lobby and of the meeting, which opens a menu.

import { fresh } from "/assets/language.js";

export function leaveButton(footer, stage) {
  const leave = footer.querySelector(".footer__leave-btn");
  const close = () => footer.querySelector(".leave-meeting-options")?.remove();
  leave.addEventListener("click", () => {
    if (stage.state.meeting.leaveAtOnce) {
      stage.leave();
      return;
    }
    if (footer.querySelector(".leave-meeting-options")) {
      close();
      return;
    }
    const menu = fresh("leaving");
    menu.querySelector(".leave-meeting-options__btn--danger").addEventListener("click", () => stage.leave());
    menu.querySelector("[data-cancel]").addEventListener("click", close);
    footer.append(menu);
  });
}
