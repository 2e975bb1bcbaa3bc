package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"standin/bench/report"
	"standin/internal/operation/host"
)

// describe returns where and how the rows are measured.
func describe(ctx context.Context, args []string) report.Run {
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=10").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	resources := host.NewReader(".").Resources(ctx)
	return report.Run{
		Machine: fmt.Sprintf("%s, %d cores, %.0f GB of memory, Linux %s, %s", processor(), runtime.NumCPU(),
			float64(resources.MemoryTotal)/1e9, kernel(), runtime.Version()),
		Date: time.Now().UTC().Format(time.DateOnly), Commit: strings.TrimSpace(string(commit)),
		Command: "go run ./bench " + strings.Join(args, " "),
	}
}

// processor returns the model of the processor.
func processor() string {
	content, _ := os.ReadFile("/proc/cpuinfo")
	for text := range strings.Lines(string(content)) {
		if name, value, found := strings.Cut(text, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func kernel() string {
	content, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(content))
}
