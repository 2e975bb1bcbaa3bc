// The texts of the page.

import { speak as choose } from "/assets/language.js";

// screens are the texts of the states. Those of waiting_for_host and lobby_timeout are
// invented, because the real ones are not known.
export const screens = {
  lobby: "Someone will let you in shortly",
  waiting_for_host: "When the meeting starts, we'll let people know you're waiting",
  denied: "Sorry, but you were denied access to the meeting",
  lobby_timeout: "No one responded to your request to join",
  removed: "You've been removed from this meeting",
  ended: "Meeting ended",
  left: "You left the meeting",
  not_found: "Looks like the meeting URL is incorrect. Please check the URL and try again.",
  blocked: "Sorry, we couldn't connect you",
  captcha: "Verify you're a real person",
};

export const notices = {
  recorded: "Recording has started",
  transcribed: "Transcription has started",
};

const german = {
  "Accept": "Akzeptieren",
  "Already have it? Go right to your meeting.": "Schon vorhanden? Direkt zur Besprechung wechseln.",
  "Are you sure you don't want audio or video?": "Möchten Sie wirklich kein Audio oder Video verwenden?",
  "Call ended": "Anruf beendet",
  "Cancel": "Abbrechen",
  "Chat": "Chat",
  "Computer audio": "Computeraudio",
  "Continue on this browser": "In diesem Browser fortfahren",
  "Continue without audio or video": "Ohne Audio oder Video fortfahren",
  "Dismiss": "Schließen",
  "Don't use audio": "Kein Audio verwenden",
  "Got it": "Ok",
  "How do you want to join your Teams meeting?": "Wie möchten Sie an Ihrer Teams-Besprechung teilnehmen?",
  "Join meeting from this browser": "Über diesen Browser an der Besprechung teilnehmen",
  "Join now": "Jetzt teilnehmen",
  "Join on the Teams app": "In der Teams-App teilnehmen",
  "Leave": "Verlassen",
  "Looks like the meeting URL is incorrect. Please check the URL and try again.": "Die Besprechungs-URL scheint falsch zu sein. Überprüfen Sie die URL, und versuchen Sie es noch einmal.",
  "Meeting ended": "Besprechung beendet",
  "More": "Mehr",
  "More options": "Weitere Optionen",
  "Mute mic": "Mikrofon stummschalten",
  "No download or installation required.": "Kein Herunterladen oder Installieren nötig.",
  "No one responded to your request to join": "Niemand hat auf Ihre Anfrage reagiert",
  "People": "Personen",
  "Pin for me": "Für mich anheften",
  "Raise": "Hand heben",
  "Recording has started": "Die Aufzeichnung wurde gestartet",
  "Rejoin": "Erneut teilnehmen",
  "Someone will let you in shortly": "Jemand wird Sie in Kürze hereinlassen",
  "Screen, window, or tab": "Bildschirm, Fenster oder Tab",
  "Share": "Teilen",
  "Stop sharing": "Freigabe beenden",
  "Sorry, but you were denied access to the meeting": "Der Zugriff auf die Besprechung wurde Ihnen verweigert",
  "Sorry, we couldn't connect you": "Die Verbindung konnte nicht hergestellt werden",
  "Transcription has started": "Die Transkription wurde gestartet",
  "Turn camera off": "Kamera ausschalten",
  "Turn camera on": "Kamera einschalten",
  "Type a meeting passcode": "Besprechungskennung eingeben",
  "Type a message": "Nachricht eingeben",
  "Type your name": "Namen eingeben",
  "Unmute mic": "Stummschaltung aufheben",
  "Unpin": "Loslösen",
  "Verify you're a real person": "Bestätigen Sie, dass Sie eine reale Person sind",
  "Waiting for others to join": "Es wird auf andere Teilnehmer gewartet",
  "When the meeting starts, we'll let people know you're waiting": "Wenn die Besprechung beginnt, teilen wir mit, dass Sie warten",
  "You left the meeting": "Sie haben die Besprechung verlassen",
  "You're the only one here": "Sie sind allein hier",
  "You've been removed from this meeting": "Sie wurden aus dieser Besprechung entfernt",
  "Your network connection was lost. Trying to reconnect": "Die Netzwerkverbindung ist unterbrochen. Die Verbindung wird wiederhergestellt",
};

export const speak = (language) => choose(language, { de: german });
