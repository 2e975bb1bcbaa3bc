package spool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"standin/internal/ingest"
)

// maxPut bounds what Put takes: these files are written whole, again and
// again, and go ahead of the segments.
const maxPut = 8 << 20

// File is one version of a file in the spool.
type File struct {
	Name string
	Size int64
	Sum  string // hex SHA-256
}

// file is a version on the disk. A file that is replaced gets a new one.
type file struct {
	name    string
	size    int64
	sum     string // empty until it is asked for after a reopening
	segment bool
	settled bool
	refusal string // why the service did not take it; only when settled
}

// files is what stands in the media folder.
type files struct {
	mutex    sync.Mutex
	byName   map[string]*file
	pending  []*file           // not settled, in the order of uploading
	used     int64             // bytes in the folder, or promised to a file being written
	recorded int64             // of these, in segments
	uploaded int64             // of the segments, what the service has
	evicted  map[string]string // segments that gave way to others, and their sums
}

// Append adds a segment of the recording. Adding the same one again does
// nothing; other data under the same numbers is an error that wraps
// fs.ErrExist. Where there is no room, segments that the service has give way;
// when that is not enough the answer is a *FullError.
func (s *Spool) AppendSegment(stretch, sequence int, data []byte) error {
	name := ingest.SegmentName(stretch, sequence)
	if a, b, ok := ingest.ParseSegmentName(name); !ok || a != stretch || b != sequence {
		return fmt.Errorf("append segment %d of stretch %d: the numbers do not fit into a name", sequence, stretch)
	}
	if len(data) == 0 {
		return fmt.Errorf("append segment %s: it is empty", name)
	}
	if known, err := s.knows(name, data); known || err != nil {
		return err
	}
	err := s.append(name, data)
	if full := new(FullError); errors.As(err, &full) {
		freed, failed := s.makeRoom(int64(len(data)))
		if !freed || failed != nil {
			return errors.Join(err, failed)
		}
		return s.append(name, data)
	}
	return err
}

// append writes a segment that there is room for.
func (s *Spool) append(name string, data []byte) error {
	release, err := s.files.reserve(s.limit, int64(len(data)))
	if err != nil {
		return err
	}
	defer release()
	return s.write(name, data)
}

// Put adds a small file, or replaces the one of that name. The service gets
// each version it has time for, and the last one surely.
func (s *Spool) Put(name string, data []byte) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("put: %w", err)
	}
	if len(data) > maxPut {
		return fmt.Errorf("put %s: %d bytes are more than %d; AddFile takes large files", name, len(data), maxPut)
	}
	return s.write(name, data)
}

// AddFile takes over a finished file of any size, under a name of its own; it
// is gone from path afterwards. The limit does not hold for it: the disk has
// carried its bytes already. Path and spool should share a file system (see
// Scratch), or the file is copied.
func (s *Spool) AddFile(path, name string) error {
	if err := checkName(name); err != nil {
		return fmt.Errorf("add file: %w", err)
	}
	size, sum, err := syncAndSum(path)
	if err != nil {
		return fmt.Errorf("add file %s: %w", name, err)
	}
	added := &file{name: name, size: size, sum: sum}
	err = s.publish(path, added)
	if errors.Is(err, syscall.EXDEV) {
		err = s.addCopy(path, added)
	}
	if err != nil {
		return fmt.Errorf("add file %s: %w", name, full(size, err))
	}
	return nil
}

// addCopy is AddFile for a file on another file system.
func (s *Spool) addCopy(path string, added *file) error {
	temporary, err := copyTemporary(s.ScratchDir(), path)
	if err != nil {
		return err
	}
	if err := s.publish(temporary, added); err != nil {
		return errors.Join(err, removeIfThere(temporary))
	}
	return os.Remove(path)
}

// write makes data a file of the media folder.
func (s *Spool) write(name string, data []byte) error {
	sum, err := sumOf(bytes.NewReader(data))
	if err != nil {
		return err
	}
	written := &file{name: name, size: int64(len(data)), sum: sum, segment: isSegment(name)}
	temporary, err := writeTemporary(s.ScratchDir(), bytes.NewReader(data))
	if err == nil {
		err = s.publish(temporary, written)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, full(written.size, err)), removeIfThere(temporary))
	}
	return nil
}

// publish gives a durable file its final name, in place of an older version if
// there is one. What is settled is settled for a version: so before one that
// is settled gives way the journal says so, else the new one would pass for
// uploaded after a restart.
func (s *Spool) publish(path string, published *file) error {
	unchanged, err := s.publishLocked(path, published)
	if err != nil {
		return err
	}
	if unchanged {
		return os.Remove(path)
	}
	if err := syncDir(s.mediaDir()); err != nil {
		return err
	}
	s.changes.tell()
	return nil
}

func (s *Spool) publishLocked(path string, published *file) (unchanged bool, err error) {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	old := s.files.byName[published.name]
	if old != nil {
		err := s.needSum(old)
		switch {
		case err == nil && old.sum == published.sum:
			return true, nil
		case old.segment:
			return false, fmt.Errorf("it is there with other data: %w", fs.ErrExist)
		case old.settled:
			if err := s.journal.append(record{Replaced: old.name}); err != nil {
				return false, err
			}
		}
	}
	if err := os.Rename(path, s.pathOf(published.name)); err != nil {
		return false, err
	}
	if old != nil {
		s.files.drop(old)
	}
	s.files.add(published)
	return false, nil
}

// Segments returns the paths of a stretch's segments in the order of
// recording.
func (s *Spool) Segments(stretch int) []string {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	var paths []string
	for name := range s.files.byName {
		if number, _, ok := ingest.ParseSegmentName(name); ok && number == stretch {
			paths = append(paths, s.pathOf(name))
		}
	}
	slices.Sort(paths) // names sort in the order of recording
	return paths
}

// Stretches returns the numbers of the stretches that have segments, in order.
func (s *Spool) Stretches() []int {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	var numbers []int
	for name := range s.files.byName {
		if number, _, ok := ingest.ParseSegmentName(name); ok {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// Bytes tells how many bytes of segments the spool holds, and how many of them
// were uploaded.
func (s *Spool) SegmentBytes() (recorded, uploaded int64) {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	return s.files.recorded, s.files.uploaded
}

// Finished tells how many bytes the files hold that the bot has put together,
// and how many of them were uploaded or set aside.
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

func (s *Spool) pathOf(name string) string { return filepath.Join(s.mediaDir(), name) }

// needSum computes a sum that is not known since a reopening. The caller holds
// the mutex.
func (s *Spool) needSum(f *file) error {
	if f.sum != "" {
		return nil
	}
	opened, err := os.Open(s.pathOf(f.name))
	if err != nil {
		return err
	}
	defer opened.Close()
	f.sum, err = sumOf(opened)
	return err
}

// recoverFiles takes stock of the media folder when the spool is opened.
func (s *Spool) recoverFiles(marks marks) error {
	s.files.byName, s.files.evicted = map[string]*file{}, map[string]string{}
	entries, err := os.ReadDir(s.mediaDir())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !ingest.ValidMediaName(entry.Name()) {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		found := &file{name: entry.Name(), size: info.Size(), segment: isSegment(entry.Name())}
		if mark, ok := marks[found.name]; ok && mark.Size == found.size {
			found.settled, found.sum, found.refusal = true, mark.Sum, mark.Refusal
		}
		s.files.add(found)
	}
	s.files.countEvicted(marks)
	return nil
}

// reserve promises room for a segment. release ends the promise; by then the
// file counts itself.
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
		at, _ := slices.BinarySearchFunc(f.pending, added, inOrder)
		f.pending = slices.Insert(f.pending, at, added)
		return
	}
	if added.segment && added.refusal == "" {
		f.uploaded += added.size
	}
}

// drop takes out a file that is no segment: segments stay.
func (f *files) drop(old *file) {
	f.used -= old.size
	f.unqueue(old)
}

func (f *files) unqueue(settled *file) {
	if at, found := slices.BinarySearchFunc(f.pending, settled, inOrder); found {
		f.pending = slices.Delete(f.pending, at, at+1)
	}
}

// inOrder sorts files as they should be uploaded: small ones, which say what
// the rest means, then segments as they were recorded, then large ones.
func inOrder(a, b *file) int {
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

// checkName refuses names that are no media names, and those of segments,
// which only Append may write.
func checkName(name string) error {
	if !ingest.ValidMediaName(name) {
		return fmt.Errorf("%q is no media name", name)
	}
	if isSegment(name) {
		return fmt.Errorf("%q is the name of a segment", name)
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) && path != "" {
		return err
	}
	return nil
}
