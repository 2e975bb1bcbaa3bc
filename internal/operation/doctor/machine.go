package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"standin/internal/base/retry"
	"standin/internal/base/zoneinfo"
	"standin/internal/bot/notetaker"
	"standin/internal/operation/host"
)

const (
	// An hour of recording at the recorder's default bit rates is about 0.6 GB.
	minFreeGB         = 1.0
	recommendedFreeGB = 10.0

	// A bot in a small meeting of the replica fits into the minimum. Live pages use more.
	minMemoryMB         = 512.0
	recommendedMemoryMB = 1536.0
)

// checkDataDir checks that the data folder is writable, and not readable by
// others, because it holds keys.
func checkDataDir(settings Settings) Check {
	const name = checkName("data folder")
	dir, err := filepath.Abs(settings.DataDir)
	if err != nil {
		return name.fail("give the data folder as an absolute path", "%v", err)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := writable(existingParent(dir)); err != nil {
			return name.fail(createFolderFix(dir)+", or set STANDIN_DATA_DIR",
				"%s does not exist and cannot be created: %v", dir, err)
		}
		return name.ok("%s does not exist yet; standin serve creates it", dir)
	case err != nil:
		return name.fail("give this user access to the folder", "%v", err)
	case !info.IsDir():
		return name.fail("move the file away, or set STANDIN_DATA_DIR",
			"%s is not a folder", dir)
	}
	if err := writable(dir); err != nil {
		return name.fail(fmt.Sprintf("give it to this user: chown -R %d %s", os.Geteuid(), dir),
			"%s is not writable: %v", dir, err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return name.warn("chmod 700 "+dir,
			"%s is writable, but its mode is %#o: other users can read it", dir, mode)
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
	return evaluateDisk(host.NewReader(existingParent(settings.DataDir)).Read(ctx).Disk)
}

func evaluateDisk(disk *host.Disk) Check {
	const name = checkName("disk")
	const fix = "free some space, or move the data folder (STANDIN_DATA_DIR) to a larger disk"
	if disk == nil {
		return name.warn(fix, "the free space cannot be read on this system")
	}
	found := fmt.Sprintf("%.1f GB free, %.0f %% used; an hour of recording takes about 0.6 GB", disk.FreeGB, disk.UsedPct)
	return name.atLeast(minFreeGB, recommendedFreeGB, disk.FreeGB, fix, found)
}

// checkMemory checks the memory for bots. In a container, its limit counts.
func checkMemory(ctx context.Context, settings Settings) Check {
	return evaluateMemory(host.NewReader(existingParent(settings.DataDir)).Read(ctx).RAM)
}

func evaluateMemory(memory *host.RAM) Check {
	const name = checkName("memory")
	const fix = "run fewer bots at a time, or give this machine or container more memory"
	if memory == nil {
		return name.warn(fix, "the memory cannot be read on this system")
	}
	free := memory.TotalMB - memory.Used
	found := fmt.Sprintf("%.0f MB of %.0f MB available", free, memory.TotalMB)
	return name.atLeast(minMemoryMB, recommendedMemoryMB, free, fix, found)
}

const (
	// noticeableSkew is a difference of clocks that causes a warning.
	noticeableSkew = 2 * time.Second
	// harmfulSkew is a difference that delays jobs and approaches the tolerance of
	// five minutes of signed requests and webhooks.
	harmfulSkew = time.Minute
	// driftInterval is how long the wall clock is compared with the monotonic one.
	driftInterval = 100 * time.Millisecond
	// maxDrift is how much they may differ then. NTP slews a clock by far less.
	maxDrift = 20 * time.Millisecond
)

// clockReading is the difference between another clock and this machine's.
type clockReading struct {
	source    string
	ahead     time.Duration
	tolerance time.Duration
}

// newClockReading returns the reading of a server's time that was requested
// before and received after. step is the resolution of the server's time.
func newClockReading(source string, before, after, theirs time.Time, step time.Duration) clockReading {
	trip := after.Sub(before)
	return clockReading{
		source: source, ahead: theirs.Add(step / 2).Sub(before.Add(trip / 2)).Round(time.Millisecond), tolerance: (trip + step) / 2,
	}
}

// skew returns the smallest possible difference of the clocks.
func (r clockReading) skew() time.Duration { return max(r.ahead.Abs()-r.tolerance, 0) }

// String returns the difference for people.
func (r clockReading) String() string {
	direction := "ahead of"
	if r.ahead < 0 {
		direction = "behind"
	}
	return fmt.Sprintf("%s's is %v %s this one, ± %v", r.source, r.ahead.Abs(), direction, r.tolerance.Round(time.Millisecond))
}

// checkClock checks this machine's clock and time zones.
func checkClock(ctx context.Context, others []clockReading) Check {
	const name = checkName("clock")
	const fix = "keep the clock by NTP (timedatectl set-ntp true, or chrony)"
	now := time.Now().UTC()
	list, err := notetaker.Embedded()
	if err != nil {
		return name.fail("reinstall the program: it is damaged",
			"cannot read the age of this program: %v", err)
	}
	if built, err := time.Parse(time.DateOnly, list.Date); err != nil || now.Before(built) {
		return name.fail(fix,
			"it shows %s, which is before this program was built (%s)", now.Format(time.RFC3339), list.Date)
	}
	if drift := drift(ctx); drift > maxDrift {
		return name.warn(fix, "it was adjusted by %v within %v", drift, driftInterval)
	}
	zones, origin := zoneinfo.Current(), "the program's"
	if zones.System {
		origin = "the system's"
	}
	found := fmt.Sprintf("%s; time zones of %s (%s); ", now.Format(time.RFC3339), zones.Version, origin)
	if len(others) == 0 {
		return name.ok("%s", found+"no remote clock to compare with")
	}
	var texts []string
	var worst time.Duration
	for _, other := range others {
		texts = append(texts, other.String())
		worst = max(worst, other.skew())
	}
	found += strings.Join(texts, "; ")
	return name.atLeast(float64(-harmfulSkew), float64(-noticeableSkew), float64(-worst), fix+", on both machines", found)
}

// atLeast returns the check of a value that must be least, and should be recommended.
func (name checkName) atLeast(least, recommended, value float64, fix, found string) Check {
	switch {
	case value < least:
		return name.fail(fix, "%s", found)
	case value < recommended:
		return name.warn(fix, "%s", found)
	}
	return name.ok("%s", found)
}

// drift returns how much the wall clock and the monotonic clock differ over
// driftInterval.
func drift(ctx context.Context) time.Duration {
	start := time.Now()
	_ = retry.Sleep(ctx, driftInterval) // a shorter interval is no error
	end := time.Now()
	wall := end.Round(0).Sub(start.Round(0)) // without the monotonic reading
	return (wall - end.Sub(start)).Abs()
}
