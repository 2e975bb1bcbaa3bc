package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"standin/internal/host"
)

const (
	// An hour of recording at the recorder's targets of 1.2 Mbit/s and
	// 64 kbit/s is 0.57 GB.
	minFreeGB         = 1.0
	recommendedFreeGB = 10.0

	// A bot in a replica meeting of three people used 462 MB (Chromium 156,
	// proportional set size of all its processes). Live pages use more.
	minMemoryMB         = 512.0
	recommendedMemoryMB = 1536.0
)

// checkDataDir checks that the data folder is writable, and not readable by
// others, because it holds keys.
func checkDataDir(settings Settings) Check {
	const name = checkName("data folder")
	dir, err := filepath.Abs(settings.DataDir)
	if err != nil {
		return name.fail(err.Error(), "give the data folder as an absolute path")
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := writable(existingParent(dir)); err != nil {
			return name.fail(fmt.Sprintf("%s does not exist and cannot be created: %v", dir, err), createFolderFix(dir)+", or set STANDIN_DATA_DIR")
		}
		return name.ok("%s does not exist yet; standin serve creates it", dir)
	case err != nil:
		return name.fail(err.Error(), "give this user access to the folder")
	case !info.IsDir():
		return name.fail(dir+" is not a folder", "move the file away, or set STANDIN_DATA_DIR")
	}
	if err := writable(dir); err != nil {
		return name.fail(fmt.Sprintf("%s is not writable: %v", dir, err), fmt.Sprintf("give it to this user: chown -R %d %s", os.Geteuid(), dir))
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return name.warn(fmt.Sprintf("%s is writable, but its mode is %#o: other users can read it", dir, mode), "chmod 700 "+dir)
	}
	return name.ok("%s is writable by its owner only", dir)
}

// writable creates and removes a file in a folder.
func writable(dir string) error {
	file, err := os.CreateTemp(dir, ".standin-doctor-*")
	if err != nil {
		return err
	}
	_, err = file.WriteString("standin doctor")
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

// createFolderFix returns how to create a folder that this user cannot create.
func createFolderFix(dir string) string {
	return fmt.Sprintf("as root: install -d -m 700 -o %d %s", os.Geteuid(), dir)
}

// existingParent returns the closest existing folder of a path.
func existingParent(path string) string {
	for {
		if info, err := os.Stat(path); err == nil && info.IsDir() || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}

// checkDisk checks the free space for recordings.
func checkDisk(ctx context.Context, settings Settings) Check {
	const name = checkName("disk")
	const fix = "free some space, or move the data folder (STANDIN_DATA_DIR) to a larger disk"
	dir, err := filepath.Abs(settings.DataDir)
	if err != nil {
		return name.fail(err.Error(), "give the data folder as an absolute path")
	}
	return evaluateDisk(host.NewReader(existingParent(dir)).Read(ctx).Disk, fix)
}

func evaluateDisk(disk *host.Disk, fix string) Check {
	const name = checkName("disk")
	if disk == nil {
		return name.warn("the free space cannot be read on this system", fix)
	}
	found := fmt.Sprintf("%.1f GB free, %.0f %% used; an hour of recording takes about 0.6 GB", disk.FreeGB, disk.UsedPct)
	switch {
	case disk.FreeGB < minFreeGB:
		return name.fail(found, fix)
	case disk.FreeGB < recommendedFreeGB:
		return name.warn(found, fix)
	}
	return name.ok("%s", found)
}

// checkMemory checks the memory for bots. In a container, its limit counts.
func checkMemory(ctx context.Context, settings Settings) Check {
	return evaluateMemory(host.NewReader(existingParent(settings.DataDir)).Read(ctx).RAM)
}

func evaluateMemory(memory *host.RAM) Check {
	const name = checkName("memory")
	const fix = "run fewer bots at a time, or give this machine or container more memory"
	if memory == nil {
		return name.warn("the memory cannot be read on this system", fix)
	}
	free := memory.TotalMB - memory.Used
	found := fmt.Sprintf("%.0f MB of %.0f MB available", free, memory.TotalMB)
	switch {
	case free < minMemoryMB:
		return name.fail(found, fix)
	case free < recommendedMemoryMB:
		return name.warn(found, fix)
	}
	return name.ok("%s", found)
}
