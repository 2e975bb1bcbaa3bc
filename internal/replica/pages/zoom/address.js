// meetingCode returns the number of the meeting in the path of the URL.
export const meetingCode = () => location.pathname.match(/\d{9,11}/)?.[0] ?? "none";

// passcode returns the passcode in the URL.
export const passcode = () => new URLSearchParams(location.search).get("pwd") ?? "";
