// Package recording turns what bots recorded into what consumers read: it
// keeps uploads, media and manifests in blob storage, packs the segments of a
// recording into files that play and seek in a browser, and builds the
// manifest that says what was recorded and what is missing.
//
// The bot packs with it from its spool, the service from what was uploaded.
// It must know neither HTTP nor a database nor a browser, and moves no job:
// whoever calls it does.
package recording
