package spool

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"standin/internal/base/fsutil"
	"standin/internal/base/text"
)

// mark records in the journal that a version of a file was uploaded or, with a
// refusal, rejected.
type mark struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Sum     string `json:"sum"`
	Refusal string `json:"refusal,omitempty"`
}

// NextFile returns the first pending file for which allowed returns true; ok is
// false if there is none. allowed must not call the spool.
func (s *Spool) NextFile(allowed func(name string) bool) (name string, ok bool) {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	for _, f := range s.files.pending {
		if allowed(f.name) {
			return f.name, true
		}
	}
	return "", false
}

// PendingFiles returns the number of files that wait for upload.
func (s *Spool) PendingFiles() int {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	return len(s.files.pending)
}

// ErrDamaged is the error of a file that the disk changed or lost.
var ErrDamaged = errors.New("the file was changed or lost on the disk")

// OpenFile opens the current version of a file, which stays readable if it is
// replaced. The caller closes it. With an error, the File has what is known.
func (s *Spool) OpenFile(name string) (*os.File, File, error) {
	opened, f, version, err := s.openVersion(name)
	if err != nil {
		return nil, version, fmt.Errorf("open %s: %w", name, err)
	}
	if version.Sum != "" {
		return opened, version, nil
	}
	version.Sum, err = fsutil.SHA256(opened)
	if err == nil {
		_, err = opened.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, version, errors.Join(fmt.Errorf("compute the checksum of %s: %w", name, err), opened.Close())
	}
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	f.sum = version.Sum
	return opened, version, nil
}

// openVersion opens the file under the lock, so that it is not replaced meanwhile.
func (s *Spool) openVersion(name string) (*os.File, *file, File, error) {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	f := s.files.byName[name]
	if f == nil {
		return nil, nil, File{Name: name}, fs.ErrNotExist
	}
	version := File{Name: name, Size: f.size, Sum: f.sum}
	opened, err := os.Open(s.pathOf(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, version, ErrDamaged
	}
	if err != nil {
		return nil, nil, version, err
	}
	info, err := opened.Stat()
	if err == nil && info.Size() != f.size {
		err = ErrDamaged
	}
	if err != nil {
		return nil, nil, version, errors.Join(err, opened.Close())
	}
	return opened, f, version, nil
}

// MarkUploaded marks a version as uploaded. If it was replaced meanwhile, the newer
// version is still pending. If it returns an error, the file counts as uploaded
// until this process ends.
func (s *Spool) MarkUploaded(version File) error { return s.settle(version, "") }

// RejectFile marks a version that the service refuses, with the reason.
func (s *Spool) RejectFile(version File, reason string) error {
	return s.settle(version, cmp.Or(text.Cut(reason, maxRefusalText), "refused"))
}

func (s *Spool) settle(version File, refusal string) error {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	f := s.files.byName[version.Name]
	if f == nil || f.settled || f.sum != version.Sum {
		return nil
	}
	s.files.unqueue(f)
	f.settled, f.refusal = true, refusal
	if f.segment && refusal == "" {
		s.files.uploaded += f.size
	}
	s.changes.Announce()
	return s.journal.append(record{Settled: &mark{f.name, f.size, f.sum, refusal}})
}

// RejectedFiles returns the sorted names of the rejected files.
func (s *Spool) RejectedFiles() []string {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	var names []string
	for name, f := range s.files.byName {
		if f.refusal != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
