package host

import (
	"encoding/json"
	"testing"
	"time"

	"standin/internal/testing/await"
)

// The JSON of Metrics has the fields of HostMetrics in api/openapi.yaml.
func TestMetricsJSON(t *testing.T) {
	t.Parallel()
	uptime := int64(86400)
	for name, test := range map[string]struct {
		metrics Metrics
		want    string
	}{
		"everything": {
			Metrics{
				CPU: &CPU{User: 12.5, System: 3, IOWait: 0.25, Idle: 84.25}, RAM: &RAM{Used: 1, Free: 2, Cached: 3, Buffers: 4, TotalMB: 10},
				Load: &Load{One: 1, Five: 5, Fifteen: 15}, Disk: &Disk{UsedPct: 50, FreeGB: 7.5}, Bots: Bots{Running: 2, Scheduled: 3},
				UptimeSec: &uptime, TS: 1700000000000,
			},
			`{"cpu":{"user":12.5,"system":3,"iowait":0.25,"idle":84.25},"ram":{"used":1,"free":2,"cached":3,"buffers":4,"totalMB":10},` +
				`"load":{"one":1,"five":5,"fifteen":15},"disk":{"usedPct":50,"freeGB":7.5},"bots":{"running":2,"scheduled":3},` +
				`"uptimeSec":86400,"ts":1700000000000}`,
		},
		"nothing": {
			Metrics{TS: 1},
			`{"cpu":null,"ram":null,"load":null,"disk":null,"bots":{"running":0,"scheduled":0},"uptimeSec":null,"ts":1}`,
		},
	} {
		got, err := json.Marshal(test.metrics)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, test.want)
		}
	}
}

// The metrics of this machine are plausible.
func TestReadMachine(t *testing.T) {
	t.Parallel()
	r := NewReader(t.TempDir())
	before := time.Now()
	m := waitForCPU(t, r)
	for group, missing := range map[string]bool{
		"cpu": m.CPU == nil, "ram": m.RAM == nil, "load": m.Load == nil, "disk": m.Disk == nil, "uptimeSec": m.UptimeSec == nil,
	} {
		if missing {
			t.Fatalf("%s is missing", group)
		}
	}
	checkCPU(t, m.CPU)
	checkRAM(t, m.RAM)
	if m.Disk.UsedPct < 0 || m.Disk.UsedPct > 100 || m.Disk.FreeGB < 0 {
		t.Errorf("disk %+v", m.Disk)
	}
	if *m.UptimeSec <= 0 {
		t.Errorf("uptime %d s", *m.UptimeSec)
	}
	if m.TS < before.UnixMilli() || m.TS > time.Now().UnixMilli() {
		t.Errorf("ts %d is not the current time", m.TS)
	}
	encoded, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", encoded)
}

// waitForCPU reads until CPU is known.
func waitForCPU(t *testing.T, r *Reader) (m Metrics) {
	t.Helper()
	await.Until(t, "CPU", func() bool { m = r.Read(t.Context()); return m.CPU != nil })
	return m
}

// A missing data folder affects only Disk.
func TestMissingDataFolder(t *testing.T) {
	t.Parallel()
	m := NewReader(t.TempDir() + "/none").Read(t.Context())
	if m.Disk != nil {
		t.Errorf("Disk of a missing folder: %+v", m.Disk)
	}
	if m.RAM == nil || m.Load == nil {
		t.Errorf("RAM or Load is missing: %+v", m)
	}
}

// checkCPU fails the test unless the percentages are valid.
func checkCPU(t *testing.T, c *CPU) {
	t.Helper()
	for _, share := range []float64{c.User, c.System, c.IOWait, c.Idle} {
		if !(share >= 0 && share <= 100) {
			t.Errorf("invalid percentage: %+v", *c)
		}
	}
	if sum := c.User + c.System + c.IOWait + c.Idle; sum > 100.05 {
		t.Errorf("sum %v %%: %+v", sum, *c)
	}
}

// checkRAM fails the test unless the parts add up to the total.
func checkRAM(t *testing.T, m *RAM) {
	t.Helper()
	for _, part := range []float64{m.Used, m.Free, m.Cached, m.Buffers, m.TotalMB} {
		if !(part >= 0) {
			t.Errorf("invalid amount of memory: %+v", *m)
		}
	}
	// Each part is rounded to 0.01, and huge values have floating-point errors.
	if sum := m.Used + m.Free + m.Cached + m.Buffers; sum-m.TotalMB > 0.05+m.TotalMB*1e-12 || m.TotalMB-sum > 0.05+m.TotalMB*1e-12 {
		t.Errorf("sum %v: %+v", sum, *m)
	}
}
