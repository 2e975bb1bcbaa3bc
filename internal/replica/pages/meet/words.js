// The texts of the page and their German translations. German is used if the URL asks
// for no language.

import { speak as choose } from "/assets/language.js";

// screens are the texts of the states.
export const screens = {
  lobby: "Asking to be let in. You'll join the call when someone lets you in",
  waiting_for_host: "Waiting for the host to join",
  denied: "Someone in the call denied your request to join",
  lobby_timeout: "No one responded to your request to join the call",
  removed: "You've been removed from the meeting",
  ended: "Your host ended the meeting for everyone",
  left: "You left the meeting",
  not_found: "Check your meeting code",
  blocked: "You can't join this video call",
};

export const notices = {
  recorded: "This video call is being recorded",
  transcribed: "This video call is being transcribed",
  gemini: "Gemini is taking notes",
  shared: "Your call audio and video will be shared with Read AI",
};

const german = {
  "Ask to join": "Teilnahme anfragen",
  "Asking to be let in. You'll join the call when someone lets you in": "Bitte warten, bis dich jemand in den Anruf lässt",
  "Call controls": "Anrufsteuerung",
  "Camera is off": "Kamera ist aus",
  "Cancel": "Abbrechen",
  "Chat with everyone": "Mit allen chatten",
  "Check your meeting code": "Überprüfe deinen Besprechungscode",
  "Continue without microphone and camera": "Ohne Mikrofon und Kamera fortfahren",
  "Got it": "Ok",
  "Join now": "Jetzt teilnehmen",
  "Just leave the meeting": "Nur den Anruf verlassen",
  "Leave call": "Anruf verlassen",
  "No one responded to your request to join the call": "Niemand hat auf deine Anfrage reagiert",
  "Participants": "Teilnehmer",
  "Return to home": "Zurück zum Startbildschirm",
  "Send a message": "Nachricht senden",
  "Share screen": "Bildschirm teilen",
  "Stop sharing": "Freigabe beenden",
  "Someone in the call denied your request to join": "Jemand im Anruf hat deine Anfrage abgelehnt",
  "This video call is being recorded": "Dieser Videoanruf wird aufgezeichnet",
  "This video call is being transcribed": "Dieser Videoanruf wird transkribiert",
  "Turn off camera": "Kamera deaktivieren",
  "Turn off captions": "Untertitel deaktivieren",
  "Turn off microphone": "Mikrofon deaktivieren",
  "Turn on camera": "Kamera aktivieren",
  "Turn on captions": "Untertitel aktivieren",
  "Turn on microphone": "Mikrofon aktivieren",
  "Waiting for the host to join": "Es wird auf den Organisator gewartet",
  "What's your name?": "Wie heißt du?",
  "You can't join this video call": "Du kannst an diesem Videoanruf nicht teilnehmen",
  "You left the meeting": "Du hast den Anruf verlassen",
  "You've been removed from the meeting": "Du wurdest aus dem Anruf entfernt",
  "Your host ended the meeting for everyone": "Der Organisator hat den Anruf für alle beendet",
  "You lost your network connection. Trying to reconnect": "Die Netzwerkverbindung ist unterbrochen. Verbindung wird wiederhergestellt",
  "Your name": "Mein Name",
};

// speak sets the language: that of the URL or of the meeting.
export function speak(meetingLanguage) {
  choose(new URLSearchParams(location.search).get("hl") ?? meetingLanguage, { de: german });
}

// people returns the label of the People button.
export const people = (count) =>
  document.documentElement.lang.startsWith("de") ? `Personen – ${count} im Anruf` : `People - ${count} joined`;
