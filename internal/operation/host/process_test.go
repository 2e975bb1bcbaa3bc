package host

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// role makes the test binary run as a process of the tests.
const role = "HOST_TEST_ROLE"

// allocated is the memory of a busy process.
const allocated = 64 << 20

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "parent":
		child := command("busy")
		child.Stdin = os.Stdin
		if err := child.Run(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case "busy":
		runBusy()
	}
	os.Exit(m.Run())
}

// command returns a command that runs the test binary in a role.
func command(name string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), role+"="+name, "GOMAXPROCS=2")
	return c
}

// runBusy uses a processor and memory until its input ends.
func runBusy() {
	memory := make([]byte, allocated)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for i := 0; ; i = (i + os.Getpagesize()) % allocated {
		memory[i]++
	}
}

// startBusy starts a process with a busy child. end ends both and returns the processor
// time that the kernel reports.
func startBusy(t *testing.T) (pid int, end func() time.Duration) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	parent := command("parent")
	input, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() time.Duration {
		if !ended {
			ended = true
			input.Close()
			if err := parent.Wait(); err != nil {
				t.Errorf("wait: %v", err)
			}
		}
		return parent.ProcessState.UserTime() + parent.ProcessState.SystemTime()
	}
	t.Cleanup(func() { end() })
	return parent.Process.Pid, end
}

// TestMeter checks that the usage of a grandchild is counted once.
func TestMeter(t *testing.T) {
	t.Parallel()
	pid, end := startBusy(t)
	meter := NewProcessMeter(pid)
	if _, ok := meter.Read(); ok {
		t.Fatal("the first Read returned a usage")
	}
	const enough = 300 * time.Millisecond
	first := meter.used
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for usage := (ProcessUsage{}); meter.used-first < enough || usage.Memory < allocated; {
		var ok bool
		before, since := meter.used, meter.at
		if usage, ok = meter.Read(); !ok {
			t.Fatal("Read returned false")
		}
		used := usage.Cores * meter.at.Sub(since).Seconds()
		if exact := (meter.used - before).Seconds(); used < exact-0.01 || used > exact+0.01 {
			t.Fatalf("%.3f cores are %.3f s of processor time, want %.3f s", usage.Cores, used, exact)
		}
		if all := (meter.used - first).Seconds(); usage.CoreSeconds < all-0.01 || usage.CoreSeconds > all+0.01 || usage.GiBSeconds <= 0 {
			t.Fatalf("in all, %.3f s of processor time, want %.3f s; %f GiB seconds", usage.CoreSeconds, all, usage.GiBSeconds)
		}
		if usage.Memory > 4*allocated {
			t.Fatalf("memory = %d bytes", usage.Memory)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("after a minute: processor time %s, memory %d bytes", meter.used-first, usage.Memory)
		}
	}
	measured := meter.used
	if all := end(); measured > all+10*time.Second/ticksPerSecond || measured < enough {
		t.Errorf("measured %s of %s", measured, all)
	}
	if usage, ok := meter.Read(); ok {
		t.Errorf("usage of ended processes: %+v", usage)
	}
}

// Watch reports the usage of each window until its context ends.
func TestWatch(t *testing.T) {
	t.Parallel()
	pid, _ := startBusy(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	reports := make(chan ProcessUsage)
	done := make(chan struct{})
	go func() {
		defer close(done)
		NewProcessMeter(pid).Watch(ctx, 50*time.Millisecond, func(usage ProcessUsage) {
			select {
			case reports <- usage:
			case <-ctx.Done():
			}
		})
	}()
	for usage := (ProcessUsage{}); usage.Cores == 0 || usage.Memory < allocated; {
		select {
		case usage = <-reports:
		case <-ctx.Done():
			t.Fatalf("last report: %+v", usage)
		}
	}
	cancel()
	<-done
}

// Read counts a process tree in files as Linux writes them.
func TestReadProcFiles(t *testing.T) {
	t.Parallel()
	const rollup = "5581-7ffd ---p 00000000 00:00 0    [rollup]\nRss:    4096 kB\nPss:    1024 kB\nPss_Anon:   512 kB\n"
	proc := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(proc, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	const rest = " 20 0 8 0 1 2 3 4 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
	for name, text := range map[string]string{
		"10/stat":         "10 (standin) S 1 10 10 0 -1 4194304 1 2 3 4 100 50 20 10" + rest,
		"10/smaps_rollup": rollup,
		"11/stat":         "11 (a) name (b) 9) R 10 11 10 0 -1 4194304 1 2 3 4 300 0 0 0" + rest,
		"11/statm":        "5000 300 100 1 0 900 0", // smaps_rollup cannot be read
		"12/stat":         "12 (renderer) S 11 11 10 0 -1 4194304 1 2 3 4 0 20 0 0" + rest,
		"12/smaps_rollup": rollup,
		"13/stat":         "13 (stranger) S 1 13 13 0 -1 4194304 1 2 3 4 9000 0 0 0" + rest,
		"14/stat":         "14 (broken) S",
		"uptime":          "1 2\n",
	} {
		write(name, text)
	}
	meter := &ProcessMeter{folder: proc, root: 10}
	meter.Read()
	if want := 5 * time.Second; meter.used != want {
		t.Errorf("used %s, want %s", meter.used, want)
	}
	write("12/stat", "12 (renderer) Z 11 11 10 0 -1 4194304 1 2 3 4 0 220 0 0"+rest)
	usage, ok := meter.Read()
	if want := int64(2<<20 + 200*os.Getpagesize()); !ok || usage.Memory != want || meter.used != 7*time.Second || usage.Cores <= 0 {
		t.Errorf("usage %+v, used %s; want %d bytes", usage, meter.used, want)
	}
	// One is killed, so its child has another parent.
	write("12/stat", "12 (renderer) S 1 11 10 0 -1 4194304 1 2 3 4 0 220 0 0"+rest)
	if err := os.RemoveAll(filepath.Join(proc, "11")); err != nil {
		t.Fatal(err)
	}
	if usage, ok := meter.Read(); !ok || usage.Cores != 0 || usage.Memory != 1<<20 {
		t.Errorf("after a process was killed: %+v, %v", usage, ok)
	}
	if err := os.RemoveAll(filepath.Join(proc, "10")); err != nil {
		t.Fatal(err)
	}
	if usage, ok := meter.Read(); ok {
		t.Errorf("usage of a missing process: %+v", usage)
	}
	if usage, ok := (&ProcessMeter{folder: t.TempDir(), root: 1}).Read(); ok {
		t.Errorf("without /proc: %+v", usage)
	}
}
