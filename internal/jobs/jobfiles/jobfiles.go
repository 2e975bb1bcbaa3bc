// Package jobfiles knows every file and object that belongs to a job:
//
//	storage                  jobs/<job>/, see storage.Recordings
//	<data>/bots/<job>-<n>/   the folder of an attempt's bot: its log, its spool, the
//	                         profiles of its browsers, and the recording that it packs
//	<data>/work-<job>-*      recordings that the service packs or transcribes
//	<data>/sounds/           sounds and pictures that the service decodes, while it does
//	$TMPDIR/standin-browser-*  temporary files of a bot's browser, linked from its profile
//	volumes of an engine     the spools of bots in containers
//
// Whatever deletes something of a job uses this package. The database has the rest.
// Files on other machines, such as other nodes, are deleted there.
package jobfiles

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/browser"
	"standin/internal/launch"
	"standin/internal/launch/process"
	"standin/internal/recording"
	"standin/internal/recording/storage"
)

// Files is the storage together with the files of jobs on this machine.
type Files struct {
	*storage.Recordings
	DataDir string  // of the service
	Volumes Volumes // nil when bots are no containers
}

// Volumes are the spools of bots that an engine keeps, as docker.Launcher does.
type Volumes interface {
	// Spools returns the jobs with spools, with the time of the newest one.
	Spools(ctx context.Context) (map[uuid.UUID]time.Time, error)
	// RemoveSpools removes the spools of a job's bots that have ended. It may be
	// repeated.
	RemoveSpools(ctx context.Context, jobID uuid.UUID) error
}

// BotsDir returns the folder that holds a folder for each bot.
func BotsDir(dataDir string) string { return filepath.Join(dataDir, "bots") }

// DeleteRecording deletes everything of a job, except the folder of a bot that still
// runs: it is deleted when the dispatcher has stopped the bot, or by the next sweep. It
// may be repeated.
func (f Files) DeleteRecording(ctx context.Context, jobID uuid.UUID) error {
	return errors.Join(f.Recordings.DeleteRecording(ctx, jobID), f.DeleteLocal(ctx, jobID))
}

// DeleteUploads deletes what is no longer needed once the recording is finished: the
// uploads, except captures of pages, and what bots that have ended left on this
// machine, except their logs and what the engine keeps. It may be repeated.
func (f Files) DeleteUploads(ctx context.Context, jobID uuid.UUID) error {
	return errors.Join(f.Recordings.DeleteUploads(ctx, jobID), f.DeleteLocalUploads(jobID))
}

// DeleteLocal is DeleteRecording for this machine and its engine only.
func (f Files) DeleteLocal(ctx context.Context, jobID uuid.UUID) error {
	failures := []error{f.deleteBots(jobID, func(string) bool { return true })}
	if f.Volumes != nil {
		failures = append(failures, f.Volumes.RemoveSpools(ctx, jobID))
	}
	err := eachFolder(f.DataDir, func(name string, _ time.Time) error {
		if id, ok := recording.ParseWorkName(name); ok && id == jobID {
			failures = append(failures, os.RemoveAll(filepath.Join(f.DataDir, name)))
		}
		return nil
	})
	return errors.Join(append(failures, err)...)
}

// DeleteLocalUploads is DeleteUploads for this machine only.
func (f Files) DeleteLocalUploads(jobID uuid.UUID) error {
	return f.deleteBots(jobID, func(name string) bool { return !process.IsLog(name) })
}

// deleteBots deletes the selected files in the folders of a job's bots that have ended,
// and the folders that become empty. Only the profile of a browser names the browser's
// temporary files elsewhere.
func (f Files) deleteBots(jobID uuid.UUID, selected func(name string) bool) error {
	bots, err := f.Spools(jobID)
	failures := []error{err}
	for _, bot := range bots {
		entries, err := os.ReadDir(bot.Folder)
		all := err == nil
		if !errors.Is(err, fs.ErrNotExist) {
			failures = append(failures, err)
		}
		for _, entry := range entries {
			path := filepath.Join(bot.Folder, entry.Name())
			switch {
			case !selected(entry.Name()):
				all = false
			case entry.IsDir():
				failures = append(failures, browser.RemoveProfile(path)) // like RemoveAll for other folders
			default:
				failures = append(failures, os.Remove(path))
			}
		}
		if all {
			failures = append(failures, os.RemoveAll(bot.Folder))
		}
	}
	return errors.Join(failures...)
}

// Spools returns the folders of a job's bots that have ended on this machine. They may
// hold media that the bots did not upload.
func (f Files) Spools(jobID uuid.UUID) (spools []storage.LeftoverSpool, err error) {
	err = f.eachBot(func(key launch.Key, folder string, _ time.Time) error {
		if key.JobID != jobID {
			return nil
		}
		used, err := process.InUse(folder)
		if err == nil && !used {
			spools = append(spools, storage.LeftoverSpool{Attempt: key.Attempt, Folder: folder})
		}
		return err
	})
	return spools, err
}

// LocalJobs returns the jobs with files on this machine or in its engine, with the time
// of the last change to one of their folders. The jobs of the machine are complete even
// if the engine does not answer, which is an error.
func (f Files) LocalJobs(ctx context.Context) (map[uuid.UUID]time.Time, error) {
	jobs := make(map[uuid.UUID]time.Time)
	add := func(id uuid.UUID, changed time.Time) {
		if known, ok := jobs[id]; !ok || changed.After(known) {
			jobs[id] = changed
		}
	}
	err := f.eachBot(func(key launch.Key, _ string, changed time.Time) error {
		add(key.JobID, changed)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = eachFolder(f.DataDir, func(name string, changed time.Time) error {
		if id, ok := recording.ParseWorkName(name); ok {
			add(id, changed)
		}
		return nil
	})
	if err != nil || f.Volumes == nil {
		return jobs, err
	}
	spools, err := f.Volumes.Spools(ctx)
	for id, created := range spools {
		add(id, created)
	}
	return jobs, err
}

// eachBot calls each for the folder of every bot.
func (f Files) eachBot(each func(key launch.Key, folder string, changed time.Time) error) error {
	dir := BotsDir(f.DataDir)
	return eachFolder(dir, func(name string, changed time.Time) error {
		key, ok := launch.ParseKey(name)
		if !ok {
			return nil
		}
		return each(key, filepath.Join(dir, name), changed)
	})
}

// eachFolder calls each for every folder in a folder, which may be missing.
func eachFolder(dir string, each func(name string, changed time.Time) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			continue
		}
		if err == nil {
			err = each(entry.Name(), info.ModTime())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
