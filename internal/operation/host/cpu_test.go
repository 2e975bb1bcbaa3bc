package host

import (
	"testing"
	"testing/fstest"
	"time"
)

// start is the time of the first sample.
var start = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

func TestSince(t *testing.T) {
	t.Parallel()
	machine := func(user, system, iowait, idle, steal float64) sample {
		return sample{
			at: start, source: "machine",
			times: times{user: user, system: system, iowait: iowait, idle: idle, all: user + system + iowait + idle + steal},
		}
	}
	container := func(at time.Duration, user, system, processors float64) sample {
		return sample{at: start.Add(at), source: "group", times: times{user: user, system: system, processors: processors}}
	}
	for name, test := range map[string]struct {
		before, now sample
		want        *CPU
	}{
		"machine": {
			machine(10, 20, 30, 40, 0), machine(11, 22, 33, 44, 0), &CPU{User: 10, System: 20, IOWait: 30, Idle: 40},
		},
		"machine with steal time":         {machine(0, 0, 0, 0, 0), machine(1, 0, 0, 1, 2), &CPU{User: 25, Idle: 25}},
		"iowait that decreases (proc(5))": {machine(0, 0, 5, 0, 0), machine(5, 0, 4, 6, 0), &CPU{User: 50, Idle: 60}},
		"no change":                       {machine(1, 2, 3, 4, 5), machine(1, 2, 3, 4, 5), nil},
		"no sample before":                {sample{}, machine(1, 2, 3, 4, 5), nil},
		"two processors for 10 s":         {container(0, 100, 50, 2), container(10*time.Second, 105, 51, 2), &CPU{User: 25, System: 5, Idle: 70}},
		"half a processor for 10 s":       {container(0, 0, 0, 0.5), container(10*time.Second, 1, 1, 0.5), &CPU{User: 20, System: 20, Idle: 60}},
		"burst above the limit":           {container(0, 0, 0, 1), container(10*time.Second, 8, 4, 1), &CPU{User: 80, System: 20}},
		"same time":                       {container(0, 0, 0, 1), container(0, 1, 1, 1), nil},
		"another source":                  {container(0, 0, 0, 1), machine(1, 2, 3, 4, 5), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := test.now.since(test.before)
			switch {
			case got == nil && test.want == nil:
			case got == nil || test.want == nil || *got != *test.want:
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// Readings in a container with a limit of 0.1 processors.
func TestReadCPU(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"proc/self/cgroup":           {Data: []byte("0::/\n")},
		"sys/fs/cgroup/cgroup.procs": {},
		"sys/fs/cgroup/cpu.max":      {Data: []byte("10000 100000\n")},
	}
	now := start
	r := &Reader{root: tree, now: func() time.Time { return now }}
	used := func(user, system string) {
		tree["sys/fs/cgroup/cpu.stat"] = &fstest.MapFile{Data: []byte("usage_usec 0\nuser_usec " + user + "\nsystem_usec " + system + "\n")}
	}
	expect := func(step string, want *CPU) {
		t.Helper()
		got := r.readCPU(t.Context())
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: got %+v, want %+v", step, got, want)
		}
	}

	used("1000000", "1000000")
	expect("first reading", nil)
	now = now.Add(10 * time.Second)
	used("1500000", "1250000")
	expect("user half of the limit, system a quarter", &CPU{User: 50, System: 25, Idle: 25})
	now = now.Add(minInterval - time.Millisecond)
	used("9000000", "9000000")
	expect("second reading within the minimum interval", &CPU{User: 50, System: 25, Idle: 25})
	now = now.Add(10*time.Second + time.Millisecond - minInterval)
	used("1500000", "1250000")
	expect("idle since the second reading", &CPU{Idle: 100})
	now = now.Add(time.Minute)
	delete(tree, "sys/fs/cgroup/cpu.max")
	expect("limit removed: first sample of the machine", nil)
}
