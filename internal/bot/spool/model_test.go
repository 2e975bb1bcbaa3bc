package spool_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"standin/internal/base/fsutil"
	"standin/internal/bot/ingest"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
)

// model is the expected content of a spool.
type model struct {
	dir      string
	spool    *spool.Spool
	at       time.Time
	last     time.Time // of the last event
	number   int64
	waiting  []spool.Event
	files    map[string]string // name to content
	uploaded map[string]bool
	evicted  map[string]string // likewise
}

const modelLimit = 60

func (m *model) reopen(t *rapid.T) {
	m.spool = open(t, m.dir, spool.Settings{Limit: modelLimit, Now: func() time.Time { return m.at }})
}

func (m *model) appendEvent(t *rapid.T) {
	m.at = m.at.Add(time.Duration(rapid.IntRange(-5000, 5000).Draw(t, "clock step")) * time.Millisecond)
	kind := rapid.SampledFrom(job.BotTriggers()).Draw(t, "kind")
	event, err := m.spool.AppendEvent(kind, map[string]int64{"after": m.number})
	if err != nil {
		t.Fatalf("append event: %v", err)
	}
	if event.Number != m.number+1 || !event.EmittedAt.After(m.last) {
		t.Fatalf("event %+v follows number %d at %v", event, m.number, m.last)
	}
	m.number, m.last = event.Number, event.EmittedAt
	m.waiting = append(m.waiting, event)
}

func (m *model) ackEvent(t *rapid.T) {
	if len(m.waiting) == 0 {
		t.Skip("nothing waits")
	}
	if err := m.spool.Events.End(m.waiting[0], ""); err != nil {
		t.Fatalf("acknowledge: %v", err)
	}
	m.waiting = m.waiting[1:]
}

func (m *model) appendSegment(t *rapid.T) {
	part, sequence := rapid.IntRange(0, 1).Draw(t, "part"), rapid.IntRange(0, 4).Draw(t, "sequence")
	name, data := ingest.SegmentName(part, sequence), rapid.StringN(1, 8, 16).Draw(t, "data")
	err := m.spool.AppendSegment(part, sequence, []byte(data))
	old, there := m.files[name]
	if gone, evicted := m.evicted[name]; evicted {
		old, there = gone, true
	}
	var full *spool.FullError
	switch {
	case there && old != data:
		if !errors.Is(err, os.ErrExist) {
			t.Fatalf("append %s with other data: %v", name, err)
		}
	case there:
		if err != nil {
			t.Fatalf("append %s again: %v", name, err)
		}
	case !m.evict(len(data)):
		if !errors.As(err, &full) {
			t.Fatalf("append %s beyond the limit: %v", name, err)
		}
	case err != nil:
		t.Fatalf("append %s: %v", name, err)
	default:
		m.files[name] = data
	}
}

// evict evicts uploaded segments, the oldest first, as far as needed, and reports
// whether there is space.
func (m *model) evict(wanted int) bool {
	if m.used()+wanted <= modelLimit {
		return true
	}
	freed := 0
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		if _, _, segment := ingest.ParseSegmentName(name); !segment || !m.uploaded[name] || freed >= wanted {
			continue
		}
		freed += len(m.files[name])
		m.evicted[name] = m.files[name]
		delete(m.files, name)
	}
	return m.used()+wanted <= modelLimit
}

func (m *model) put(t *rapid.T) {
	name, data := rapid.SampledFrom([]string{"report.json", "chat.json"}).Draw(t, "name"), rapid.StringN(0, 3, 6).Draw(t, "data")
	var err error
	if rapid.Bool().Draw(t, "as a file") {
		path := filepath.Join(m.spool.ScratchDir(), "made")
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatalf("%v", err)
		}
		sum, hashErr := fsutil.SHA256(strings.NewReader(data))
		if hashErr != nil {
			t.Fatalf("%v", hashErr)
		}
		err = m.spool.AddFile(path, name, int64(len(data)), sum)
	} else {
		err = m.spool.Put(name, []byte(data))
	}
	if err != nil {
		t.Fatalf("put %s: %v", name, err)
	}
	if old, there := m.files[name]; !there || old != data {
		m.uploaded[name] = false
	}
	m.files[name] = data
}

// upload may take long enough for the file to be replaced meanwhile.
func (m *model) upload(t *rapid.T) {
	name, ok := m.spool.NextFile(anyFile)
	if !ok {
		t.Skip("nothing waits")
	}
	version, _ := read(t, m.spool, name)
	before := m.files[name]
	if _, _, segment := ingest.ParseSegmentName(name); !segment && rapid.Bool().Draw(t, "replaced meanwhile") {
		m.files[name] = rapid.StringN(0, 3, 6).Draw(t, "data")
		if err := m.spool.Put(name, []byte(m.files[name])); err != nil {
			t.Fatalf("put %s: %v", name, err)
		}
	}
	if err := m.spool.MarkUploaded(version); err != nil {
		t.Fatalf("mark %s: %v", name, err)
	}
	m.uploaded[name] = m.files[name] == before
}

func (m *model) used() (used int) {
	for _, data := range m.files {
		used += len(data)
	}
	return used
}

// check compares the spool with the model.
func (m *model) check(t *rapid.T) {
	if next, ok := m.spool.Events.Next(); m.spool.Events.Waiting() != len(m.waiting) || ok != (len(m.waiting) > 0) ||
		ok && fmt.Sprint(next) != fmt.Sprint(m.waiting[0]) {
		t.Fatalf("%d events wait, first %+v; want %+v", m.spool.Events.Waiting(), next, m.waiting)
	}
	var want []string
	segments := map[int][]string{}
	for name, data := range m.files {
		if !m.uploaded[name] {
			want = append(want, name)
		}
		if part, _, ok := ingest.ParseSegmentName(name); ok {
			segments[part] = append(segments[part], name)
		}
		if _, got := read(t, m.spool, name); string(got) != data {
			t.Fatalf("%s holds %q, want %q", name, got, data)
		}
	}
	var got []string
	for {
		name, ok := m.spool.NextFile(func(name string) bool { return !slices.Contains(got, name) })
		if !ok {
			break
		}
		got = append(got, name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if m.spool.Evicted() != len(m.evicted) {
		t.Fatalf("%d segments were evicted, want %v", m.spool.Evicted(), m.evicted)
	}
	if !slices.Equal(got, want) || m.spool.PendingFiles() != len(want) {
		t.Fatalf("pending: %v (%d), want %v", got, m.spool.PendingFiles(), want)
	}
	for part, names := range segments {
		slices.Sort(names)
		var got []string
		for _, path := range m.spool.Segments(part) {
			got = append(got, filepath.Base(path))
		}
		if !slices.Equal(got, names) {
			t.Fatalf("segments of part %d are %v, want %v", part, got, names)
		}
	}
}

func TestSpoolModel(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(parent, "spool-")
		if err != nil {
			t.Fatal(err)
		}
		m := &model{
			dir: dir, at: time.UnixMilli(1_790_000_000_000), files: map[string]string{}, uploaded: map[string]bool{},
			evicted: map[string]string{},
		}
		m.reopen(t)
		t.Repeat(map[string]func(*rapid.T){
			"append event":   m.appendEvent,
			"ack event":      m.ackEvent,
			"append segment": m.appendSegment,
			"put":            m.put,
			"upload":         m.upload,
			"kill":           m.reopen, // without closing, like a killed process
			"":               m.check,
		})
		if err := m.spool.Remove(); err != nil {
			t.Fatal(err)
		}
	})
}
