// Package fieldpages generates meetings on local pages that follow what is known
// of the live pages of Google Meet, Microsoft Teams and Zoom's web client.
//
// The pages are independent of internal/replica and of the bot's profiles, so that
// they find mistakes that both share. A meeting is made from a platform, a scenario,
// a language and a seed. The seed chooses among documented variants, and changes
// what is not documented: class names, wrappers, the order of siblings, optional
// elements, delays and dialogs. The page logs when it really admits the bot and
// when the meeting is really over, so that a test can compare the bot's report with
// the truth.
//
// The media comes from the page itself: one RTCPeerConnection sends, and another
// receives like a meeting's client.
package fieldpages
