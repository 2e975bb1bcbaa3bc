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

// tick is the unit of processor times in /proc (USER_HZ): 10 ms on every
// architecture that Go supports.
const tick = time.Second / 100

// maxFileBytes limits the size of a file that is read.
const maxFileBytes = 16 << 10

// process is the part of /proc/pid/stat that is needed.
type process struct {
	parent int
	used   time.Duration // processor time, including that of waited-for children
}

// processes returns all visible processes by ID; ok is false if there are none.
func processes(proc fs.FS) (all map[int]process, ok bool) {
	entries, err := fs.ReadDir(proc, ".")
	if err != nil {
		return nil, false
	}
	all = make(map[int]process)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // not a process
		}
		if p, ok := readProcess(proc, pid); ok {
			all[pid] = p
		}
	}
	return all, len(all) > 0
}

// readProcess reads /proc/pid/stat (proc(5)). It returns false if the process has
// ended.
func readProcess(proc fs.FS, pid int) (process, bool) {
	text := read(proc, pid, "stat")
	// The second field is the name in parentheses, which may contain spaces and
	// parentheses. The state follows it.
	nameEnd := bytes.LastIndexByte(text, ')')
	if nameEnd < 0 {
		return process{}, false
	}
	fields := bytes.Fields(text[nameEnd+1:])
	// When a parent waits for a child, the child's times are added to those of the
	// parent's children. So the sum over a tree counts each process exactly once.
	const parent, ownUser, endedSystem = 1, 11, 14
	if len(fields) <= endedSystem {
		return process{}, false
	}
	var p process
	var err error
	if p.parent, err = strconv.Atoi(string(fields[parent])); err != nil {
		return process{}, false
	}
	for _, field := range fields[ownUser : endedSystem+1] {
		ticks, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return process{}, false
		}
		p.used += time.Duration(ticks) * tick
	}
	return p, true
}

// treeOf returns the IDs of a process and its descendants.
func treeOf(root int, all map[int]process) []int {
	if _, ok := all[root]; !ok {
		return nil
	}
	children := make(map[int][]int)
	for pid, p := range all {
		if pid != root {
			children[p.parent] = append(children[p.parent], pid)
		}
	}
	tree := []int{root}
	for next := 0; next < len(tree); next++ {
		tree = append(tree, children[tree[next]]...)
	}
	return slices.Clip(tree)
}

// memoryOf returns the proportional set size of a process, or its unshared memory if
// the proportional set size cannot be read, for example of a non-dumpable process.
func memoryOf(proc fs.FS, pid int) int64 {
	for text := range strings.Lines(string(read(proc, pid, "smaps_rollup"))) {
		value, found := strings.CutPrefix(text, "Pss:")
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
		return 0 // the process has ended
	}
	resident, residentErr := strconv.ParseInt(fields[1], 10, 64)
	shared, sharedErr := strconv.ParseInt(fields[2], 10, 64)
	if residentErr != nil || sharedErr != nil {
		return 0
	}
	return max(0, resident-shared) * int64(os.Getpagesize())
}

// read returns the content of a file of a process, or nil if it cannot be read.
func read(proc fs.FS, pid int, name string) []byte {
	file, err := proc.Open(path.Join(strconv.Itoa(pid), name))
	if err != nil {
		return nil
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFileBytes))
	if err != nil {
		return nil
	}
	return content
}
