package procusage

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"testing/fstest"
	"time"
)

// role has this program play a process of the tests' instead of running them.
const role = "FOOTPRINT_ROLE"

// held is how much memory a busy process holds.
const held = 64 << 20

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
		beBusy()
	}
	os.Exit(m.Run())
}

// command is this program in a role.
func command(as string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), role+"="+as, "GOMAXPROCS=2")
	return c
}

// beBusy uses a processor and holds memory until its input ends.
func beBusy() {
	memory := make([]byte, held)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for i := 0; ; i = (i + 1) % held {
		memory[i]++
	}
}

// start starts a process whose child is busy; end ends both and returns what
// the kernel says that they used.
func start(t *testing.T) (pid int, end func() time.Duration) {
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
				t.Errorf("the processes: %v", err)
			}
		}
		return parent.ProcessState.UserTime() + parent.ProcessState.SystemTime()
	}
	t.Cleanup(func() { end() })
	return parent.Process.Pid, end
}

// TestMeter: what a child's child uses is counted, once, with what it holds.
func TestMeter(t *testing.T) {
	t.Parallel()
	pid, end := start(t)
	meter := NewMeter(pid)
	if _, ok := meter.Read(); ok {
		t.Fatal("there is a figure before there is a window")
	}
	first := meter.used
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for taken := (Usage{}); meter.used-first < time.Second || taken.Memory < held; {
		var ok bool
		before, since := meter.used, meter.at
		if taken, ok = meter.Read(); !ok {
			t.Fatal("the processes cannot be seen")
		}
		used := taken.Cores * meter.at.Sub(since).Seconds()
		if exact := (meter.used - before).Seconds(); used < exact-0.01 || used > exact+0.01 {
			t.Fatalf("%.3f cores are %.3f s of processor time, and %.3f s were used", taken.Cores, used, exact)
		}
		if taken.Memory > 4*held {
			t.Fatalf("%d bytes are taken", taken.Memory)
		}
		if ctx.Err() != nil {
			t.Fatalf("after a minute the processes have used %s, and take %d bytes", meter.used-first, taken.Memory)
		}
		runtime.Gosched()
	}
	measured := meter.used
	if all := end(); measured > all+10*tick || measured < time.Second {
		t.Errorf("%s were measured of %s", measured, all)
	}
	if taken, ok := meter.Read(); ok {
		t.Errorf("of processes that have ended: %+v", taken)
	}
}

// TestWatch tells each window's footprint until its end.
func TestWatch(t *testing.T) {
	t.Parallel()
	pid, _ := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	told := make(chan Usage)
	over := make(chan struct{})
	go func() {
		defer close(over)
		NewMeter(pid).Watch(ctx, 50*time.Millisecond, func(taken Usage) {
			select {
			case told <- taken:
			case <-ctx.Done():
			}
		})
	}()
	for taken := (Usage{}); taken.Cores == 0 || taken.Memory < held; {
		select {
		case taken = <-told:
		case <-ctx.Done():
			t.Fatalf("the last that was told: %+v", taken)
		}
	}
	cancel()
	<-over
}

// TestFamily: who belongs to a process and what it takes, from files as Linux
// writes them.
func TestFamily(t *testing.T) {
	t.Parallel()
	const rollup = "5581-7ffd ---p 00000000 00:00 0    [rollup]\nRss:    4096 kB\nPss:    1024 kB\nPss_Anon:   512 kB\n"
	proc := fstest.MapFS{
		"10/stat":         {Data: []byte("10 (standin) S 1 10 10 0 -1 4194304 1 2 3 4 100 50 20 10 20 0 8 0 1 2 3")},
		"10/smaps_rollup": {Data: []byte(rollup)},
		"11/stat":         {Data: []byte("11 (a) name (b) 9) R 10 11 10 0 -1 4194304 1 2 3 4 300 0 0 0 20 0 8 0 1 2 3")},
		"11/statm":        {Data: []byte("5000 300 100 1 0 900 0")}, // its rollup may not be read
		"12/stat":         {Data: []byte("12 (renderer) S 11 11 10 0 -1 4194304 1 2 3 4 0 20 0 0 20 0 8 0 1 2 3")},
		"12/smaps_rollup": {Data: []byte(rollup)},
		"13/stat":         {Data: []byte("13 (stranger) S 1 13 13 0 -1 4194304 1 2 3 4 9000 0 0 0 20 0 8 0 1 2 3")},
		"14/stat":         {Data: []byte("14 (broken) S")},
		"uptime":          {Data: []byte("1 2\n")},
	}
	meter := &Meter{proc: proc, root: 10}
	meter.Read()
	if want := 500 * tick; meter.used != want {
		t.Errorf("they used %s, want %s", meter.used, want)
	}
	proc["12/stat"] = &fstest.MapFile{Data: []byte("12 (renderer) Z 11 11 10 0 -1 4194304 1 2 3 4 0 220 0 0 20 0 8 0 1 2 3")}
	taken, ok := meter.Read()
	if want := int64(2<<20 + 200*os.Getpagesize()); !ok || taken.Memory != want || meter.used != 700*tick || taken.Cores <= 0 {
		t.Errorf("they take %+v and used %s; want %d bytes", taken, meter.used, want)
	}
	delete(proc, "11/stat") // killed, and so its child's parent is another
	proc["12/stat"] = &fstest.MapFile{Data: []byte("12 (renderer) S 1 11 10 0 -1 4194304 1 2 3 4 0 220 0 0 20 0 8 0 1 2 3")}
	if taken, ok := meter.Read(); !ok || taken.Cores != 0 || taken.Memory != 1<<20 {
		t.Errorf("after the browser was killed: %+v, %v", taken, ok)
	}
	delete(proc, "10/stat")
	if taken, ok := meter.Read(); ok {
		t.Errorf("of a process that is gone: %+v", taken)
	}
	if taken, ok := (&Meter{proc: fstest.MapFS{}, root: 1}).Read(); ok {
		t.Errorf("without /proc: %+v", taken)
	}
}
