//go:build !linux

package recording

// limitProcess does nothing: only the wall-clock time is limited.
func limitProcess(int, toolLimits) error { return nil }
