package browser

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// isolateProcess makes a process the leader of a new process group, so that it does
// not receive signals to the bot's group, and makes the kernel send it a signal
// when the bot dies. The parent-death signal depends on the thread that started
// the process, which must be locked until the process exits.
func isolateProcess(command *exec.Cmd, deathSignal syscall.Signal) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = new(syscall.SysProcAttr)
	}
	command.SysProcAttr.Setpgid = true
	command.SysProcAttr.Pdeathsig = deathSignal
}

// killProcessTree kills the processes of the group and the processes that use the
// profile directory, until none is left or ctx ends. Group 0 means no group. Both
// criteria are needed: Chromium's crash handler leaves the group, and not all
// children of its zygote have the profile in their command line.
func killProcessTree(ctx context.Context, group int, profileDir string) error {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		left, err := treeMembers(group, profileDir)
		if err != nil {
			return fmt.Errorf("list the browser's processes: %w", err)
		}
		if len(left) == 0 {
			return nil
		}
		for _, process := range left {
			_ = syscall.Kill(process, syscall.SIGKILL)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kill the browser's processes %v: %w", left, ctx.Err())
		case <-ticker.C:
		}
	}
}

// treeMembers returns the running processes of the group and those with the
// profile directory in their command line.
func treeMembers(group int, profileDir string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	self := os.Getpid()
	var members []int
	for _, entry := range entries {
		process, err := strconv.Atoi(entry.Name())
		if err != nil || process == self {
			continue
		}
		state, processGroup, ok := processState(process)
		if !ok || state == 'Z' || state == 'X' {
			continue
		}
		if (group != 0 && processGroup == group) || usesDirectory(process, profileDir) {
			members = append(members, process)
		}
	}
	return members, nil
}

// treeMemory returns the memory of the processes of the group, of those that use the
// profile directory, and of this process, in bytes, without the programs themselves.
// Memory that several of them share counts for each.
func treeMemory(group int, profileDir string) (total int64) {
	members, err := treeMembers(group, profileDir)
	if err != nil {
		return 0
	}
	for _, process := range append(members, os.Getpid()) {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(process), "status"))
		if err != nil {
			continue // it has ended
		}
		for _, field := range []string{"\nRssAnon:", "\nRssShmem:"} {
			_, rest, _ := bytes.Cut(text, []byte(field))
			value, _, _ := bytes.Cut(rest, []byte(" kB"))
			if kilobytes, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err == nil {
				total += kilobytes << 10
			}
		}
	}
	return total
}

// diskUsage returns the space that a file occupies, in bytes.
func diskUsage(info os.FileInfo) int64 {
	if status, ok := info.Sys().(*syscall.Stat_t); ok {
		return status.Blocks * 512
	}
	return info.Size()
}

// processState returns the state letter and the group of a process; ok is false if
// the process has ended.
func processState(process int) (state byte, group int, ok bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(process), "stat"))
	if err != nil {
		return 0, 0, false
	}
	// The second field is the name in parentheses, which may contain spaces and
	// parentheses (proc(5)). State, parent and group follow it.
	nameEnd := bytes.LastIndexByte(text, ')')
	if nameEnd < 0 {
		return 0, 0, false
	}
	fields := bytes.Fields(text[nameEnd+1:])
	if len(fields) < 3 || len(fields[0]) != 1 {
		return 0, 0, false
	}
	group, err = strconv.Atoi(string(fields[2]))
	if err != nil {
		return 0, 0, false
	}
	return fields[0][0], group, true
}

// usesDirectory reports whether an option of the process is the directory or a
// path in it, for example --user-data-dir or the crash handler's --database.
func usesDirectory(process int, directory string) bool {
	commandLine, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(process), "cmdline"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(bytes.Split(commandLine, []byte{0}), func(argument []byte) bool {
		option, value, found := bytes.Cut(argument, []byte("="))
		if !found || !bytes.HasPrefix(option, []byte("--")) {
			return false
		}
		return string(value) == directory || bytes.HasPrefix(value, []byte(directory+"/"))
	})
}
