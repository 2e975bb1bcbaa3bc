// Package spool stores events, segments of the recording and final files on the
// disk until the service has them. Each attempt has its own spool.
//
// Accepted data, but for AddFile's, is synced to the disk when a method returns, so it
// survives a bot that is killed and a service that is away for hours. Uploaded files stay while
// there is space, since the bot packs its recording from them.
//
// The folder contains:
//
//	journal   events, texts, acknowledgments and uploads
//	media/    complete files, under the names of their uploads
//	scratch/  files that are being written; emptied by Open
package spool

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"standin/internal/base/fsutil"
	"standin/internal/base/retry"
	"standin/internal/bot/ingest"
)

// DefaultLimit is the default of Settings.Limit: about fourteen hours at the
// 1.2 Mbit/s of the default recording.
const DefaultLimit = 8 << 30

// Settings configures a spool. The zero value is valid.
type Settings struct {
	Limit int64            // bytes of media; 0 means DefaultLimit
	Now   func() time.Time // nil means time.Now
}

// Spool is an open spool. It is safe for concurrent use.
type Spool struct {
	Events Queue[Event]
	Texts  Queue[Texts]

	dir     string
	limit   int64
	now     func() time.Time
	journal *journal
	changes retry.Broadcast
	owner   string // the attempt whose events the spool holds; empty until Bind
	files   files
	seen    sync.Map // IDs of the commands that the bot has acknowledged: a restarted one does not execute them again
}

// Open opens or creates the folder, with mode 0700, and recovers its content:
// incomplete files and an incomplete line of the journal are removed. Only one
// process at a time may have a spool open; launch.LockDir makes sure of it.
func Open(dir string, settings Settings) (*Spool, error) {
	s := &Spool{dir: dir, limit: cmp.Or(settings.Limit, DefaultLimit), now: settings.Now}
	s.Events.spool, s.Events.limit, s.Events.record = s, maxJournal, func(change *queueChange[Event]) record { return record{Events: change} }
	s.Texts.spool, s.Texts.limit, s.Texts.record = s, maxTexts, func(change *queueChange[Texts]) record { return record{Texts: change} }
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("open spool %s: %w", dir, err), s.Close())
	}
	return s, nil
}

func (s *Spool) open() (err error) {
	if err := os.RemoveAll(s.ScratchDir()); err != nil {
		return err
	}
	for _, folder := range []string{s.dir, s.mediaDir(), s.ScratchDir()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	marks := map[string]mark{} // of the current versions, by name
	if s.journal, err = openJournal(filepath.Join(s.dir, "journal"), func(r record) {
		s.owner = cmp.Or(r.Owner, s.owner)
		s.Events.replay(r.Events)
		s.Texts.replay(r.Texts)
		if r.Seen != "" {
			s.seen.Store(r.Seen, true)
		}
		if r.Settled != nil {
			marks[r.Settled.Name] = *r.Settled
		}
		if r.Replaced != "" {
			delete(marks, r.Replaced)
		}
	}); err != nil {
		return err
	}
	if err := fsutil.Sync(filepath.Dir(s.dir)); err != nil { // s.dir may be new
		return err
	}
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
	for name, mark := range marks {
		_, _, segment := ingest.ParseSegmentName(name)
		if _, there := s.files.byName[name]; segment && !there && mark.Refusal == "" {
			s.files.evicted[name] = mark.Sum
			s.files.recorded += mark.Size
			s.files.uploaded += mark.Size
		}
	}
	return nil
}

// Bind binds a new spool to its owner, the attempt whose events it holds. It fails
// for a spool of another owner: events of one attempt must never be sent as those of
// another. It must not be called concurrently.
func (s *Spool) Bind(owner string) error {
	switch s.owner {
	case owner:
		return nil
	case "":
	default:
		return fmt.Errorf("bind spool to %s: it belongs to %s", owner, s.owner)
	}
	if err := s.journal.append(record{Owner: owner}); err != nil {
		return err
	}
	s.owner = owner
	return nil
}

// DamagedLines returns how many complete lines of the journal Open could not read.
// It is 0 unless the disk lost or changed synced data.
func (s *Spool) DamagedLines() int { return s.journal.damaged }

// Changed returns a channel that is closed when an event, a file or a batch of texts is added,
// acknowledged or rejected. Call it before reading the state.
func (s *Spool) Changed() <-chan struct{} { return s.changes.Next() }

// Close closes the spool and keeps its content.
func (s *Spool) Close() error {
	j := s.journal
	if j == nil {
		return nil
	}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if errors.Is(j.broken, os.ErrClosed) {
		return nil
	}
	j.broken = os.ErrClosed
	return j.file.Close()
}

// Remove closes the spool and deletes its folder.
func (s *Spool) Remove() error {
	return errors.Join(s.Close(), os.RemoveAll(s.dir))
}

// FullError is the error of a spool or disk without space.
type FullError struct {
	Limit  int64 // size of the spool, in bytes; 0 if the disk is full
	Used   int64
	Wanted int64
	Err    error // the disk's error, if the disk is full
}

func (e *FullError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("spool: no space on the disk for %d bytes: %v", e.Wanted, e.Err)
	}
	return fmt.Sprintf("spool: full: %d bytes wanted, %d of %d used", e.Wanted, e.Used, e.Limit)
}

func (e *FullError) Unwrap() error { return e.Err }
