package host

import (
	"strings"
	"testing"
	"testing/fstest"
)

// tree returns a file tree with files below the mount point and the membership file.
func tree(membershipLines string, files map[string]string) fstest.MapFS {
	result := fstest.MapFS{membership: {Data: []byte(membershipLines)}}
	for name, content := range files {
		result[mountPoint+"/"+name] = &fstest.MapFile{Data: []byte(content)}
	}
	return result
}

const (
	mb = 1 << 20
	gb = 1 << 30

	// As Linux 5.10 and 6.x write them, shortened.
	statV2 = "anon 104857600\nfile 73400320\nkernel_stack 49152\nshmem 20971520\nslab_reclaimable 10485760\nslab_unreclaimable 1048576\npgfault 1234\n"
	statV1 = "cache 1048576\nrss 1048576\nshmem 0\nhierarchical_memory_limit 536870912\ntotal_cache 73400320\ntotal_rss 104857600\ntotal_shmem 20971520\n"
	cpuV2  = "usage_usec 3500000\nuser_usec 2500000\nsystem_usec 1000000\nnr_periods 0\n"

	// In a Docker container with version 1, without a cgroup namespace.
	dockerV1 = "12:cpu,cpuacct:/docker/0123abcd\n11:memory:/docker/0123abcd\n1:name=systemd:/docker/0123abcd\n0::/system.slice/containerd.service\n"
)

func TestMemoryOf(t *testing.T) {
	t.Parallel()
	const machine = 8 * gb
	for name, test := range map[string]struct {
		membership string
		files      map[string]string
		want       memory
		limited    bool
	}{
		"version 2, container": {"0::/\n", map[string]string{
			"cgroup.procs": "1\n", "memory.max": "536870912\n", "memory.current": "209715200\n", "memory.stat": statV2,
		}, memory{total: 512 * mb, free: 312 * mb, cached: 60 * mb}, true},
		"version 2, no limit": {"0::/\n", map[string]string{
			"cgroup.procs": "1\n", "memory.max": "max\n", "memory.current": "209715200\n", "memory.stat": statV2,
		}, memory{}, false},
		"version 2, root of the machine": {"0::/\n", map[string]string{"cgroup.procs": "1\n", "memory.stat": statV2}, memory{}, false},
		"version 2, limit above the total": {"0::/\n", map[string]string{
			"cgroup.procs": "1\n", "memory.max": "8589934592\n", "memory.current": "209715200\n",
		}, memory{}, false},
		"version 2, limit of the parent": {"0::/standin.slice/standin.service\n", map[string]string{
			"cgroup.procs":                                 "",
			"standin.slice/memory.max":                     "536870912\n",
			"standin.slice/memory.current":                 "209715200\n",
			"standin.slice/memory.stat":                    statV2,
			"standin.slice/standin.service/memory.max":     "max\n",
			"standin.slice/standin.service/memory.current": "1048576\n",
		}, memory{total: 512 * mb, free: 312 * mb, cached: 60 * mb}, true},
		"version 2, lowest of two limits": {"0::/a/b\n", map[string]string{
			"cgroup.procs": "", "a/memory.max": "1073741824", "a/memory.current": "0",
			"a/b/memory.max": "536870912", "a/b/memory.current": "104857600",
		}, memory{total: 512 * mb, free: 412 * mb}, true},
		"version 2, more used than allowed": {"0::/\n", map[string]string{
			"cgroup.procs": "", "memory.max": "1048576", "memory.current": "2097152", "memory.stat": statV2,
		}, memory{total: mb, cached: mb}, true},
		"version 2, usage not told": {"0::/\n", map[string]string{"cgroup.procs": "", "memory.max": "1048576"}, memory{}, false},
		"version 2, a group outside the namespace": {"0::/../../other\n", map[string]string{
			"cgroup.procs": "", "memory.max": "536870912", "memory.current": "0",
		}, memory{total: 512 * mb, free: 512 * mb}, true},
		"version 1, container, which is shown only its own group": {dockerV1, map[string]string{
			"memory/cgroup.procs": "1\n", "memory/memory.limit_in_bytes": "536870912\n", "memory/memory.usage_in_bytes": "209715200\n",
			"memory/memory.stat": statV1,
		}, memory{total: 512 * mb, free: 312 * mb, cached: 50 * mb}, true},
		"version 1, group of its own": {"4:memory:/standin\n", map[string]string{
			"memory/cgroup.procs": "1\n", "memory/memory.limit_in_bytes": "9223372036854771712\n",
			"memory/standin/memory.limit_in_bytes": "536870912\n", "memory/standin/memory.usage_in_bytes": "0\n",
		}, memory{total: 512 * mb, free: 512 * mb}, true},
		"version 1, no limit": {"4:memory:/\n", map[string]string{
			"memory/cgroup.procs": "1\n", "memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/memory.usage_in_bytes": "0\n",
		}, memory{}, false},
		"version 2 beside version 1, memory in version 2": {"3:cpu,cpuacct:/\n0::/job\n", map[string]string{
			"cpu/cgroup.procs": "", "unified/cgroup.procs": "",
			"unified/job/memory.max": "536870912", "unified/job/memory.current": "0",
		}, memory{total: 512 * mb, free: 512 * mb}, true},
		"no control groups":   {"", nil, memory{}, false},
		"nothing is readable": {"garbage\n::\n0:\n", map[string]string{"cgroup.procs": "", "memory.max": "-1"}, memory{}, false},
		"a limit of nothing":  {"0::/\n", map[string]string{"cgroup.procs": "", "memory.max": "0", "memory.current": "0"}, memory{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, limited := memoryOf(tree(test.membership, test.files), machine)
			if limited != test.limited || got != test.want {
				t.Errorf("got %+v, %v; want %+v, %v", got, limited, test.want, test.limited)
			}
			if limited {
				checkRAM(t, got.ram())
			}
		})
	}
}

func TestProcessorsOf(t *testing.T) {
	t.Parallel()
	const machine = 4
	for name, test := range map[string]struct {
		membership string
		files      map[string]string
		want       times
		limited    bool
	}{
		"version 2, 1.5 processors": {"0::/\n", map[string]string{
			"cgroup.procs": "", "cpu.max": "150000 100000\n", "cpu.stat": cpuV2,
		}, times{user: 2.5, system: 1, processors: 1.5}, true},
		"version 2, no limit": {"0::/\n", map[string]string{
			"cgroup.procs": "", "cpu.max": "max 100000\n", "cpu.stat": cpuV2,
		}, times{}, false},
		"version 2, limit equals the number of processors": {"0::/\n", map[string]string{
			"cgroup.procs": "", "cpu.max": "400000 100000\n", "cpu.stat": cpuV2,
		}, times{}, false},
		"version 2, limit of an ancestor": {"0::/a/b\n", map[string]string{
			"cgroup.procs": "", "a/cpu.max": "200000 100000", "a/cpu.stat": cpuV2, "a/b/cpu.max": "max 100000",
			"a/b/cpu.stat": "user_usec 1\nsystem_usec 1\n",
		}, times{user: 2.5, system: 1, processors: 2}, true},
		"version 2, no times":    {"0::/\n", map[string]string{"cgroup.procs": "", "cpu.max": "100000 100000"}, times{}, false},
		"version 2, no period":   {"0::/\n", map[string]string{"cgroup.procs": "", "cpu.max": "100000", "cpu.stat": cpuV2}, times{}, false},
		"version 2, period of 0": {"0::/\n", map[string]string{"cgroup.procs": "", "cpu.max": "100000 0", "cpu.stat": cpuV2}, times{}, false},
		"version 1, container, same directory for both controllers": {dockerV1, map[string]string{
			"cpu/cgroup.procs": "", "cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n",
			"cpu/cpuacct.stat": "user 250\nsystem 100\n",
		}, times{user: 2.5, system: 1, processors: 0.5}, true},
		"version 1, directory with both names": {dockerV1, map[string]string{
			"cpu,cpuacct/cgroup.procs": "", "cpu,cpuacct/cpu.cfs_quota_us": "50000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
			"cpu,cpuacct/cpuacct.stat": "user 250\nsystem 100\n",
		}, times{user: 2.5, system: 1, processors: 0.5}, true},
		"version 1, separate controllers": {"2:cpuacct:/job\n1:cpu:/job\n", map[string]string{
			"cpu/cgroup.procs": "", "cpu/job/cpu.cfs_quota_us": "50000\n", "cpu/job/cpu.cfs_period_us": "100000\n",
			"cpuacct/job/cpuacct.stat": "user 250\nsystem 100\n",
		}, times{user: 2.5, system: 1, processors: 0.5}, true},
		"version 1, separate controllers, in a container": {dockerV1, map[string]string{
			"cpu/cgroup.procs": "", "cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n",
			"cpuacct/cpuacct.stat": "user 250\nsystem 100\n",
		}, times{user: 2.5, system: 1, processors: 0.5}, true},
		"version 1, no limit": {"1:cpu:/\n", map[string]string{
			"cpu/cgroup.procs": "", "cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n", "cpu/cpuacct.stat": "user 1\nsystem 1\n",
		}, times{}, false},
		"no control groups": {"", nil, times{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, source, limited := processorsOf(tree(test.membership, test.files), machine)
			if limited != test.limited || got != test.want || limited == (source == "") {
				t.Errorf("got %+v of %q, %v; want %+v, %v", got, source, limited, test.want, test.limited)
			}
		})
	}
}

// Reader reports the memory limit of the container.
func TestLimitedReader(t *testing.T) {
	t.Parallel()
	r := NewReader(t.TempDir())
	r.root = tree("0::/\n", map[string]string{
		"cgroup.procs": "", "memory.max": "67108864\n", "memory.current": "33554432\n", "memory.stat": "file 16777216\nshmem 0\n",
	})
	want := RAM{Used: 16, Free: 32, Cached: 16, TotalMB: 64}
	if got := r.Read(t.Context()).RAM; got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Any file content results in plausible values.
func FuzzControlGroups(f *testing.F) {
	for _, seed := range [][5]string{
		{"0::/\n", "536870912\n", "209715200\n", statV2, "150000 100000\n"},
		{"0::/a/../..\n1:cpu:/x", "max\n", "0\n", "file 18446744073709551615\nshmem 1\n", "max 100000\n"},
		{dockerV1, "9223372036854771712", "18446744073709551615", statV1, "50000"},
		{"4:memory:/\n", "1", "2", "total_cache 3\n\ntotal_shmem -1\n x\n", "1 18446744073709551615"},
		{"0::" + strings.Repeat("/a", 100), "", "\x00", "\xff", "0 0"},
		{":::", "-1", "1e9", "slab_reclaimable 9999999999999\nfile 99999999999\n", "9223372036854775807 1"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	f.Fuzz(func(t *testing.T, groups, limit, usage, stat, processors string) {
		if len(groups) > 4096 {
			return // the kernel's limit for paths
		}
		quota, period, _ := strings.Cut(processors, " ")
		files := tree(groups, map[string]string{
			"cgroup.procs": "", "memory.max": limit, "memory.current": usage, "memory.stat": stat, "cpu.max": processors, "cpu.stat": stat,
			"memory/cgroup.procs": "", "memory/memory.limit_in_bytes": limit, "memory/memory.usage_in_bytes": usage, "memory/memory.stat": stat,
			"cpu/cgroup.procs": "", "cpu/cpu.cfs_quota_us": quota, "cpu/cpu.cfs_period_us": period, "cpu/cpuacct.stat": stat,
		})
		if m, ok := memoryOf(files, 1<<40); ok {
			if m.total == 0 || m.total >= 1<<40 {
				t.Errorf("a limit of %d bytes on a machine of 2^40", m.total)
			}
			checkRAM(t, m.ram())
		}
		if used, _, ok := processorsOf(files, 64); ok {
			if !(used.processors > 0 && used.processors < 64) {
				t.Errorf("%v processors of 64", used.processors)
			}
			if c := (sample{at: start.Add(minInterval), times: used}).since(sample{at: start, times: times{processors: used.processors}}); c != nil {
				checkCPU(t, c)
			}
		}
	})
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	root := tree("0::/a\n", map[string]string{
		"cgroup.procs": "", "a/cpu.pressure": "some avg10=99.00 avg60=97.50 avg300=1.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
	})
	if got := waitingIn(root); got != 0.975 {
		t.Errorf("in a group: %v", got)
	}
	root["proc/pressure/cpu"] = &fstest.MapFile{Data: []byte("some avg10=0.00 avg60=99.00 avg300=1.00 total=5\n")}
	if got := waitingIn(root); got != 0.99 {
		t.Errorf("on a machine: %v", got)
	}
	if got := waitingIn(fstest.MapFS{"proc/pressure/cpu": {Data: []byte("some")}}); got != 0 {
		t.Errorf("without a number: %v", got)
	}
}
