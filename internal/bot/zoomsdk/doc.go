// Package zoomsdk joins Zoom meetings through Zoom's Meeting SDK for Web. The bot
// serves a page on the loopback interface. The page runs the SDK, and Adapter, a
// meeting.Adapter, calls the SDK's interface there and reads its events.
//
// The package contains nothing of Zoom's. The SDK's files, and the key and the
// secret of an app of Zoom's marketplace, come from the operator, whose contract
// with Zoom covers their use. Without them, New returns a *NotConfiguredError
// that says what is missing.
//
// The package was never run against Zoom's service. The tests run the page
// against a double of the SDK, written from the type definitions and the code of
// version 6.2.0, because the real files may not be shipped. The real files of
// that version were started in this page, without a meeting.
//
// The package does not depend on jobs' state or on recording. It reads the SDK's
// page only for what the SDK's interface does not report.
package zoomsdk
