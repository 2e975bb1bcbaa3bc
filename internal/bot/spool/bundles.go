package spool

import (
	"fmt"
	"path/filepath"
	"slices"

	"standin/internal/ingest"
)

// bundleShare is the part of the room that bundles may fill: the rest is kept
// for the recording itself.
const bundleShare = 0.8

// AppendBundle adds a bundle of voices' segments, as Append does a segment. It
// is refused while there is still room for the recording's own segments.
func (s *Spool) AppendBundle(sequence int, data []byte) error {
	name := ingest.BundleName(sequence)
	if !ingest.IsBundleName(name) {
		return fmt.Errorf("append bundle %d: the number does not fit into a name", sequence)
	}
	release, err := s.files.reserve(int64(bundleShare*float64(s.limit)), int64(len(data)))
	if err != nil {
		return err
	}
	defer release()
	return s.write(name, data)
}

// Bundles returns the paths of all bundles in their order.
func (s *Spool) Bundles() []string {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	var paths []string
	for name := range s.files.byName {
		if ingest.IsBundleName(name) {
			paths = append(paths, filepath.Join(s.mediaDir(), name))
		}
	}
	slices.Sort(paths)
	return paths
}

// isSegment reports whether a name is of what is recorded: it is written once
// and never replaced.
func isSegment(name string) bool {
	_, _, segment := ingest.ParseSegmentName(name)
	return segment || ingest.IsBundleName(name)
}
