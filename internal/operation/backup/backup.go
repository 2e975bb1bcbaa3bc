// Package backup copies the state of a service to a folder, and restores it
// (docs/backup.md). The folder contains
//
//	backup.json      the description, written last
//	database/        the copy of the database
//	ingest.key       the signing key of a data directory that has one
//	recordings/      copies of recordings, in the layout of storage.Recordings
package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"standin/internal/base/fsutil"
	"standin/internal/recording/storage"
	"standin/internal/store/dump"
	"standin/internal/store/migrations"
)

// Format is the version of the folder's layout.
const Format = 1

const (
	descriptionFile = "backup.json"
	databaseDir     = "database"
	recordingsDir   = "recordings"
	keyFile         = "ingest.key"
)

// Description is the content of backup.json.
type Description struct {
	Format        int            `json:"format"`
	CreatedAt     time.Time      `json:"createdAt"` // time before the database was copied
	CreatedBy     string         `json:"createdBy"` // the version of standin
	Database      dump.Dump      `json:"database"`
	Files         []File         `json:"files"` // all but backup.json and the recordings
	Recordings    RecordingsMode `json:"recordings"`
	Recorded      int            `json:"recorded"`           // jobs whose recordings were checked
	Problems      []Problem      `json:"recordingsProblems"` // problems of the recordings
	DurationMilli int64          `json:"durationMs"`
}

// File is a file of a backup.
type File struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // hex
}

// Problem is a recording that does not match its manifest.
type Problem struct {
	JobID   string `json:"jobId"`
	Problem string `json:"problem"`
}

// RecordingsMode says what a backup does with recordings.
type RecordingsMode string

// The modes.
const (
	AutoRecordings  RecordingsMode = "auto"  // copies those of a storage in a folder, and checks others
	CheckRecordings RecordingsMode = "check" // checks that the storage has the files of every manifest, with their sizes
	CopyRecordings  RecordingsMode = "copy"  // copies them into the backup
	SkipRecordings  RecordingsMode = "skip"
)

// Settings locate a service and a backup.
type Settings struct {
	Dir        string // directory of the backup
	DataDir    string
	Database   string // address for store.Open
	Storage    string // address for storage.Open
	OpenS3     storage.Opener
	Recordings RecordingsMode
	Version    string // version of standin
	Force      bool   // Restore replaces a database that is not empty
}

// Create writes a backup. The service may be running. The folder must be empty or
// missing. Problems with recordings are in the description and are no error.
func Create(ctx context.Context, settings Settings) (description Description, err error) {
	if settings.Recordings == AutoRecordings {
		settings.Recordings = CheckRecordings
		if strings.HasPrefix(settings.Storage, "file:") {
			settings.Recordings = CopyRecordings
		}
	}
	description = Description{
		Format: Format, CreatedAt: time.Now().UTC(), CreatedBy: settings.Version, Recordings: settings.Recordings, Problems: []Problem{},
	}
	if settings.Recordings != SkipRecordings { // they cannot be read from an older schema
		version, err := dump.SchemaVersion(ctx, settings.Database)
		if err != nil {
			return description, err
		}
		if version != migrations.Newest {
			return description, fmt.Errorf("the database has the schema version %d, and this version of standin %d: "+
				"use the version that runs the service, or --recordings=skip", version, migrations.Newest)
		}
	}
	if err := prepare(settings.Dir); err != nil {
		return description, err
	}
	if description.Database, err = dump.Write(ctx, settings.Database, filepath.Join(settings.Dir, databaseDir)); err != nil {
		return description, fmt.Errorf("copy the database: %w", err)
	}
	// With the signing key, if the data directory has one, bots that are in meetings reach a restored service.
	key, err := os.ReadFile(filepath.Join(settings.DataDir, keyFile))
	if !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fsutil.WriteFile(filepath.Join(settings.Dir, keyFile), key)
		}
		if err != nil {
			return description, err
		}
	}
	err = fs.WalkDir(os.DirFS(settings.Dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := describe(settings.Dir, path)
		description.Files = append(description.Files, file)
		return err
	})
	if err != nil {
		return description, err
	}
	if settings.Recordings != SkipRecordings {
		if description.Recorded, description.Problems, err = checkRecordings(ctx, settings, settings.Recordings, false); err != nil {
			return description, err
		}
	}
	description.DurationMilli = time.Since(description.CreatedAt).Milliseconds()
	text, err := json.MarshalIndent(description, "", "  ")
	if err == nil {
		err = fsutil.WriteFile(filepath.Join(settings.Dir, descriptionFile), text)
	}
	if err != nil {
		return description, fmt.Errorf("write the description of the backup: %w", err)
	}
	return description, nil
}

// prepare creates the folder of a backup.
func prepare(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("the folder %s is not empty; give each backup a new one", dir)
	}
	if err := os.MkdirAll(filepath.Join(dir, databaseDir), 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// describe reads a file of a backup.
func describe(dir, path string) (File, error) {
	size, sum, err := fsutil.HashFile(filepath.Join(dir, filepath.FromSlash(path)))
	return File{Path: path, Bytes: size, SHA256: sum}, err
}

// read reads backup.json and checks the other files.
func read(dir string) (description Description, err error) {
	text, err := os.ReadFile(filepath.Join(dir, descriptionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return description, fmt.Errorf("%s is not a complete backup: it has no %s", dir, descriptionFile)
	}
	if err == nil {
		err = json.Unmarshal(text, &description)
	}
	if err != nil {
		return description, fmt.Errorf("read the description of the backup: %w", err)
	}
	if description.Format != Format {
		return description, fmt.Errorf("the backup has the format %d, and this version of standin reads %d", description.Format, Format)
	}
	for _, want := range description.Files {
		if !filepath.IsLocal(filepath.FromSlash(want.Path)) {
			return description, fmt.Errorf("the backup lists the file %q outside of its folder", want.Path)
		}
		if found, err := describe(dir, want.Path); err != nil || found != want {
			return description,
				errors.Join(fmt.Errorf("the file %s of the backup is damaged: it has %d bytes and the SHA-256 %s, and should have %d and %s",
					want.Path, found.Bytes, found.SHA256, want.Bytes, want.SHA256), err)
		}
	}
	return description, nil
}

// Bytes returns the size of the backup without recordings.
func (d Description) Bytes() (sum int64) {
	for _, file := range d.Files {
		sum += file.Bytes
	}
	return sum
}

// Rows returns the number of rows of a table.
func (d Description) Rows(table string) int64 {
	for _, t := range d.Database.Tables {
		if t.Name == table {
			return t.Rows
		}
	}
	return 0
}
