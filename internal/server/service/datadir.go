package service

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"standin/internal/base/fsutil"
	"standin/internal/calendar/calendarsync"
	"standin/internal/store"
)

// Files in the data folder.
const (
	databaseFile = "standin.db"
	keyFile      = "ingest.key"
	lockFile     = "standin.lock"
	nodeFile     = "node.id" // the node's bots belong to the directory, so the ID survives restarts
	storageDir   = "recordings"
)

// DatabaseAddress returns the address of the database: the given URL, or the
// SQLite file in the data folder when it is empty.
func DatabaseAddress(databaseURL, dataDir string) string {
	if databaseURL != "" {
		return databaseURL
	}
	return filepath.Join(dataDir, databaseFile)
}

// HasDatabase reports whether a database with this address exists. The database of a
// URL does: the operator has made it.
func HasDatabase(databaseURL, dataDir string) bool {
	if databaseURL != "" {
		return true
	}
	_, err := os.Stat(DatabaseAddress("", dataDir))
	return !errors.Is(err, fs.ErrNotExist)
}

// StorageAddress returns the address of the recordings: the given URL, or a
// folder in the data folder, whose path must be absolute, when it is empty.
func StorageAddress(storageURL, dataDir string) string {
	if storageURL != "" {
		return storageURL
	}
	return (&url.URL{Scheme: "file", Path: filepath.Join(dataDir, storageDir)}).String()
}

// PrepareDataDir creates the data folder if it does not exist. It removes the
// permissions of other users, and returns an error if it cannot: the folder
// contains secrets and recordings. It accepts a folder of another owner that
// is accessible to its group, as the volumes of Kubernetes are.
func PrepareDataDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	if mode&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil && mode&0o007 != 0 {
		return fmt.Errorf("other users can access the data folder %s (mode %04o), and this process cannot change that: "+
			"let its owner run chmod 700, or set STANDIN_DATA_DIR to a folder below it: %w", dir, mode, err)
	}
	return nil
}

// LockDataDir creates the data folder if it does not exist, and makes sure that one service
// uses it at a time, until the lock is closed.
func LockDataDir(dir string) (lock *os.File, err error) {
	if err := PrepareDataDir(dir); err != nil {
		return nil, err
	}
	lock, err = fsutil.TryLock(filepath.Join(dir, lockFile))
	if errors.Is(err, fsutil.ErrLocked) {
		return nil, fmt.Errorf("another standin serve uses the data folder %s: %w", dir, err)
	}
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// Sealer returns the key that encrypts what gives access to calendars and mailboxes.
func (k KeySettings) Sealer(data DataSettings) (calendarsync.Key, error) {
	if k.EncryptionKey != "" {
		return calendarsync.NewKey([]byte(k.EncryptionKey))
	}
	secret, err := k.signingKey(data)
	if err != nil {
		return calendarsync.Key{}, err
	}
	return calendarsync.NewKey(secret)
}

// signingKey returns the key of the ingest tokens: the configured one, or the
// one in the data folder, created if necessary. Nodes that share a database
// must share the key, so there it has to be configured.
func (k KeySettings) signingKey(data DataSettings) ([]byte, error) {
	if k.IngestSigningKey != "" {
		return []byte(k.IngestSigningKey), nil
	}
	if store.IsPostgres(data.DatabaseURL) {
		return nil, errors.New("STANDIN_INGEST_SIGNING_KEY must be set with PostgreSQL: all nodes need the same")
	}
	key, err := readOrCreate(filepath.Join(data.DataDir, keyFile), func() string {
		random := make([]byte, 32)
		_, _ = rand.Read(random) // never fails
		return hex.EncodeToString(random)
	})
	if err != nil {
		return nil, fmt.Errorf("load the ingest signing key: %w", err)
	}
	return []byte(key), nil
}

// readOrCreate returns the content of a small file. A missing or empty file is
// created, completely or not at all.
func readOrCreate(path string, create func() string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if strings.TrimSpace(string(content)) != "" {
		return string(content), nil
	}
	created := create()
	return created, fsutil.WriteFile(path, []byte(created))
}
