package spool

import (
	"fmt"
	"slices"

	"standin/internal/ingest"
)

// bundleShare is the share of the limit up to which bundles are accepted. The
// rest is reserved for segments of the recording.
const bundleShare = 0.8

// AppendBundle adds a bundle of segments of audio tracks.
func (s *Spool) AppendBundle(sequence int, data []byte) error {
	name := ingest.BundleName(sequence)
	if !ingest.IsBundleName(name) {
		return fmt.Errorf("append bundle %d: the number is out of range", sequence)
	}
	release, err := s.files.reserve(int64(bundleShare*float64(s.limit)), int64(len(data)))
	if err != nil {
		return err
	}
	defer release()
	return s.write(name, data)
}

// Bundles returns the paths of all bundles in order.
func (s *Spool) Bundles() []string {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	var paths []string
	for name := range s.files.byName {
		if ingest.IsBundleName(name) {
			paths = append(paths, s.pathOf(name))
		}
	}
	slices.Sort(paths)
	return paths
}
