package spool

import (
	"fmt"

	"standin/internal/bot/ingest"
)

// bundleShare is the share of the limit up to which bundles are accepted. The
// rest is reserved for segments of the recording.
const bundleShare = 0.8

// AppendBundle adds a bundle of segments of audio tracks. If its share is full, it does what AppendSegment does.
func (s *Spool) AppendBundle(sequence int, data []byte) error {
	name := ingest.BundleName(sequence)
	if !ingest.IsBundleName(name) {
		return fmt.Errorf("append bundle %d: the number is out of range", sequence)
	}
	return s.append(name, data, int64(bundleShare*float64(s.limit)))
}
