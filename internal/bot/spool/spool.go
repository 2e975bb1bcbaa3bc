// Package spool keeps what a bot has until the service has it too: events,
// segments of the recording and finished files, in one folder for each attempt.
//
// Whatever a method has accepted is on the disk when the method returns, so it
// outlives a bot killed at any moment and a service that is away for hours.
// Files stay after they were uploaded, since the bot packs its recording from
// them, as long as there is room (room.go); Remove ends that. The package knows neither the network nor who
// uploads: that is the channel's work.
//
// The folder holds:
//
//	journal   what cannot be told from the files: events, acknowledgements, uploads
//	media/    segments and other files, whole, under the names they are uploaded by
//	scratch/  files still being written; emptied by Open
//	lock      held by the one process that has the folder open
package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"standin/internal/ingest"
)

// DefaultLimit is how much a spool holds when the settings name no limit: some
// fourteen hours at the 1.2 Mbit/s of the default recording.
const DefaultLimit = 8 << 30

// Settings are what Open needs beside the folder. The zero value is good.
type Settings struct {
	Limit int64            // bytes of media beyond which segments must give way; 0 means DefaultLimit
	Now   func() time.Time // nil means time.Now
}

// Spool is an open folder. It may be used by several goroutines at a time.
type Spool struct {
	dir     string
	limit   int64
	now     func() time.Time
	lock    *os.File
	journal *journal
	changes changes

	events events
	files  files
	taken  commands
}

// Open opens the folder, making it (mode 0700) if it is missing, and recovers
// what an earlier bot left in it: unfinished files are dropped, a torn end of
// the journal is cut off. A folder that another process has open is refused.
func Open(dir string, settings Settings) (*Spool, error) {
	s := &Spool{dir: dir, limit: settings.Limit, now: settings.Now}
	if s.limit <= 0 {
		s.limit = DefaultLimit
	}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("open spool %s: %w", dir, err), s.Close())
	}
	return s, nil
}

func (s *Spool) open() (err error) {
	for _, folder := range []string{s.dir, s.mediaDir(), s.ScratchDir()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	if s.lock, err = takeLock(filepath.Join(s.dir, "lock")); err != nil {
		return err
	}
	if err := empty(s.ScratchDir()); err != nil {
		return err
	}
	marks := newMarks()
	if s.journal, err = openJournal(filepath.Join(s.dir, "journal"), func(r record) {
		s.events.replay(r)
		s.taken.replay(r)
		marks.replay(r)
	}); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(s.dir)); err != nil { // s.dir itself may be new
		return err
	}
	return s.recoverFiles(marks)
}

// Bind ties the folder to its owner, the attempt whose events it holds. The
// first call writes the name down; a call with another name, then or after a
// reopening, is an error: events of one attempt must never be sent as those of
// another.
func (s *Spool) Bind(owner string) error {
	return s.events.bind(s.journal, owner)
}

// Scratch is a folder on the same file system for files that are still being
// made: AddFile takes them over without copying. Open empties it.
func (s *Spool) ScratchDir() string { return filepath.Join(s.dir, "scratch") }

func (s *Spool) mediaDir() string { return filepath.Join(s.dir, ingest.SpoolMediaDir) }

// Damaged is how many whole lines of the journal Open could not read. It is 0
// unless the disk lost or changed what it had already confirmed.
func (s *Spool) DamagedLines() int { return s.journal.damaged }

// Changed returns a channel that is closed at the next change: an event or a
// file was added, acknowledged or set aside. Take it before looking.
func (s *Spool) Changed() <-chan struct{} { return s.changes.next() }

// Close lets go of the folder and keeps what is in it.
func (s *Spool) Close() error {
	var err error
	if s.journal != nil {
		err = s.journal.close()
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
		s.lock = nil
	}
	return err
}

// Remove closes the spool and deletes the folder with everything in it.
func (s *Spool) Remove() error {
	return errors.Join(s.Close(), os.RemoveAll(s.dir))
}

// FullError says that the spool has no room for what was to be added.
type FullError struct {
	Limit  int64 // bytes the spool may hold; 0 when it was the disk that was full
	Used   int64
	Wanted int64
	Err    error // the disk's answer, when it was the disk that was full
}

func (e *FullError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("spool: no room on the disk for %d bytes: %v", e.Wanted, e.Err)
	}
	return fmt.Sprintf("spool: full: %d bytes wanted, %d of %d used", e.Wanted, e.Used, e.Limit)
}

func (e *FullError) Unwrap() error { return e.Err }

// changes wakes everyone who waits for the spool to change.
type changes struct {
	mutex sync.Mutex
	open  chan struct{}
}

func (c *changes) next() <-chan struct{} {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.open == nil {
		c.open = make(chan struct{})
	}
	return c.open
}

func (c *changes) tell() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.open != nil {
		close(c.open)
		c.open = nil
	}
}
