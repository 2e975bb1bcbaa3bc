// Package zoomsdk joins Zoom meetings through Zoom's Meeting SDK for Web: a
// page that the bot itself serves on the loopback interface runs the SDK, and
// the Adapter, one of package meeting's, drives the SDK's own interface there
// and reads its own events.
//
// Nothing of Zoom's is in here. The SDK's files, and the key and the secret of
// an app of Zoom's marketplace, come from the operator, whose contract with
// Zoom covers their use. Without them there is a *NotConfiguredError that says
// what is missing.
//
// It was never run against Zoom's service, which no machine of this project
// reaches. The tests run the page against a double of the SDK that stands in
// for files which nobody here may ship. What the double does was taken from the
// type definitions of version 6.2.0 and from reading its code; that version's
// real files were started in this page, without a meeting.
//
// The package knows nothing of jobs' lives or of recording. It looks into the
// SDK's page only for what the SDK's interface does not tell.
package zoomsdk
