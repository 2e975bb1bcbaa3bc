package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// mark is the journal's word on a version of a file: the service has it, or,
// with a refusal, will never take it.
type mark struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Sum     string `json:"sum"`
	Refusal string `json:"refusal,omitempty"`
}

// marks are those that still hold.
type marks map[string]mark

func newMarks() marks { return marks{} }

func (m marks) replay(r record) {
	if r.Settled != nil {
		m[r.Settled.Name] = *r.Settled
	}
	if r.Replaced != "" {
		delete(m, r.Replaced)
	}
}

// NextFile returns the name of the first file that waits for its upload and is
// allowed; ok is false when there is none. allowed must not call the spool.
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

// PendingFiles is how many files wait for their upload.
func (s *Spool) PendingFiles() int {
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	return len(s.files.pending)
}

// ErrDamaged says that a file is not as it was added: the disk has changed or
// lost it.
var ErrDamaged = errors.New("the file is not as it was added")

// OpenFile opens the present version of a file. Reading goes on in that
// version even when it is replaced meanwhile. The caller closes it. With an
// error the version is told all the same, as far as it is known.
func (s *Spool) OpenFile(name string) (*os.File, File, error) {
	opened, f, version, err := s.openVersion(name)
	if err != nil {
		return nil, version, fmt.Errorf("open %s: %w", name, err)
	}
	if version.Sum != "" {
		return opened, version, nil
	}
	version.Sum, err = sumOf(opened)
	if err == nil {
		_, err = opened.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, version, errors.Join(fmt.Errorf("sum up %s: %w", name, err), opened.Close())
	}
	s.files.mutex.Lock()
	defer s.files.mutex.Unlock()
	f.sum = version.Sum
	return opened, version, nil
}

// openVersion opens the file while its name cannot change hands.
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

// MarkUploaded says that the service has this version. A version that was
// replaced meanwhile changes nothing: the newer one goes on waiting. If the
// mark cannot be written down the file counts as uploaded until this process
// ends, and the error says so.
func (s *Spool) MarkUploaded(version File) error { return s.settle(version, "") }

// SetFileAside says that the service will never take this version, and why.
func (s *Spool) RejectFile(version File, reason string) error {
	if reason == "" {
		reason = "refused"
	}
	return s.settle(version, truncate(reason, maxRefusalText))
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
	s.changes.tell()
	if err := s.journal.append(record{Settled: &mark{f.name, f.size, f.sum, refusal}}); err != nil {
		return fmt.Errorf("mark %s: %w", f.name, err)
	}
	return nil
}

// Refused returns the names of the files that were set aside, sorted.
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
