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

// ownProcessTree makes the browser the leader of a new process group, so that
// signals to the bot's group do not reach it, and asks the kernel to kill it
// when the bot dies. chromedp starts and waits for it on one locked thread,
// which is what the parent-death signal is bound to.
func ownProcessTree(command *exec.Cmd) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = new(syscall.SysProcAttr)
	}
	command.SysProcAttr.Setpgid = true
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// endProcessTree kills every process of the group and every process that works
// in the profile directory, until none is left or ctx ends. Group 0 stands for
// no group. Both marks are needed: Chromium's crash handler leaves the group,
// and its zygote's children do not all name the profile.
func endProcessTree(ctx context.Context, group int, profileDir string) error {
	const pause = 10 * time.Millisecond
	again := time.NewTicker(pause)
	defer again.Stop()
	for {
		left, err := treeMembers(group, profileDir)
		if err != nil {
			return fmt.Errorf("listing the browser's processes: %w", err)
		}
		if len(left) == 0 {
			return nil
		}
		for _, process := range left {
			// A process that ended by itself in the meantime is what is wanted.
			_ = syscall.Kill(process, syscall.SIGKILL)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ending the browser's processes %v: %w", left, ctx.Err())
		case <-again.C:
		}
	}
}

// treeMembers returns the living processes of the group, and those whose
// command line names the profile directory.
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
		state, itsGroup, ok := processState(process)
		if !ok || state == 'Z' || state == 'X' {
			continue
		}
		if (group != 0 && itsGroup == group) || namesDirectory(process, profileDir) {
			members = append(members, process)
		}
	}
	return members, nil
}

// processState returns the state letter and the process group of a process. It
// is false for a process that has ended.
func processState(process int) (state byte, group int, ok bool) {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(process), "stat"))
	if err != nil {
		return 0, 0, false
	}
	// The second field, the name in parentheses, may itself hold spaces and
	// parentheses: proc(5). State, parent and group follow the last one.
	nameEnd := bytes.LastIndexByte(line, ')')
	if nameEnd < 0 {
		return 0, 0, false
	}
	fields := bytes.Fields(line[nameEnd+1:])
	if len(fields) < 3 || len(fields[0]) != 1 {
		return 0, 0, false
	}
	group, err = strconv.Atoi(string(fields[2]))
	if err != nil {
		return 0, 0, false
	}
	return fields[0][0], group, true
}

// namesDirectory reports whether an option of the process names the profile
// directory or a place in it, as --user-data-dir and the crash handler's
// --database do.
func namesDirectory(process int, directory string) bool {
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
