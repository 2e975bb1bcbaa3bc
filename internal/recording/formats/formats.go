// Package formats makes further files from finished recordings when they are asked for,
// such as recording.mp3 and contact-sheet.jpg, and keeps them in storage beside the
// recording.
package formats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/internal/fsutil"
	"standin/internal/recording"
	"standin/internal/recording/build"
)

const (
	maxWaiting     = 32 // conversions
	maxPerConsumer = 4  // of them, with the one that runs
)

// ErrBusy is returned while too many conversions wait, in all or of the consumer.
var ErrBusy = errors.New("too many conversions are waiting")

// Storage stores recordings. It is implemented by storage.Recordings and returns the
// errors of package recording.
type Storage interface {
	StoredManifest(ctx context.Context, jobID uuid.UUID) (recording.Manifest, bool, error)
	HasMedia(ctx context.Context, jobID uuid.UUID, name string) (bool, error)
	OpenMedia(ctx context.Context, jobID uuid.UUID, name string) (content io.ReadSeekCloser, size int64, modified time.Time, err error)
	PutMedia(ctx context.Context, jobID uuid.UUID, name string, content io.Reader, sha256Hex string) error
	DeleteRecording(ctx context.Context, jobID uuid.UUID) error
}

// Maker makes files from recordings, one at a time.
type Maker struct {
	storage Storage
	dataDir string // for temporary folders
	log     *slog.Logger
	queue   chan *conversion

	mutex  sync.Mutex
	active map[key]*conversion // waiting or running
}

type key struct {
	jobID uuid.UUID
	name  string
}

// conversion is one conversion; done is closed when it has ended.
type conversion struct {
	key
	build.Conversion
	consumer uuid.UUID
	source   recording.File
	done     chan struct{}
	err      error
}

// NewMaker returns a maker whose Run is to be called.
func NewMaker(storage Storage, dataDir string, log *slog.Logger) *Maker {
	return &Maker{storage: storage, dataDir: dataDir, log: log, queue: make(chan *conversion, maxWaiting), active: make(map[key]*conversion)}
}

// Run makes files until ctx ends.
func (m *Maker) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-m.queue:
			m.end(c, m.convert(ctx, c))
		}
	}
}

func (m *Maker) end(c *conversion, err error) {
	if err != nil {
		m.log.Warn("cannot convert recording", "job", c.jobID, "file", c.name, "error", err)
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	c.err = err
	delete(m.active, c.key)
	close(c.done)
}

// Make makes a file of a consumer's job unless it is in storage, and waits for it until
// ctx ends. The conversion goes on then. ok is false if no such file can be made from the
// recording.
func (m *Maker) Make(ctx context.Context, consumer, jobID uuid.UUID, media []recording.Media, name string) (ok bool, err error) {
	how, known := build.ConversionNamed(name)
	if !known {
		return false, nil
	}
	source, found := how.Source(media)
	if !found {
		return false, nil
	}
	exists, err := m.storage.HasMedia(ctx, jobID, name)
	if exists || err != nil {
		return exists, err
	}
	c, err := m.enqueue(&conversion{key: key{jobID, name}, Conversion: how, consumer: consumer, source: source, done: make(chan struct{})})
	if err != nil {
		return false, err
	}
	select {
	case <-c.done:
		return c.err == nil, c.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// enqueue adds a conversion to the queue, or returns the one that makes the same file.
func (m *Maker) enqueue(c *conversion) (*conversion, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if other, ok := m.active[c.key]; ok {
		return other, nil
	}
	ofConsumer := 0
	for _, other := range m.active {
		if other.consumer == c.consumer {
			ofConsumer++
		}
	}
	if ofConsumer >= maxPerConsumer {
		return nil, ErrBusy
	}
	select {
	case m.queue <- c:
		m.active[c.key] = c
		return c, nil
	default:
		return nil, ErrBusy
	}
}

// convert makes a file and stores it.
func (m *Maker) convert(ctx context.Context, c *conversion) error {
	tools, err := build.FindTools()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(m.dataDir, recording.WorkPrefix(c.jobID)+"convert-")
	if err != nil {
		return fmt.Errorf("create a folder: %w", err)
	}
	defer os.RemoveAll(folder)
	from, to := filepath.Join(folder, "source"+filepath.Ext(c.source.Name)), filepath.Join(folder, c.name)
	if err := m.fetch(ctx, c.jobID, c.source.Name, from); err != nil {
		return err
	}
	if err := tools.Convert(ctx, c.Conversion, c.source, from, to); err != nil {
		return err
	}
	if err := m.store(ctx, c.jobID, c.name, to); err != nil {
		return err
	}
	// The recording may have been deleted meanwhile: then nothing of it may stay.
	_, exists, err := m.storage.StoredManifest(ctx, c.jobID)
	if err == nil && !exists {
		return errors.Join(&recording.NotFoundError{What: "the recording"}, m.storage.DeleteRecording(ctx, c.jobID))
	}
	return err
}

func (m *Maker) fetch(ctx context.Context, jobID uuid.UUID, name, path string) (err error) {
	content, _, _, err := m.storage.OpenMedia(ctx, jobID, name)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer content.Close() // read only
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	_, err = io.Copy(file, content)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	return nil
}

func (m *Maker) store(ctx context.Context, jobID uuid.UUID, name, path string) error {
	_, sum, err := fsutil.HashFile(path)
	if err != nil {
		return fmt.Errorf("store %s: %w", name, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("store %s: %w", name, err)
	}
	defer file.Close() // read only
	if err := m.storage.PutMedia(ctx, jobID, name, file, sum); err != nil {
		return fmt.Errorf("store %s: %w", name, err)
	}
	return nil
}
