package store

// AutoCheckpointPages is autoCheckpointPages.
const AutoCheckpointPages = autoCheckpointPages
