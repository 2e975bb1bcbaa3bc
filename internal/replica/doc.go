// Package replica serves local copies of meeting platforms: pages with the elements
// and the behavior of Google Meet, Microsoft Teams and Zoom, and participants who
// send audio and video with WebRTC. Tests run the bot against it, and people
// practice in it.
//
// The Go code is independent of the platform. It manages meetings, guests and media:
// Settings describe a Meeting, each page that opens the meeting becomes a guest,
// control methods change the state of guests, and each change is an Event that tests
// can wait for. The pages of the platforms, in pages/, render the state that the
// server sends.
//
// The package does not depend on the bot or its profiles. The pages must not be
// derived from the selectors that they are used to test.
package replica
