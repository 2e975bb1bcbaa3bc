package procusage

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tick is the unit in which Linux shows processor times to programs, USER_HZ:
// a hundredth of a second on every architecture that Go supports.
const tick = time.Second / 100

// maxFile bounds what is read of a file about a process.
const maxFile = 16 << 10

// process is what is known of one.
type process struct {
	parent int
	used   time.Duration // its processor time, and that of its children that ended
}

// processes reads all processes that can be seen; false when none can.
func processes(proc fs.FS) (all map[int]process, ok bool) {
	entries, err := fs.ReadDir(proc, ".")
	if err != nil {
		return nil, false
	}
	all = make(map[int]process)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // a file about the machine
		}
		if one, ok := readProcess(proc, pid); ok {
			all[pid] = one
		}
	}
	return all, len(all) > 0
}

// readProcess reads a process's line (proc(5), /proc/pid/stat); false for one
// that has ended.
func readProcess(proc fs.FS, pid int) (process, bool) {
	line := read(proc, pid, "stat")
	// The second field, the name in parentheses, may itself hold spaces and
	// parentheses. The state follows the last one.
	nameEnd := bytes.LastIndexByte(line, ')')
	if nameEnd < 0 {
		return process{}, false
	}
	fields := bytes.Fields(line[nameEnd+1:])
	// A child's times become the parent's when that has waited for it: with
	// them the sum over a family never counts a process twice, nor forgets one.
	const parent, ownUser, endedSystem = 1, 11, 14
	if len(fields) <= endedSystem {
		return process{}, false
	}
	var one process
	var err error
	if one.parent, err = strconv.Atoi(string(fields[parent])); err != nil {
		return process{}, false
	}
	for _, field := range fields[ownUser : endedSystem+1] {
		ticks, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return process{}, false
		}
		one.used += time.Duration(ticks) * tick
	}
	return one, true
}

// familyOf returns a process and all its descendants, as far as they are among
// all.
func familyOf(root int, all map[int]process) []int {
	if _, there := all[root]; !there {
		return nil
	}
	children := make(map[int][]int)
	for pid, one := range all {
		if pid != root {
			children[one.parent] = append(children[one.parent], pid)
		}
	}
	family := []int{root}
	for next := 0; next < len(family); next++ {
		family = append(family, children[family[next]]...)
	}
	return slices.Clip(family)
}

// memoryOf returns what a process takes of the memory: its proportional set
// size. Where the kernel does not show that, as of a process that keeps others
// of the same user out, what it has for itself alone.
func memoryOf(proc fs.FS, pid int) int64 {
	for line := range strings.Lines(string(read(proc, pid, "smaps_rollup"))) {
		value, found := strings.CutPrefix(line, "Pss:")
		if !found {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err == nil {
			return kilobytes << 10
		}
	}
	fields := strings.Fields(string(read(proc, pid, "statm"))) // in pages: size, resident, shared, …
	if len(fields) < 3 {
		return 0 // it has ended
	}
	resident, residentErr := strconv.ParseInt(fields[1], 10, 64)
	shared, sharedErr := strconv.ParseInt(fields[2], 10, 64)
	if residentErr != nil || sharedErr != nil {
		return 0
	}
	return max(0, resident-shared) * int64(os.Getpagesize())
}

// read reads a file about a process; nothing when that has ended, or may not
// be read.
func read(proc fs.FS, pid int, name string) []byte {
	file, err := proc.Open(path.Join(strconv.Itoa(pid), name))
	if err != nil {
		return nil
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return nil
	}
	return content
}
