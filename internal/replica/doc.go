// Package replica is a meeting platform on the loopback interface: pages that
// show the elements, the order and the traps of the real ones, and live
// participants whose sound and picture arrive by WebRTC. The bot is tested
// against it, and the demo records it.
//
// The room has two halves. The platform-neutral half keeps meetings, guests,
// control and media: a Meeting is opened by Settings, a page that visits it
// becomes a guest, the control verbs (Go methods, and the same over HTTP) move
// the guest on, and every move is an Event that a test can wait for. The other
// half is one page for each platform, under pages/, which only draws the state
// that the first half sends it: Meet, Teams and Zoom.
//
// The package knows nothing of jobs, of the service, of the bot or of its
// profile files. It would prove nothing if the page were made from the
// selectors it is there to check, so both are written from the same published
// facts and from nothing of each other.
package replica
