// The address of a Teams meeting in any of its forms (platforms: URL forms).

// meetingAddress finds the code and the passcode that an address speaks of.
export function meetingAddress(href) {
  const text = unwrapped(href);
  const code = text.match(/(?:meet\/|meeting_)(\d{12,15})(?!\d)/) ?? text.match(/(?<![\w-])(\d{12,15})(?![\w-])/);
  const passcode = text.match(/[?&]p=([^&#]*)/) ?? text.match(/"passcode":"([^"]*)"/);
  return { code: code?.[1] ?? "unknown", passcode: passcode?.[1] ?? "" };
}

// unwrapped undoes the percent-encoding, which comes up to three times, and
// opens the coordinates of a light meeting.
function unwrapped(href) {
  const coordinates = new URL(href).searchParams.get("coords");
  let text = href;
  if (coordinates) {
    try {
      text += " " + atob(coordinates.replaceAll("-", "+").replaceAll("_", "/"));
    } catch {
      // No base64: then the meeting is not in there.
    }
  }
  for (let i = 0; i < 3; i++) {
    try {
      text = decodeURIComponent(text);
    } catch {
      break; // a bare percent sign is text
    }
  }
  return text;
}

// clientAddress is where the launcher sends who continues in the browser.
export function clientAddress({ code, passcode }) {
  const query = passcode ? `?p=${encodeURIComponent(passcode)}` : "";
  return `/v2/?meetingjoin=true#/meet/${code}${query}`;
}
