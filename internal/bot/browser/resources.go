package browser

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"standin/internal/base/retry"
)

const (
	// maxProfile limits the files of a browser, in bytes. Chromium lets a page store
	// more than half of the disk.
	maxProfile = 1 << 30

	// maxMemory limits the memory of a browser and of this process together, in
	// bytes. Meetings use less than half of it.
	maxMemory = 4 << 30

	// resourceInterval is the time between checks. It bounds how much a page exceeds
	// a limit.
	resourceInterval = 2 * time.Second
)

// ResourceError reports that the browser was ended because a page used too much.
// Another browser that opens the page would probably end in the same way.
type ResourceError struct {
	Resource string
	Limit    int64 // bytes
}

// Error includes the limit.
func (e *ResourceError) Error() string {
	return fmt.Sprintf("%s exceeded the limit of %d MiB", e.Resource, e.Limit>>20)
}

// watchResources ends the browser when it uses too much, until ctx ends.
func (b *Browser) watchResources(ctx context.Context) {
	for retry.Sleep(ctx, resourceInterval) == nil {
		if size := folderSize(b.options.ProfileDir) + folderSize(b.options.temporaryDir); size > b.options.maxProfile {
			b.shutDown(&ResourceError{Resource: "the browser's files", Limit: b.options.maxProfile})
			return
		}
		if treeMemory(b.process, b.options.ProfileDir) > b.options.maxMemory {
			b.shutDown(&ResourceError{Resource: "the memory of the bot and its browser", Limit: b.options.maxMemory})
			return
		}
	}
}

// folderSize returns the size of all files below a folder. Files come and go
// meanwhile, so errors are ignored.
func folderSize(folder string) (size int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // the file is gone
		}
		if info, err := entry.Info(); err == nil {
			size += diskUsage(info)
		}
		return nil
	})
	return size
}
