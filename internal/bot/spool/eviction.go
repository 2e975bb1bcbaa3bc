package spool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"standin/internal/ingest"
)

// What a full spool does: segments that the service has acknowledged give way
// to new ones, the oldest first. From then on the bot cannot pack the recording
// by itself, and leaves it to the service, which has all of it. Segments that
// the service does not have never give way.

// Limit is how many bytes of media the spool may hold.
func (s *Spool) Limit() int64 { return s.limit }

// Evicted is how many segments gave way, before a reopening too.
func (s *Spool) Evicted() int {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	return len(s.files.evicted)
}

// knows reports whether a segment is there, or was and gave way. Other data
// under its name is an error that wraps fs.ErrExist.
func (s *Spool) knows(name string, data []byte) (bool, error) {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	known, gone := s.files.evicted[name]
	if f := s.files.byName[name]; f != nil {
		if err := s.needSum(f); err != nil {
			return false, fmt.Errorf("sum up %s: %w", name, err)
		}
		known = f.sum
	} else if !gone {
		return false, nil
	}
	sum, err := sumOf(bytes.NewReader(data))
	if err == nil && sum != known {
		err = fmt.Errorf("append segment %s: it is there with other data: %w", name, fs.ErrExist)
	}
	return true, err
}

// HasRoom reports whether the spool would take segments of so many bytes: the
// limit allows it, or could once acknowledged segments give way, and the disk
// has taken as many for a try.
func (s *Spool) HasSpace(wanted int64) bool {
	s.files.mutex.Lock()
	free := s.limit - s.files.used
	for _, f := range s.files.byName {
		if f.mayGiveWay() {
			free += f.size
		}
	}
	s.files.mutex.Unlock()
	return free >= wanted && s.diskTakes(wanted) == nil
}

// diskTakes tries whether the disk has room for so many bytes.
func (s *Spool) diskTakes(wanted int64) error {
	file, err := os.CreateTemp(s.ScratchDir(), "room-*")
	if err != nil {
		return err
	}
	block := make([]byte, min(wanted, 1<<20))
	for left := wanted; left > 0 && err == nil; left -= int64(len(block)) {
		_, err = file.Write(block[:min(left, int64(len(block)))])
	}
	return errors.Join(err, file.Sync(), file.Close(), os.Remove(file.Name()))
}

// makeRoom deletes acknowledged segments until as many bytes are free, or none
// is left, and reports whether any was deleted.
func (s *Spool) makeRoom(wanted int64) (bool, error) {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	var old []*file
	for _, f := range s.files.byName {
		if f.mayGiveWay() {
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
			return freed > 0, fmt.Errorf("make room: %w", err)
		}
		delete(s.files.byName, f.name)
		s.files.used -= f.size
		s.files.evicted[f.name] = f.sum
		freed += f.size
	}
	return freed > 0, nil
}

// mayGiveWay reports whether the service has this segment.
func (f *file) mayGiveWay() bool { return f.segment && f.settled && f.refusal == "" }

// countEvicted counts the segments that the journal tells of and that are there
// no more.
func (f *files) countEvicted(marks marks) {
	for name, mark := range marks {
		_, _, segment := ingest.ParseSegmentName(name)
		if _, there := f.byName[name]; segment && !there && mark.Refusal == "" {
			f.evicted[name] = mark.Sum
			f.recorded += mark.Size
			f.uploaded += mark.Size
		}
	}
}
