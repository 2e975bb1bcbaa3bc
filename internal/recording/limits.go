package recording

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

// limitedCommand returns the command of a tool with resource limits. On Linux a
// shell sets the limits before it executes the tool, so the tool never runs without
// them. On other systems only the wall-clock time is limited.
func limitedCommand(ctx context.Context, limits toolLimits, program string, arguments ...string) (*exec.Cmd, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "linux" {
		return exec.CommandContext(ctx, path, arguments...), nil
	}
	const killDelay = 5 // seconds from SIGXCPU to SIGKILL
	seconds := int64(limits.Time / time.Second)
	script := fmt.Sprintf(`ulimit -c 0 && ulimit -f %d && ulimit -v %d && ulimit -St %d && ulimit -Ht %d && exec "$@"`,
		limits.FileSize/512, limits.Memory/1024, seconds, seconds+killDelay)
	return exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", script, "sh", path}, arguments...)...), nil
}
