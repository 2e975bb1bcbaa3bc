package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of the CPU times in /proc.
const clockTick = 10 * time.Millisecond

// PSS returns the proportional set size of a process in bytes: its memory, with
// shared pages divided among the processes that share them.
func PSS(pid int) (int64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	for text := range strings.Lines(string(content)) {
		if rest, found := strings.CutPrefix(text, "Pss:"); found {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no Pss in smaps_rollup", pid)
}

// CPUTime returns the CPU time that processes and their children have used so
// far.
func CPUTime(pids ...int) (total time.Duration) {
	wanted := make(map[string]bool, len(pids))
	for _, pid := range pids {
		wanted[strconv.Itoa(pid)] = true
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		end := strings.LastIndexByte(string(content), ')') // of the program's name
		fields := strings.Fields(string(content[end+1:]))  // from field 3, the state, on
		if pid, parent := filepath.Base(filepath.Dir(path)), fields[1]; !wanted[pid] && !wanted[parent] {
			continue
		}
		for _, ticks := range fields[11:15] { // utime, stime, and those of ended children
			n, _ := strconv.ParseInt(ticks, 10, 64)
			total += time.Duration(n) * clockTick
		}
	}
	return total
}
