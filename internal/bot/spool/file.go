package spool

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"standin/internal/base/fsutil"
	"standin/internal/bot/ingest"
)

// maxPut is the largest file for Put. Such files are written repeatedly and are
// uploaded before the segments.
const maxPut = 8 << 20

// File is one version of a file in the spool.
type File struct {
	Name string
	Size int64
	Sum  string // hex SHA-256
}

// file is a version of a file on the disk.
type file struct {
	name    string
	size    int64
	sum     string // empty after reopening, until it is needed
	segment bool
	settled bool   // uploaded or rejected
	refusal string // why it was rejected
}

// compareUploadOrder orders files for upload: small ones, which describe the
// others, then segments in the order of recording, then large ones.
func compareUploadOrder(a, b *file) int {
	rank := func(f *file) int {
		switch {
		case f.segment:
			return 1
		case f.size <= maxPut:
			return 0
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.name, b.name))
}

// evictable reports whether the service has this segment.
func (f *file) evictable() bool { return f.segment && f.settled && f.refusal == "" }

// ensureSum computes a missing checksum. The caller holds the mutex.
func (s *Spool) ensureSum(f *file) error {
	if f.sum != "" {
		return nil
	}
	_, sum, err := fsutil.HashFile(s.pathOf(f.name))
	f.sum = sum
	return err
}

// sumOf returns the checksum of a file's content.
func sumOf(data []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// isSegment reports whether a file is a segment or a bundle: it is written once
// and never replaced.
func isSegment(name string) bool {
	_, _, segment := ingest.ParseSegmentName(name)
	return segment || ingest.IsBundleName(name)
}

// checkName refuses invalid names and those of segments.
func checkName(name string) error {
	if !ingest.ValidMediaName(name) {
		return fmt.Errorf("%q is not a valid name", name)
	}
	if isSegment(name) {
		return fmt.Errorf("%q is the name of a segment", name)
	}
	return nil
}

// ScratchDir returns a folder on the same file system for files that are being
// created, which AddFile then moves without copying. Open empties it.
func (s *Spool) ScratchDir() string { return filepath.Join(s.dir, "scratch") }

func (s *Spool) mediaDir() string { return filepath.Join(s.dir, ingest.SpoolMediaDir) }

func (s *Spool) pathOf(name string) string { return filepath.Join(s.mediaDir(), name) }
