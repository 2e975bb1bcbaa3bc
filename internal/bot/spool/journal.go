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

	"standin/internal/job"
)

// record is a line of the journal; exactly one of its fields says what
// happened.
type record struct {
	Owner    string       `json:"owner,omitempty"`
	Event    *eventRecord `json:"event,omitempty"`
	Acked    int64        `json:"acked,omitempty"` // this event and all before it are done with
	Settled  *mark        `json:"settled,omitempty"`
	Replaced string       `json:"replaced,omitempty"` // what was settled under this name is about to change
	Taken    string       `json:"taken,omitempty"`    // id of a command

	Refusal string `json:"refusal,omitempty"` // with Acked: why the service did not take the event
}

// eventRecord is an Event as the journal keeps it.
type eventRecord struct {
	Number int64           `json:"number"`
	Kind   job.Trigger     `json:"kind"`
	At     int64           `json:"at"` // Unix milliseconds
	Data   json.RawMessage `json:"data,omitempty"`
}

// journal is an append-only file of lines: the CRC-32C of the payload in eight
// hex digits, a space, the payload, a line feed. A line counts only whole, so
// whatever moment a write was cut at, the lines before it stand.
type journal struct {
	mutex   sync.Mutex
	file    *os.File
	size    int64 // up to here the file is known to be good
	damaged int
	broken  error // set when the file's end could not be put back in order
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// openJournal opens or makes the file, gives every readable record to replay
// in order, and cuts off a line whose end is missing.
func openJournal(path string, replay func(record)) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{file: file}
	if err := j.read(replay); err != nil {
		return nil, errors.Join(fmt.Errorf("read the journal: %w", err), file.Close())
	}
	if err := errors.Join(j.cutBack(), file.Sync(), syncDir(filepath.Dir(path))); err != nil {
		return nil, errors.Join(fmt.Errorf("mend the journal: %w", err), file.Close())
	}
	return j, nil
}

// read replays the file and finds where its last whole line ends. A whole line
// that does not agree with its checksum is passed over: what stands behind it
// was confirmed too.
func (j *journal) read(replay func(record)) error {
	lines := bufio.NewReader(j.file)
	for {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		j.size += int64(len(line))
		if r, ok := decodeLine(line); ok {
			replay(r)
		} else {
			j.damaged++
		}
	}
}

// append writes the record and returns when it is on the disk. After an error
// the record does not count, and the file is as it was before.
func (j *journal) append(r record) error {
	line, err := encodeLine(r)
	if err != nil {
		return err
	}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.broken != nil {
		return fmt.Errorf("write to the journal: %w", j.broken)
	}
	_, err = j.file.WriteAt(line, j.size)
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.broken = j.cutBack()
		return full(int64(len(line)), fmt.Errorf("write to the journal: %w", err))
	}
	j.size += int64(len(line))
	return nil
}

// cutBack removes whatever stands behind the last good line.
func (j *journal) cutBack() error { return j.file.Truncate(j.size) }

// length is how many bytes of good lines the file holds.
func (j *journal) length() int64 {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.size
}

func (j *journal) close() error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if errors.Is(j.broken, os.ErrClosed) {
		return nil
	}
	j.broken = os.ErrClosed
	return j.file.Close()
}

func encodeLine(r record) ([]byte, error) {
	payload, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode a journal record: %w", err)
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(payload, castagnoli), payload), nil
}

func decodeLine(line []byte) (record, bool) {
	sum, payload, found := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	if !found || string(sum) != fmt.Sprintf("%08x", crc32.Checksum(payload, castagnoli)) {
		return record{}, false
	}
	var r record
	if err := json.Unmarshal(payload, &r); err != nil {
		return record{}, false
	}
	return r, true
}

// full turns the disk's "no room" into a FullError and leaves other errors as
// they are.
func full(wanted int64, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &FullError{Wanted: wanted, Err: err}
	}
	return err
}
