package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"standin/internal/base/retry"
	"standin/internal/operation/host"
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
	for {
		left, err := treeMembers(group, profileDir)
		if err != nil {
			return fmt.Errorf("list the browser's processes: %w", err)
		}
		if len(left) == 0 {
			return nil
		}
		var ids []int
		for _, process := range left {
			ids = append(ids, process.PID)
			_ = syscall.Kill(process.PID, syscall.SIGKILL)
		}
		if err := retry.Sleep(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("kill the browser's processes %v: %w", ids, err)
		}
	}
}

// treeMembers returns the running processes of the group and those with the
// profile directory in their command line.
func treeMembers(group int, profileDir string) ([]procfs.Proc, error) {
	all, err := host.Processes("/proc")
	return slices.DeleteFunc(all, func(process procfs.Proc) bool {
		stat, err := process.Stat()
		if err != nil || process.PID == os.Getpid() || stat.State == "Z" || stat.State == "X" {
			return true
		}
		arguments, _ := process.CmdLine() // none: the process has ended
		return (group == 0 || stat.PGRP != group) && !slices.ContainsFunc(arguments, func(argument string) bool {
			// An option may be the directory or a path in it, for example --user-data-dir or the crash handler's --database.
			option, value, _ := strings.Cut(argument, "=")
			return strings.HasPrefix(option, "--") && (value == profileDir || strings.HasPrefix(value, profileDir+"/"))
		})
	}), err
}

// treeMemory returns the memory of the processes of the group, of those that use the
// profile directory, and of this process, in bytes, without the programs themselves.
// Memory that several of them share counts for each.
func treeMemory(group int, profileDir string) (total int64) {
	members, err := treeMembers(group, profileDir)
	own, ownErr := procfs.Self()
	if err != nil || ownErr != nil {
		return 0
	}
	for _, process := range append(members, own) {
		status, _ := process.NewStatus() // none: the process has ended
		total += int64(status.RssAnon + status.RssShmem)
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
