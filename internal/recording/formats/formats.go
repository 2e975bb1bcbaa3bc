// Package formats makes further files from finished recordings when they are asked for,
// such as recording.mp3 and contact-sheet.jpg, and keeps them in storage beside the
// recording.
package formats

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/singleflight"

	"standin/internal/base/budget"
	"standin/internal/base/fsutil"
	"standin/internal/recording"
	"standin/internal/recording/build"
)

// Of each consumer, one conversion runs at a time and maxWaiting more may wait; of all
// consumers, concurrency run.
const concurrency, maxWaiting = 2, 3

// Storage stores recordings. It is implemented by storage.Recordings and returns the
// errors of package recording.
type Storage interface {
	StoredManifest(ctx context.Context, jobID uuid.UUID) (recording.Manifest, bool, error)
	HasMedia(ctx context.Context, jobID uuid.UUID, name string) (bool, error)
	OpenMedia(ctx context.Context, jobID uuid.UUID, name string) (content io.ReadSeekCloser, modified time.Time, err error)
	PutMedia(ctx context.Context, jobID uuid.UUID, name string, content io.Reader, sha256Hex string) error
	DeleteRecording(ctx context.Context, jobID uuid.UUID) error
}

// Maker makes files from recordings.
type Maker struct {
	storage Storage
	dataDir string // for temporary folders
	log     *slog.Logger
	turns   *budget.Budget
	calls   singleflight.Group // by job and file
	queue   chan func(context.Context)
}

// NewMaker returns a maker whose Run is to be called.
func NewMaker(storage Storage, dataDir string, log *slog.Logger) *Maker {
	return &Maker{
		storage: storage, dataDir: dataDir, log: log, turns: budget.New(concurrency, 1, maxWaiting), queue: make(chan func(context.Context)),
	}
}

// Run makes files until ctx ends.
func (m *Maker) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case convert := <-m.queue:
			running.Go(func() { convert(ctx) })
		}
	}
}

// Make makes a file of a consumer's job unless it is in storage, and waits for it until
// ctx ends. The conversion goes on then. ok is false if no such file can be made from the
// recording. The error is budget.ErrFull while too many conversions of the consumer wait.
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
	made := m.calls.DoChan(jobID.String()+"/"+name, func() (any, error) {
		ended := make(chan error, 1)
		select {
		case m.queue <- func(ctx context.Context) { ended <- m.convert(ctx, how, consumer, jobID, source, name) }:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		err := <-ended
		if err != nil && !errors.Is(err, budget.ErrFull) {
			m.log.Warn("cannot convert recording", "job", jobID, "file", name, "error", err)
		}
		return nil, err
	})
	select {
	case result := <-made:
		return result.Err == nil, result.Err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// convert makes a file in turn and stores it.
func (m *Maker) convert(ctx context.Context, how build.Conversion, consumer, jobID uuid.UUID, source recording.File, name string) error {
	release, err := m.turns.Acquire(ctx, consumer.String(), 1)
	if err != nil {
		return err
	}
	defer release()
	tools, err := build.FindTools()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(m.dataDir, recording.WorkPrefix(jobID)+"convert-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	from, to := filepath.Join(folder, "source"+filepath.Ext(source.Name)), filepath.Join(folder, name)
	if err := fetch(ctx, m.storage, jobID, source.Name, from); err != nil {
		return err
	}
	if err := tools.Convert(ctx, how, source, from, to); err != nil {
		return err
	}
	if err := m.store(ctx, jobID, name, to); err != nil {
		return err
	}
	// The recording may have been deleted meanwhile: then nothing of it may stay.
	_, exists, err := m.storage.StoredManifest(ctx, jobID)
	if err == nil && !exists {
		return errors.Join(&recording.NotFoundError{What: "the recording"}, m.storage.DeleteRecording(ctx, jobID))
	}
	return err
}

func (m *Maker) store(ctx context.Context, jobID uuid.UUID, name, path string) error {
	_, sum, err := fsutil.HashFile(path)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // read only
	return m.storage.PutMedia(ctx, jobID, name, file, sum)
}
