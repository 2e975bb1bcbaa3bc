package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/shirou/gopsutil/v4/process"

	"standin/internal/bot/browser"
)

// crash kills the renderer process of a page. It finds the process by its processor
// time: the page is busy for a second. browserPID is the browser's main process.
func crash(ctx context.Context, browserPID int, page *browser.Page) error {
	before, err := rendererTimes(ctx, browserPID)
	if err != nil {
		return err
	}
	const busy = `(() => { for (const until = performance.now() + 1000; performance.now() < until;); })()`
	if err := page.EvalInPage(ctx, busy, nil); err != nil {
		return fmt.Errorf("keep the page busy: %w", err)
	}
	after, err := rendererTimes(ctx, browserPID)
	if err != nil {
		return err
	}
	busiest, most := int32(0), 0.0
	for pid, seconds := range after {
		if used := seconds - before[pid]; used > most {
			busiest, most = pid, used
		}
	}
	if busiest == 0 {
		return errors.New("find the page's renderer process: none was busy")
	}
	return syscall.Kill(int(busiest), syscall.SIGKILL)
}

// rendererTimes returns the processor time of the browser's renderer processes in
// seconds.
func rendererTimes(ctx context.Context, browserPID int) (map[int32]float64, error) {
	all, err := process.ProcessesWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	times := make(map[int32]float64)
	for _, p := range all {
		group, err := syscall.Getpgid(int(p.Pid))
		if err != nil || group != browserPID {
			continue
		}
		commandLine, err := p.CmdlineWithContext(ctx)
		if err != nil || !strings.Contains(commandLine, "--type=renderer") {
			continue
		}
		if used, err := p.TimesWithContext(ctx); err == nil {
			times[p.Pid] = used.User + used.System
		}
	}
	return times, nil
}
