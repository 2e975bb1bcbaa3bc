package chaos

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"standin/internal/testing/s3test"
)

// recordingStorage is where the nodes keep recordings, with its faults.
type recordingStorage interface {
	address() string
	// take takes the storage away, and restore gives it back.
	take() error
	restore() error
}

// folder is storage in a folder.
type folder string

func (f folder) address() string { return (&url.URL{Scheme: "file", Path: string(f)}).String() }

// take exchanges the folder with a file, in which nothing can be stored.
func (f folder) take() error {
	return errors.Join(os.WriteFile(string(f)+".away", nil, 0o600), f.exchange())
}

func (f folder) restore() error { return errors.Join(f.exchange(), os.Remove(string(f)+".away")) }

func (f folder) exchange() error {
	return unix.Renameat2(unix.AT_FDCWD, string(f)+".away", unix.AT_FDCWD, string(f), unix.RENAME_EXCHANGE)
}

// bucket is storage in a bucket behind a proxy.
type bucket struct {
	proxy *s3test.Store
	lost  *atomic.Int64 // objects
}

// newBucket starts an object store.
func newBucket(t *testing.T) bucket {
	t.Helper()
	return bucket{s3test.Start(t), new(atomic.Int64)}
}

func (b bucket) address() string { return b.proxy.Address() }

func (b bucket) take() error {
	b.proxy.SetFaults(func(*http.Request, int64) s3test.Fault { return s3test.Fault{Refuse: true} })
	return nil
}

func (b bucket) restore() error {
	b.proxy.ClearFaults()
	return nil
}

// lie makes the bucket acknowledge what is stored and keep every second object at most,
// until restore.
func (b bucket) lie() {
	b.proxy.SetFaults(func(r *http.Request, nth int64) s3test.Fault {
		lose := r.Method == http.MethodPut && nth%2 == 1
		if lose {
			b.lost.Add(1)
		}
		return s3test.Fault{Lose: lose}
	})
}

// disk is a file system of its own.
type disk struct{ folder string }

// diskSize is the size of a disk that is not full.
const diskSize = 4 << 30

// newDisk mounts a disk. Without root it returns one without a file system of its own,
// which is never full.
func newDisk(t *testing.T) (d disk, mounted bool) {
	t.Helper()
	d.folder = t.TempDir()
	if err := unix.Mount("tmpfs", d.folder, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", diskSize)); err != nil {
		t.Logf("no disk becomes full: %v", err)
		return d, false
	}
	t.Cleanup(func() {
		if err := unix.Unmount(d.folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d, true
}

// fill makes the disk full. Nothing can be written when it returns.
func (d disk) fill() error {
	for {
		var used unix.Statfs_t
		if err := unix.Statfs(d.folder, &used); err != nil {
			return err
		}
		err := d.resize(int64(used.Blocks-used.Bfree) * used.Bsize)
		if errors.Is(err, unix.EINVAL) { // more was written in between
			continue
		}
		if err != nil {
			return err
		}
		probe := filepath.Join(d.folder, "probe")
		defer os.Remove(probe)
		if err := os.WriteFile(probe, make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("write to the full disk: %w", err)
		}
		return nil
	}
}

// free makes the disk large again.
func (d disk) free() error { return d.resize(diskSize) }

func (d disk) resize(bytes int64) error {
	return unix.Mount("", d.folder, "", unix.MS_REMOUNT, fmt.Sprintf("size=%d", bytes))
}
