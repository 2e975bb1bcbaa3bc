package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"standin/internal/base/fsutil"
	"standin/internal/bot/ingest"
)

// files is the content of the media folder.
type files struct {
	mutex    sync.Mutex
	byName   map[string]*file
	pending  []*file           // unsettled files, in the order of upload
	used     int64             // bytes in the folder or reserved for a file that is being written
	recorded int64             // bytes of segments, a part of used
	uploaded int64             // bytes of segments that the service has, a part of recorded
	evicted  map[string]string // checksums of the evicted segments
}

// AppendSegment adds a segment of the recording. Adding it again does nothing;
// adding other data under the same numbers fails with fs.ErrExist. If the spool
// is full, segments that the service has are evicted; if that is not enough, it
// returns a *FullError.
func (s *Spool) AppendSegment(part, sequence int, data []byte) error {
	name := ingest.SegmentName(part, sequence)
	if a, b, ok := ingest.ParseSegmentName(name); !ok || a != part || b != sequence {
		return fmt.Errorf("append segment %d of part %d: the numbers are out of range", sequence, part)
	}
	if len(data) == 0 {
		return fmt.Errorf("append segment %s: it is empty", name)
	}
	if known, err := s.hasSegment(name, data); known || err != nil {
		return err
	}
	return s.append(name, data, s.limit)
}

// append writes a segment or a bundle within a limit, after eviction if necessary.
func (s *Spool) append(name string, data []byte, limit int64) error {
	wanted := int64(len(data))
	for evicted := false; ; evicted = true {
		release, err := s.files.reserve(limit, wanted)
		if err == nil {
			err = s.write(name, data)
			release()
		}
		full := new(FullError)
		if evicted || !errors.As(err, &full) {
			return err
		}
		if freed, failed := s.evict(max(wanted, full.Used+wanted-limit)); !freed || failed != nil {
			return errors.Join(err, failed)
		}
	}
}

// Put adds a small file, or replaces it. The last version is always uploaded,
// earlier ones only if there is time.
func (s *Spool) Put(name string, data []byte) error {
	if err := checkName(name); err != nil {
		return err
	}
	if len(data) > maxPut {
		return fmt.Errorf("put %s: %d bytes are more than %d", name, len(data), maxPut)
	}
	return s.write(name, data)
}

// AddFile moves a file from ScratchDir to the media folder. size and sum, its SHA-256 in hex,
// are of the file. The limit does not apply: the file is on the disk already. AddFile does not
// sync the file: it can be made again from the segments.
func (s *Spool) AddFile(path, name string, size int64, sum string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return asFullError(size, s.publish(path, &file{name: name, size: size, sum: sum}))
}

// write writes a file of the media folder.
func (s *Spool) write(name string, data []byte) error {
	written := &file{name: name, size: int64(len(data)), sum: sumOf(data), segment: isSegment(name)}
	temporary, err := s.writeScratch(data)
	if err == nil {
		err = s.publish(temporary, written)
	}
	if err != nil {
		_ = os.Remove(temporary) // Open empties the folder anyway
		return fmt.Errorf("write %s: %w", name, asFullError(written.size, err))
	}
	return nil
}

// writeScratch writes data to a new file in ScratchDir, syncs it and returns its path.
func (s *Spool) writeScratch(data []byte) (path string, err error) {
	scratch, err := os.CreateTemp(s.ScratchDir(), "part-*")
	if err != nil {
		return "", err
	}
	_, err = scratch.Write(data)
	if err == nil {
		err = scratch.Sync()
	}
	return scratch.Name(), errors.Join(err, scratch.Close())
}

// publish gives a file its final name and replaces an older version. A
// settled version is first marked as replaced in the journal, or the new version
// would count as uploaded after a restart.
func (s *Spool) publish(path string, published *file) error {
	unchanged, err := s.publishLocked(path, published)
	if err != nil {
		return err
	}
	if unchanged {
		return os.Remove(path)
	}
	if err := fsutil.Sync(s.mediaDir()); err != nil {
		return err
	}
	s.changes.Announce()
	return nil
}

func (s *Spool) publishLocked(path string, published *file) (unchanged bool, err error) {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	old := s.files.byName[published.name]
	if old != nil {
		err := s.ensureSum(old)
		switch {
		case err == nil && old.sum == published.sum:
			return true, nil
		case old.segment:
			return false, fmt.Errorf("it exists with other data: %w", fs.ErrExist)
		case old.settled:
			if err := s.journal.append(record{Replaced: old.name}); err != nil {
				return false, err
			}
		}
	}
	if err := os.Rename(path, s.pathOf(published.name)); err != nil {
		return false, err
	}
	if old != nil { // no segment
		s.files.used -= old.size
		s.files.unqueue(old)
	}
	s.files.add(published)
	return false, nil
}

// Segments returns the paths of a part's segments in order.
func (s *Spool) Segments(part int) (paths []string) {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	for name := range s.files.byName {
		if number, _, ok := ingest.ParseSegmentName(name); ok && number == part {
			paths = append(paths, s.pathOf(name))
		}
	}
	slices.Sort(paths)
	return paths
}

// SegmentBytes returns how many bytes of segments were recorded and uploaded.
func (s *Spool) SegmentBytes() (recorded, uploaded int64) {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	return s.files.recorded, s.files.uploaded
}

// FinalBytes returns the size of all files but segments, and how many bytes of
// them were uploaded or rejected.
func (s *Spool) FinalBytes() (total, settled int64) {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	for _, f := range s.files.byName {
		if f.segment {
			continue
		}
		total += f.size
		if f.settled {
			settled += f.size
		}
	}
	return total, settled
}

// reserve reserves space for a segment until release is called.
func (f *files) reserve(limit, wanted int64) (release func(), err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.used+wanted > limit {
		return nil, &FullError{Limit: limit, Used: f.used, Wanted: wanted}
	}
	f.used += wanted
	return func() {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		f.used -= wanted
	}, nil
}

func (f *files) add(added *file) {
	f.byName[added.name] = added
	f.used += added.size
	if added.segment {
		f.recorded += added.size
	}
	if !added.settled {
		at, _ := slices.BinarySearchFunc(f.pending, added, compareUploadOrder)
		f.pending = slices.Insert(f.pending, at, added)
		return
	}
	if added.segment && added.refusal == "" {
		f.uploaded += added.size
	}
}

func (f *files) unqueue(settled *file) {
	if at, found := slices.BinarySearchFunc(f.pending, settled, compareUploadOrder); found {
		f.pending = slices.Delete(f.pending, at, at+1)
	}
}
