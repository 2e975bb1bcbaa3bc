// Parses the URLs of Teams meetings.

// meetingAddress returns the code and the passcode in a URL.
export function meetingAddress(href) {
  const text = decoded(href);
  const code = text.match(/(?:meet\/|meeting_)(\d{12,15})(?!\d)/) ?? text.match(/(?<![\w-])(\d{12,15})(?![\w-])/);
  const passcode = text.match(/[?&]p=([^&#]*)/) ?? text.match(/"passcode":"([^"]*)"/);
  return { code: code?.[1] ?? "unknown", passcode: passcode?.[1] ?? "" };
}

// decoded undoes up to three levels of percent-encoding and appends the decoded
// coordinates of a light meeting.
function decoded(href) {
  const coordinates = new URL(href).searchParams.get("coords");
  let text = href;
  if (coordinates) {
    try {
      text += " " + atob(coordinates.replaceAll("-", "+").replaceAll("_", "/"));
    } catch {
      // not base64
    }
  }
  for (let i = 0; i < 3; i++) {
    try {
      text = decodeURIComponent(text);
    } catch {
      break; // a literal percent sign
    }
  }
  return text;
}

// clientAddress returns the URL of the web client.
export function clientAddress({ code, passcode }) {
  const query = passcode ? `?p=${encodeURIComponent(passcode)}` : "";
  return `/v2/?meetingjoin=true#/meet/${code}${query}`;
}
