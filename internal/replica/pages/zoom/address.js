// meetingCode is the number of the meeting that the page's address speaks of. It
// stands in one of several places of the path (platforms: URL forms, Zoom).
export const meetingCode = () => location.pathname.match(/\d{9,11}/)?.[0] ?? "none";

// passcode is what the address brings along.
export const passcode = () => new URLSearchParams(location.search).get("pwd") ?? "";
