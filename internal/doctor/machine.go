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
	leastFreeGB = 1.0
	wantFreeGB  = 10.0

	// A bot in a replica meeting of three people came to 462 MB (Chromium 156,
	// proportional set size of all its processes). Live pages take more.
	leastMemoryMB = 512.0
	wantMemoryMB  = 1536.0
)

// checkDataDir looks whether the data folder can be written, and by nobody
// else read: it holds keys.
func checkDataDir(settings Settings) Check {
	const name = verdict("data folder")
	dir, err := filepath.Abs(settings.DataDir)
	if err != nil {
		return name.fail(err.Error(), "give the data folder as an absolute path")
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := writable(existing(dir)); err != nil {
			return name.fail(fmt.Sprintf("%s is not there, and cannot be made: %v", dir, err), makeFolder(dir)+", or set STANDIN_DATA_DIR")
		}
		return name.ok("%s is not there yet; standin serve makes it", dir)
	case err != nil:
		return name.fail(err.Error(), "let this user reach the folder")
	case !info.IsDir():
		return name.fail(dir+" is no folder", "move the file away, or set STANDIN_DATA_DIR")
	}
	if err := writable(dir); err != nil {
		return name.fail(fmt.Sprintf("%s cannot be written: %v", dir, err), fmt.Sprintf("give it to this user: chown -R %d %s", os.Geteuid(), dir))
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return name.warn(fmt.Sprintf("%s can be written, but its mode is %#o: others can look into it", dir, mode), "chmod 700 "+dir)
	}
	return name.ok("%s can be written, by its owner alone", dir)
}

// writable finds out whether a folder can be written, and leaves no trace.
func writable(dir string) error {
	file, err := os.CreateTemp(dir, ".standin-doctor-*")
	if err != nil {
		return err
	}
	_, err = file.WriteString("standin doctor")
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

// makeFolder says how to make a folder that this user cannot make.
func makeFolder(dir string) string {
	return fmt.Sprintf("as root: install -d -m 700 -o %d %s", os.Geteuid(), dir)
}

// existing returns the closest folder above a path that is there.
func existing(path string) string {
	for {
		if info, err := os.Stat(path); err == nil && info.IsDir() || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}

// checkDisk looks how much room recordings have.
func checkDisk(ctx context.Context, settings Settings) Check {
	const name = verdict("disk")
	const mend = "make room, or move the data folder (STANDIN_DATA_DIR) to a larger disk"
	dir, err := filepath.Abs(settings.DataDir)
	if err != nil {
		return name.fail(err.Error(), "give the data folder as an absolute path")
	}
	return judgeDisk(host.NewReader(existing(dir)).Read(ctx).Disk, mend)
}

func judgeDisk(disk *host.Disk, mend string) Check {
	const name = verdict("disk")
	if disk == nil {
		return name.warn("how much room there is cannot be read on this system", mend)
	}
	found := fmt.Sprintf("%.1f GB free, %.0f %% used; an hour of recording takes about 0.6 GB", disk.FreeGB, disk.UsedPct)
	switch {
	case disk.FreeGB < leastFreeGB:
		return name.fail(found, mend)
	case disk.FreeGB < wantFreeGB:
		return name.warn(found, mend)
	}
	return name.ok("%s", found)
}

// checkMemory looks how much memory bots have; in a container, its limit
// counts.
func checkMemory(ctx context.Context, settings Settings) Check {
	return judgeMemory(host.NewReader(existing(settings.DataDir)).Read(ctx).RAM)
}

func judgeMemory(memory *host.RAM) Check {
	const name = verdict("memory")
	const mend = "run fewer bots at a time, or give this machine or container more memory"
	if memory == nil {
		return name.warn("how much memory there is cannot be read on this system", mend)
	}
	free := memory.TotalMB - memory.Used
	found := fmt.Sprintf("%.0f MB can be used of %.0f MB", free, memory.TotalMB)
	switch {
	case free < leastMemoryMB:
		return name.fail(found, mend)
	case free < wantMemoryMB:
		return name.warn(found, mend)
	}
	return name.ok("%s", found)
}
