package recording

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// limitProcess sets a process's resource limits.
func limitProcess(pid int, limits toolLimits) error {
	seconds := uint64(limits.Time / time.Second)
	for resource, limit := range map[int]unix.Rlimit{
		unix.RLIMIT_CPU:   {Cur: seconds, Max: seconds + 5}, // SIGXCPU, then SIGKILL
		unix.RLIMIT_AS:    {Cur: uint64(limits.Memory), Max: uint64(limits.Memory)},
		unix.RLIMIT_FSIZE: {Cur: uint64(limits.FileSize), Max: uint64(limits.FileSize)},
		unix.RLIMIT_CORE:  {},
	} {
		if err := unix.Prlimit(pid, resource, &limit, nil); err != nil && !errors.Is(err, unix.ESRCH) { // it may have ended
			return fmt.Errorf("limit its resources: %w", err)
		}
	}
	return nil
}
