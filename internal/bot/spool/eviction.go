package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// A full spool evicts segments that the service has, the oldest first. After that
// the bot cannot pack the recording; the service does. Segments that the service
// does not have are never evicted.

// Limit returns how many bytes of media the spool may hold.
func (s *Spool) Limit() int64 { return s.limit }

// Evicted returns the number of evicted segments, also before a restart.
func (s *Spool) Evicted() int {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	return len(s.files.evicted)
}

// hasSegment reports whether a segment was added before. If it was, with other
// data, it returns an error that wraps fs.ErrExist.
func (s *Spool) hasSegment(name string, data []byte) (bool, error) {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	known, gone := s.files.evicted[name]
	if f := s.files.byName[name]; f != nil {
		if err := s.ensureSum(f); err != nil {
			return false, err
		}
		known = f.sum
	} else if !gone {
		return false, nil
	}
	if sumOf(data) != known {
		return true, fmt.Errorf("append segment %s: it exists with other data: %w", name, fs.ErrExist)
	}
	return true, nil
}

// HasSpace reports whether the spool can take wanted bytes of segments: the limit
// allows it, after eviction if necessary, and so does the disk, which is tested.
func (s *Spool) HasSpace(wanted int64) bool {
	s.files.mutex.Lock()
	free := s.limit - s.files.used
	for _, f := range s.files.byName {
		if f.evictable() {
			free += f.size
		}
	}
	s.files.mutex.Unlock()
	if free < wanted {
		return false
	}
	file, err := os.CreateTemp(s.ScratchDir(), "space-*")
	if err != nil {
		return false
	}
	block := make([]byte, min(wanted, 1<<20))
	for left := wanted; left > 0 && err == nil; left -= int64(len(block)) {
		_, err = file.Write(block[:min(left, int64(len(block)))])
	}
	return errors.Join(err, file.Sync(), file.Close(), os.Remove(file.Name())) == nil
}

// evict deletes uploaded segments until that many bytes are free or none is left,
// and reports whether it deleted any.
func (s *Spool) evict(wanted int64) (bool, error) {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	var old []*file
	for _, f := range s.files.byName {
		if f.evictable() {
			old = append(old, f)
		}
	}
	slices.SortFunc(old, func(a, b *file) int { return cmp.Compare(a.name, b.name) })
	freed := int64(0)
	for _, f := range old {
		if freed >= wanted {
			break
		}
		if err := os.Remove(s.pathOf(f.name)); err != nil {
			return freed > 0, err
		}
		delete(s.files.byName, f.name)
		s.files.used -= f.size
		s.files.evicted[f.name] = f.sum
		freed += f.size
	}
	return freed > 0, nil
}
