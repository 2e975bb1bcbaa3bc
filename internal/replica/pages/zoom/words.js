// The texts of the page and their German translations.

import { say } from "/assets/language.js";

// screens are the texts of the states.
export const screens = {
  lobby: "Please wait, the meeting host will let you in soon.",
  waiting_for_host: "Waiting for the host to start this meeting",
  not_found: "This meeting link is invalid (3,001)",
  sign_in: "Sign in to join this meeting",
  captcha: "We detected you may be a bot",
  left: "You have left the meeting",
};

// The text of the lobby after the host has joined.
export const hostJoined = "Host has joined. We've let them know you're here";

// ends are the states that are shown in a dialog above the current screen. denied and
// removed have the same title. The texts of lobby_timeout and blocked are invented,
// because the real ones are not known.
export const ends = {
  denied: { title: "You have been removed", content: "The host has removed you from the waiting room." },
  lobby_timeout: { title: "The host did not let you in", content: "Nobody answered your request to join. Please try again later." },
  removed: { title: "You have been removed", content: "The host has removed you from this meeting." },
  ended: { title: "This meeting has been ended by host", label: "Meeting is end now", content: "Thank you for attending." },
  blocked: {
    title: "Joining Meeting Timeout or Browser restriction",
    content: "Your network connection has timed out. Please verify your network connection and try again.",
  },
};

export const notices = {
  recorded: "This meeting is being recorded",
  transcribed: "This meeting is being transcribed",
};

export const permissions = {
  asked: "Your request was sent to the host",
  granted: "The host has granted your request to record",
  denied: "The host has denied your request to record",
};

const german = {
  "Accept Cookies": "Cookies akzeptieren",
  "By clicking \"Join\", you agree to our Terms of Service and Privacy Statement.": "Mit „Beitreten“ stimmen Sie unseren Nutzungsbedingungen und der Datenschutzerklärung zu.",
  "By staying in this meeting, you consent to it.": "Indem Sie bleiben, stimmen Sie zu.",
  "Cancel": "Abbrechen",
  "Captions": "Untertitel",
  "Chat Message List": "Liste der Chatnachrichten",
  "Chat": "Chat",
  "close the chat panel": "Chatbereich schließen",
  "Close": "Schließen",
  "Continue without microphone and camera": "Ohne Mikrofon und Kamera fortfahren",
  "Cookies Settings": "Cookie-Einstellungen",
  "Do you want people to see and hear you in the meeting?": "Sollen andere Sie im Meeting sehen und hören?",
  "Email Address": "E-Mail-Adresse",
  "Everyone": "Alle",
  "Got it": "Verstanden",
  "Having issues with Zoom Workplace app?": "Probleme mit der Zoom Workplace-App?",
  "Host has joined. We've let them know you're here": "Der Host ist da. Wir haben mitgeteilt, dass Sie hier sind",
  "Join Audio by Computer": "Per Computer dem Audio beitreten",
  "Join Audio": "Audio beitreten",
  "Join from your browser": "Mit Ihrem Browser anmelden",
  "Join": "Beitreten",
  "Joining Meeting Timeout or Browser restriction": "Zeitüberschreitung beim Beitritt oder Einschränkung des Browsers",
  "Launch Meeting": "Meeting eröffnen",
  "Leave Meeting": "Meeting verlassen",
  "Leave": "Verlassen",
  "Me": "Ich",
  "Meeting Passcode": "Meeting-Kenncode",
  "More meeting control": "Weitere Meeting-Steuerelemente",
  "More": "Mehr",
  "Move the mouse over the meeting to see the controls.": "Bewegen Sie die Maus über das Meeting, um die Steuerelemente zu sehen.",
  "mute my microphone": "mein Mikrofon stummschalten",
  "Mute": "Stummschalten",
  "Nobody answered your request to join. Please try again later.": "Niemand hat auf Ihre Anfrage reagiert. Bitte versuchen Sie es später.",
  "open the chat panel": "Chatbereich öffnen",
  "Participants list": "Teilnehmerliste",
  "Participants": "Teilnehmer",
  "Passcode wrong. Please try again.": "Kenncode falsch. Bitte versuchen Sie es erneut.",
  "Permission needed from Meeting Host": "Erlaubnis des Meeting-Hosts erforderlich",
  "Pin": "Anheften",
  "Please wait, the meeting host will let you in soon.": "Bitte warten Sie, der Meeting-Host lässt Sie in Kürze eintreten.",
  "Reactions": "Reaktionen",
  "Reconnecting…": "Verbindung wird wiederhergestellt…",
  "Record": "Aufzeichnen",
  "Recording": "Aufzeichnung",
  "Reject Cookies": "Cookies ablehnen",
  "Rejoin": "Erneut beitreten",
  "Remove Pin": "Lösen",
  "Request Permission": "Erlaubnis anfragen",
  "Sign in to join this meeting": "Melden Sie sich an, um diesem Meeting beizutreten",
  "Sign In": "Anmelden",
  "Share Screen": "Bildschirm teilen",
  "Stop Share": "Freigabe beenden",
  "start my video": "mein Video starten",
  "Start Video": "Video starten",
  "stop my video": "mein Video beenden",
  "Stop Recording": "Aufzeichnung beenden",
  "Stop Video": "Video beenden",
  "Thank you for attending.": "Vielen Dank für Ihre Teilnahme.",
  "The host did not let you in": "Der Host hat Sie nicht eingelassen",
  "The host has denied your request to record": "Der Host hat Ihre Aufzeichnung abgelehnt",
  "The host has granted your request to record": "Der Host hat Ihre Aufzeichnung erlaubt",
  "The host has removed you from the waiting room.": "Der Host hat Sie aus dem Warteraum entfernt.",
  "The host has removed you from this meeting.": "Der Host hat Sie aus diesem Meeting entfernt.",
  "This meeting has been ended by host": "Dieses Meeting wurde vom Host beendet",
  "This meeting is being recorded": "Dieses Meeting wird aufgezeichnet",
  "This meeting is being transcribed": "Dieses Meeting wird transkribiert",
  "This meeting link is invalid (3,001)": "Dieser Meeting-Link ist ungültig (3,001)",
  "To:": "An:",
  "Trying to restore your connection to the meeting.": "Ihre Verbindung zum Meeting wird wiederhergestellt.",
  "Type message here ...": "Nachricht hier eingeben ...",
  "unmute my microphone": "mein Mikrofon einschalten",
  "Unmute": "Ton ein",
  "Use microphone and camera": "Mikrofon und Kamera nutzen",
  "Waiting for the host to start this meeting": "Warten auf den Beginn dieses Meetings durch den Host",
  "We detected you may be a bot": "Sie sind möglicherweise ein Bot",
  "You can still turn off your microphone and camera anytime in the meeting.": "Mikrofon und Kamera lassen sich im Meeting jederzeit ausschalten.",
  "You have been removed": "Sie wurden entfernt",
  "You have left the meeting": "Sie haben das Meeting verlassen",
  "You need the host's permission to record this meeting.": "Zum Aufzeichnen brauchen Sie die Erlaubnis des Hosts.",
  "You": "Sie",
  "Your Name": "Ihr Name",
  "Your network connection has timed out. Please verify your network connection and try again.": "Zeitüberschreitung der Verbindung. Bitte prüfen Sie Ihr Netz und versuchen Sie es erneut.",
  "Your request was sent to the host": "Ihre Anfrage wurde an den Host gesendet",
  "Your video is off": "Ihr Video ist aus",
  "Zoom Meeting": "Zoom-Meeting",
};

export const dictionaries = { de: german };

// people is the label of the participants button.
export const people = (count, open) => (inGerman()
  ? `Teilnehmerliste ${open ? "schließen" : "öffnen"}, ${count} Teilnehmer`
  : `${open ? "close" : "open"} the participants list pane, ${count} participants`);

// roles stand behind a name in the list.
export const roles = (host, me) => {
  const words = [host && "Host", me && say("Me")].filter(Boolean);
  return words.length > 0 ? `(${words.join(", ")})` : "";
};

export const moreOptions = (name) => (inGerman() ? `Weitere Optionen für ${name}` : `More options for ${name}`);

const inGerman = () => document.documentElement.lang.startsWith("de");
