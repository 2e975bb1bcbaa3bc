package host

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// Paths below the root.
const (
	mountPoint = "sys/fs/cgroup"
	membership = "proc/self/cgroup"
)

// memoryOf returns the memory of the control group with the lowest limit below the
// machine's total; ok is false if there is none.
func memoryOf(root fs.FS, machineTotal uint64) (memory, bool) {
	var tightest memory
	for _, g := range groupsOf(root, "memory") {
		if m, ok := g.memory(); ok && m.total < machineTotal && (tightest.total == 0 || m.total < tightest.total) {
			tightest = m
		}
	}
	return tightest, tightest.total != 0
}

// processorsOf returns the processor times of the control group with the lowest limit
// below the number of processors; ok is false if there is none. source is the path
// of the group.
func processorsOf(root fs.FS, machineProcessors int) (t times, source string, ok bool) {
	limit := float64(machineProcessors)
	if limit == 0 {
		limit = math.Inf(1)
	}
	for _, g := range groupsOf(root, "cpu") {
		quota, limited := g.processorLimit()
		if !limited || quota >= limit {
			continue
		}
		user, system, counted := g.processorTimes()
		if !counted {
			continue
		}
		limit, ok = quota, true
		t, source = times{user: user, system: system, processors: quota}, g.dir
	}
	return t, source, ok
}

// Waiting returns the share of the last minute in which a task of this machine, or of a control
// group of this process, waited for a processor.
func Waiting() float64 { return waitingIn(os.DirFS("/")) }

// waitingIn returns in which share of the last minute a task of the machine, or of a control group of
// this process, waited for a processor (Pressure Stall Information); 0 if the kernel does not tell.
func waitingIn(root fs.FS) (share float64) {
	sources := []string{"proc/pressure/cpu"}
	for _, g := range groupsOf(root, "cpu") {
		sources = append(sources, path.Join(g.dir, "cpu.pressure"))
	}
	for _, source := range sources {
		data, _ := fs.ReadFile(root, source)
		for text := range strings.Lines(string(data)) { // some avg10=1.25 avg60=0.50 avg300=0.10 total=12345
			_, text, _ = strings.Cut(text, "some ")
			_, text, _ = strings.Cut(text, "avg60=")
			text, _, _ = strings.Cut(text, " ")
			if percent, err := strconv.ParseFloat(text, 64); err == nil {
				share = max(share, percent/100)
			}
		}
	}
	return share
}

// group is the directory of a control group.
type group struct {
	root    fs.FS
	dir     string
	version int // 1 or 2
}

// groupsOf returns the process's group of a controller and its ancestors, whose
// limits apply too. Ancestors that are not visible in a container have no files.
func groupsOf(root fs.FS, controller string) []group {
	version, own, ok := findGroup(root, controller)
	if !ok {
		return nil
	}
	mounts := []string{path.Join(mountPoint, controller), path.Join(mountPoint, "cpu,cpuacct")}
	if controller != "cpu" {
		mounts = mounts[:1]
	}
	if version == 2 {
		mounts = []string{mountPoint, path.Join(mountPoint, "unified")} // the second on hybrid systems
	}
	for _, mount := range mounts {
		if _, err := fs.Stat(root, path.Join(mount, "cgroup.procs")); err != nil {
			continue
		}
		var groups []group
		for dir := own; ; dir = path.Dir(dir) {
			groups = append(groups, group{root: root, dir: path.Join(mount, dir), version: version})
			if dir == "/" {
				return groups
			}
		}
	}
	return nil
}

// findGroup returns the path of the process's group. The membership file has one
// line per hierarchy: 4:memory:/path in version 1 and 0::/path in version 2
// (cgroups(7)). A controller belongs to one hierarchy only.
func findGroup(root fs.FS, controller string) (version int, own string, ok bool) {
	data, _ := fs.ReadFile(root, membership)
	for text := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimRight(text, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for name := range strings.SplitSeq(parts[1], ",") {
			if name == controller {
				return 1, path.Clean("/" + parts[2]), true
			}
		}
		if parts[0] == "0" && parts[1] == "" {
			version, own = 2, path.Clean("/"+parts[2])
		}
	}
	return version, own, version != 0
}

// memory returns the breakdown of the group's memory, or false if it has no limit. In version 1 no
// limit is a number larger than any memory.
func (g group) memory() (memory, bool) {
	most, usage, files, shared, structures := "memory.max", "memory.current", "file", "shmem", "slab_reclaimable"
	if g.version == 1 {
		most, usage, files, shared, structures = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache", "total_shmem", ""
	}
	limit, limited := g.number(most) // "max" means no limit
	current, ok := g.number(usage)
	if !limited || !ok {
		return memory{}, false
	}
	current = min(current, limit)
	stat := g.table("memory.stat")
	cached := min(stat[files]-min(stat[shared], stat[files]), current)
	cached += min(stat[structures], current-cached)
	return memory{total: limit, free: limit - current, cached: cached}, true
}

// processorLimit returns the limit in processors, or false if there is none.
func (g group) processorLimit() (float64, bool) {
	var quota, period string
	if g.version == 1 {
		quota, period = g.text("cpu.cfs_quota_us"), g.text("cpu.cfs_period_us") // -1 means no quota
	} else {
		quota, period, _ = strings.Cut(g.text("cpu.max"), " ") // "max" means no quota
	}
	q, quotaErr := strconv.ParseUint(quota, 10, 63)
	p, periodErr := strconv.ParseUint(period, 10, 63)
	if quotaErr != nil || periodErr != nil || q == 0 || p == 0 {
		return 0, false
	}
	return float64(q) / float64(p), true
}

// processorTimes returns the processor times of the group in seconds.
func (g group) processorTimes() (user, system float64, ok bool) {
	if g.version == 2 {
		stat := g.table("cpu.stat")
		_, ok = stat["user_usec"]
		return float64(stat["user_usec"]) / 1e6, float64(stat["system_usec"]) / 1e6, ok
	}
	// cpuacct is a separate controller, usually in the same directory.
	accounting := g
	accounting.dir = strings.Replace(g.dir, mountPoint+"/cpu/", mountPoint+"/cpuacct/", 1)
	if g.dir == path.Join(mountPoint, "cpu") {
		accounting.dir = path.Join(mountPoint, "cpuacct")
	}
	for _, at := range []group{g, accounting} {
		stat := at.table("cpuacct.stat")
		if _, ok := stat["user"]; ok {
			return float64(stat["user"]) / ticksPerSecond, float64(stat["system"]) / ticksPerSecond, true
		}
	}
	return 0, 0, false
}

// ticksPerSecond is the unit of processor times (USER_HZ) on every architecture that
// Go supports.
const ticksPerSecond = 100

// number returns the number in a file.
func (g group) number(name string) (uint64, bool) {
	n, err := strconv.ParseUint(g.text(name), 10, 64)
	return n, err == nil
}

// text returns the trimmed content of a file, or "".
func (g group) text(name string) string {
	data, _ := fs.ReadFile(g.root, path.Join(g.dir, name))
	return string(bytes.TrimSpace(data))
}

// table returns the lines of a file that consist of a name and a number.
func (g group) table(name string) map[string]uint64 {
	numbers := map[string]uint64{}
	data, _ := fs.ReadFile(g.root, path.Join(g.dir, name))
	for text := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(text), " ")
		if n, err := strconv.ParseUint(value, 10, 64); err == nil {
			numbers[key] = n
		}
	}
	return numbers
}
