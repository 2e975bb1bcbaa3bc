package host

import (
	"bytes"
	"io"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// maxFile bounds what is read of a control group's file.
const maxFile = 64 << 10

// Where control groups are mounted, beneath the root.
const (
	mountPoint = "sys/fs/cgroup"
	membership = "proc/self/cgroup"
)

// memoryOf returns the memory of the process's control group; false when no
// limit below the machine's total binds it.
func memoryOf(root fs.FS, machineTotal uint64) (memory, bool) {
	var tightest memory
	for _, g := range groupsOf(root, "memory") {
		limit, ok := g.memoryLimit()
		if !ok || limit == 0 || limit >= machineTotal || tightest.total != 0 && limit >= tightest.total {
			continue
		}
		if m, ok := g.memory(limit); ok {
			tightest = m
		}
	}
	return tightest, tightest.total != 0
}

// processorsOf returns what the process's control group has done, and its
// share of the processors; false when no limit below all of them binds it.
// source names the group.
func processorsOf(root fs.FS, machineProcessors int) (t times, source string, ok bool) {
	share := float64(machineProcessors)
	if share == 0 {
		share = math.Inf(1)
	}
	for _, g := range groupsOf(root, "cpu") {
		limit, limited := g.processorLimit()
		if !limited || limit >= share {
			continue
		}
		user, system, counted := g.processorTimes()
		if !counted {
			continue
		}
		share, ok = limit, true
		t, source = times{user: user, system: system, processors: limit}, g.dir
	}
	return t, source, ok
}

// group is a control group's folder.
type group struct {
	root    fs.FS
	dir     string
	version int // 1 or 2
}

// groupsOf returns the process's group of a controller and all groups that it
// is in, whose limits bind it too. What is not there in a container, which is
// shown only its own group, is passed over by whoever reads.
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
		mounts = []string{mountPoint, path.Join(mountPoint, "unified")} // the second where version 1 has the first
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

// findGroup reads which group the process is in: a line for each hierarchy,
// as 4:memory:/path in version 1 and 0::/path in version 2 (cgroups(7)). A
// controller is in one hierarchy only.
func findGroup(root fs.FS, controller string) (version int, own string, ok bool) {
	data, ok := readFile(root, membership)
	if !ok {
		return 0, "", false
	}
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
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

// memoryLimit returns the limit in bytes; false when there is none. Version 1
// writes a number beyond all memory for none.
func (g group) memoryLimit() (uint64, bool) {
	if g.version == 1 {
		return g.number("memory.limit_in_bytes")
	}
	return g.number("memory.max") // the word max is no number
}

// memory returns how the group's memory is shared out under the limit.
func (g group) memory(limit uint64) (memory, bool) {
	usage, files, shared, structures := "memory.current", "file", "shmem", "slab_reclaimable"
	if g.version == 1 {
		usage, files, shared, structures = "memory.usage_in_bytes", "total_cache", "total_shmem", ""
	}
	current, ok := g.number(usage)
	if !ok {
		return memory{}, false
	}
	current = min(current, limit)
	stat := g.table("memory.stat")
	cached := min(stat[files]-min(stat[shared], stat[files]), current)
	cached += min(stat[structures], current-cached)
	return memory{total: limit, free: limit - current, cached: cached}, true
}

// processorLimit returns how many processors' time the group may use; false
// when there is no limit.
func (g group) processorLimit() (float64, bool) {
	var quota, period string
	if g.version == 1 {
		quota, period = g.text("cpu.cfs_quota_us"), g.text("cpu.cfs_period_us") // a quota of -1 is none
	} else {
		quota, period, _ = strings.Cut(g.text("cpu.max"), " ") // a quota of max is none
	}
	q, err := strconv.ParseUint(quota, 10, 63)
	if err != nil || q == 0 {
		return 0, false
	}
	p, err := strconv.ParseUint(period, 10, 63)
	if err != nil || p == 0 {
		return 0, false
	}
	return float64(q) / float64(p), true
}

// processorTimes returns what the group's processes have used, in seconds.
func (g group) processorTimes() (user, system float64, ok bool) {
	if g.version == 2 {
		stat := g.table("cpu.stat")
		_, ok = stat["user_usec"]
		return float64(stat["user_usec"]) / 1e6, float64(stat["system_usec"]) / 1e6, ok
	}
	// The accounting is a controller of its own, mostly in the same folder.
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

// ticksPerSecond is the unit in which Linux shows processor times to programs,
// USER_HZ: 100 on every architecture that Go supports.
const ticksPerSecond = 100

// number reads a file that holds one number.
func (g group) number(name string) (uint64, bool) {
	n, err := strconv.ParseUint(g.text(name), 10, 64)
	return n, err == nil
}

// text reads a file of one line; "" when it cannot be read.
func (g group) text(name string) string {
	data, _ := readFile(g.root, path.Join(g.dir, name))
	return string(bytes.TrimSpace(data))
}

// table reads a file of lines with a name and a number each; other lines are
// passed over.
func (g group) table(name string) map[string]uint64 {
	numbers := map[string]uint64{}
	data, _ := readFile(g.root, path.Join(g.dir, name))
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseUint(value, 10, 64); err == nil {
			numbers[key] = n
		}
	}
	return numbers
}

// readFile reads a small file.
func readFile(root fs.FS, name string) ([]byte, bool) {
	file, err := root.Open(name)
	if err != nil {
		return nil, false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile))
	return data, err == nil
}
