package host

import (
	"bytes"
	"cmp"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// Proc is a /proc file system (proc(5)). Its methods return nothing of a process that has
// ended.
type Proc struct{ files fs.FS }

// NewProc returns the Proc of a folder: os.DirFS("/proc"), except in tests.
func NewProc(files fs.FS) Proc { return Proc{files} }

// Processes returns the IDs of all visible processes.
func (p Proc) Processes() ([]int, error) {
	entries, err := fs.ReadDir(p.files, ".")
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, entry := range entries {
		if id, err := strconv.Atoi(entry.Name()); err == nil { // otherwise not a process
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// ProcessStat is a part of /proc/pid/stat.
type ProcessStat struct {
	State         byte // such as Z for one that its parent has not waited for
	Parent, Group int
	Used          time.Duration // processor time, including that of waited-for children
}

// Stat returns the state of a process.
func (p Proc) Stat(process int) (stat ProcessStat, ok bool) {
	text := p.read(process, "stat")
	// The second field is the name in parentheses, which may contain spaces and
	// parentheses. The state follows it.
	nameEnd := bytes.LastIndexByte(text, ')')
	if nameEnd < 0 {
		return ProcessStat{}, false
	}
	fields := strings.Fields(string(text[nameEnd+1:]))
	// When a parent waits for a child, the child's times are added to those of the
	// parent's children. So the sum over a tree counts each process exactly once.
	const parent, group, ownUser, endedSystem = 1, 2, 11, 14
	if len(fields) <= endedSystem {
		return ProcessStat{}, false
	}
	stat.State = fields[0][0]
	var errs [3]error
	stat.Parent, errs[0] = strconv.Atoi(fields[parent])
	stat.Group, errs[1] = strconv.Atoi(fields[group])
	for _, field := range fields[ownUser : endedSystem+1] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		errs[2] = cmp.Or(errs[2], err)
		stat.Used += time.Duration(ticks) * time.Second / ticksPerSecond
	}
	return stat, cmp.Or(errs[:]...) == nil
}

// CommandLine returns the arguments of a process, or nil. One that set its title has a
// single argument.
func (p Proc) CommandLine(process int) []string {
	text := string(p.read(process, "cmdline"))
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimRight(text, "\x00"), "\x00")
}

// Status returns the fields of /proc/pid/status.
func (p Proc) Status(process int) map[string]string {
	fields := make(map[string]string)
	for row := range strings.Lines(string(p.read(process, "status"))) {
		key, value, _ := strings.Cut(row, ":")
		fields[key] = strings.TrimSpace(value)
	}
	return fields
}

// read returns the content of a file of a process, or nil.
func (p Proc) read(process int, name string) []byte {
	content, _ := fs.ReadFile(p.files, path.Join(strconv.Itoa(process), name))
	return content
}

// kilobytes returns a size such as "12 kB" in bytes.
func kilobytes(text string) (bytes int64, ok bool) {
	number, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
	return number << 10, err == nil
}

// UnsharedMemory returns the memory of a process that is of no file, in bytes. What it
// shares with others counts for each.
func (p Proc) UnsharedMemory(process int) (total int64) {
	status := p.Status(process)
	for _, field := range []string{"RssAnon", "RssShmem"} {
		size, _ := kilobytes(status[field])
		total += size
	}
	return total
}
