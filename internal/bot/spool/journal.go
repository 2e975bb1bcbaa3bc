package spool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"standin/internal/base/fsutil"
)

const (
	// maxJournal limits the journal, and maxTexts where texts are no longer accepted, so
	// that there is always room for events. Acknowledgments have no limit of their own:
	// there is at most one for each event, batch of texts, file and command.
	maxJournal = 64 << 20
	maxTexts   = 48 << 20
	// minCompacted is the size below which the journal is not compacted.
	minCompacted = 4 << 20
)

// record is a line of the journal. Exactly one field is set.
type record struct {
	Owner    string              `json:"owner,omitempty"`
	Events   *queueChange[Event] `json:"events,omitempty"`
	Texts    *queueChange[Texts] `json:"texts,omitempty"`
	Settled  *mark               `json:"settled,omitempty"`
	Replaced string              `json:"replaced,omitempty"` // the settled file of this name is about to be replaced
	Seen     string              `json:"taken,omitempty"`    // ID of a command
}

// journal is an append-only file of lines: the CRC-32C of the payload in eight
// hex digits, a space, the payload, a line feed. Only complete lines count, so an
// interrupted write does not affect the lines before it.
type journal struct {
	path string

	mutex     sync.Mutex
	file      *os.File
	size      int64 // bytes of the valid lines
	compactAt int64 // size at which the journal is compacted next
	damaged   int
	broken    error // set if a failed write could not be undone
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openJournal opens or creates the file, calls replay for every readable record
// in order, and removes an incomplete last line.
func openJournal(path string, replay func(record)) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{path: path, file: file, compactAt: minCompacted}
	// A complete line with a wrong checksum is skipped: the lines after it were synced too.
	if err := readLines(file, func(text []byte) {
		j.size += int64(len(text))
		if r, ok := decodeLine(text); ok {
			replay(r)
		} else {
			j.damaged++
		}
	}); err != nil {
		return nil, errors.Join(fmt.Errorf("read the journal: %w", err), file.Close())
	}
	if err := errors.Join(j.truncate(), file.Sync(), fsutil.Sync(filepath.Dir(path))); err != nil {
		return nil, errors.Join(fmt.Errorf("truncate the journal: %w", err), file.Close())
	}
	return j, nil
}

// readLines calls handle for every complete line.
func readLines(from io.Reader, handle func(text []byte)) error {
	lines := bufio.NewReader(from)
	for {
		text, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		handle(text)
	}
}

// append writes the record and returns when it is on the disk. After an error
// the record does not count, and the file is as it was before.
func (j *journal) append(r record) error {
	payload, err := json.Marshal(r)
	if err != nil {
		return err
	}
	text := fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(payload, castagnoli), payload)
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.broken != nil {
		return fmt.Errorf("write to the journal: %w", j.broken)
	}
	_, err = j.file.WriteAt(text, j.size)
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.broken = j.truncate()
		return asFullError(int64(len(text)), fmt.Errorf("write to the journal: %w", err))
	}
	j.size += int64(len(text))
	return nil
}

// compact replaces the journal by one with the records that still count, when it has
// doubled since the last time. After an error, the journal is as it was.
func (j *journal) compact(write func(content []byte) (path string, err error), counts func(record) bool) error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.broken != nil || j.size < j.compactAt {
		return nil
	}
	j.compactAt = 2 * j.size // also after an error
	var kept []byte
	if err := readLines(io.NewSectionReader(j.file, 0, j.size), func(text []byte) {
		if r, ok := decodeLine(text); ok && counts(r) {
			kept = append(kept, text...)
		}
	}); err != nil {
		return err
	}
	path, err := write(kept)
	if err == nil {
		err = os.Rename(path, j.path)
	}
	if err != nil {
		return err
	}
	old := j.file
	j.file, err = os.OpenFile(j.path, os.O_RDWR, 0o600)
	j.size, j.compactAt = int64(len(kept)), max(minCompacted, 2*int64(len(kept)))
	j.broken = errors.Join(err, fsutil.Sync(filepath.Dir(j.path)), old.Close()) // a crash might bring back the old one
	return j.broken
}

// truncate removes everything after the last valid line.
func (j *journal) truncate() error { return j.file.Truncate(j.size) }

// length returns the size of the valid lines.
func (j *journal) length() int64 {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.size
}

func decodeLine(text []byte) (r record, ok bool) {
	sum, payload, found := bytes.Cut(bytes.TrimSuffix(text, []byte("\n")), []byte(" "))
	ok = found && string(sum) == fmt.Sprintf("%08x", crc32.Checksum(payload, castagnoli)) && json.Unmarshal(payload, &r) == nil
	return r, ok
}

// asFullError converts an error of a full disk to a *FullError.
func asFullError(wanted int64, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &FullError{Wanted: wanted, Err: err}
	}
	return err
}
