// Package recording stores and assembles recordings. It stores uploads, media
// files and manifests in blob storage, packs the segments of a recording into
// files that play and seek in a browser, and builds the manifest, which
// describes the recorded media and the gaps in it.
//
// The bot packs the segments in its spool; the service packs uploaded segments.
// The package does not depend on a database, a browser or the HTTP API, and
// does not change the state of jobs.
package recording
