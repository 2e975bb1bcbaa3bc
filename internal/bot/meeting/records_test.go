package meeting

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"standin/internal/jobs/job"
)

// Tests in a browser keep what the probe saw of their pages in testdata/records, with
// -update, and otherwise check that it is what they see. In the short run, the tests
// evaluate the records with the present profiles and words, without a browser.
//
// A file of records is made by one test. It holds the parts of the profiles by which the
// records were made, so that another word or selector in a profile finds what it finds on
// the recorded pages. What only a new selector finds is not in the records.

// record is what the probe saw of a page in a visit.
type record struct {
	Platform job.Platform `json:"platform"`
	Shows    string       `json:"shows"` // what a bot concludes from it
	Known    History      `json:"known"`
	Snapshot Snapshot     `json:"snapshot"`
}

// searched is what the probe searches for, of a profile, as newProbe encodes it.
type searched map[string]json.RawMessage

// records are the records of a test.
type records struct {
	Profiles map[job.Platform]searched `json:"profiles"`
	Pages    map[string][]record       `json:"pages"` // by the name of the page

	path  string
	made  map[job.Platform]*Profile // by which the records were made
	mutex sync.Mutex
	seen  map[string][]record
}

// readRecords reads the records of a test. With -update, it writes those that the test
// has kept at its end.
func readRecords(t *testing.T, name string) *records {
	t.Helper()
	r := &records{
		path: filepath.Join("testdata/records", name+".json"), made: make(map[job.Platform]*Profile), seen: make(map[string][]record),
	}
	text, err := os.ReadFile(r.path)
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	if err != nil && (!*update || !errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	if *update && !testing.Short() {
		t.Cleanup(func() { r.write(t) })
	}
	return r
}

// keep adds what was seen of a page, or checks that it is what the records hold. When a
// visit observes a page is chance. So unless exact is set, which tips and controls are
// shown at the moment may differ, and screens that only one of the visits observed are
// ignored.
func (r *records) keep(t *testing.T, page string, exact bool, seen ...record) {
	t.Helper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	call := int64(0) // the document of the call
	for _, one := range seen {
		if one.Known.Admitted && call == 0 {
			call = one.Snapshot.Document
		}
	}
	for _, one := range seen {
		one.Snapshot = settled(t, one.Snapshot, call)
		_, one.Shows = one.conclude(t, siteOf(t, one.Platform))
		r.seen[page] = append(r.seen[page], one)
	}
	if *update {
		return
	}
	for _, known := range r.Pages[page] {
		same := func(one record) bool { return one.matches(t, known, exact) }
		seen := func(one record) bool { return one.screen() == known.screen() }
		if !slices.ContainsFunc(r.seen[page], same) && (exact || slices.ContainsFunc(r.seen[page], seen)) {
			t.Errorf("%s does not show what it shows in %s (update it with -update): %s: %s\nThe page shows:", page, r.path, known.Shows,
				lines(t, known.Snapshot))
			for _, one := range r.seen[page] {
				t.Errorf("%s: %s", one.Shows, lines(t, one.Snapshot))
			}
		}
	}
}

// screen returns the screen that a record shows.
func (r record) screen() string {
	return r.Shows[:strings.IndexAny(r.Shows+";", ",:;")]
}

// matches reports whether a record is of the same page as another one.
func (r record) matches(t *testing.T, other record, exact bool) bool {
	t.Helper()
	a, b := r.Snapshot, other.Snapshot
	if exact {
		return lines(t, a) == lines(t, b)
	}
	for name, found := range a.Elements {
		if known, both := b.Elements[name]; both && known.Candidate != found.Candidate {
			return false
		}
	}
	shows, _, _ := strings.Cut(strings.ReplaceAll(r.Shows, " (speaking)", ""), ";")
	wants, _, _ := strings.Cut(strings.ReplaceAll(other.Shows, " (speaking)", ""), ";")
	// In the meeting, texts of the whole page are not searched.
	agree := func(a, b string) bool { return a == b || a == "" || b == "" }
	return shows == wants && agree(a.LobbyText, b.LobbyText) && agree(a.HostText, b.HostText)
}

// encode returns a value as JSON, without what is zero.
func encode(t *testing.T, value any) string {
	t.Helper()
	encoded, err := jsonv2.Marshal(value, jsonv2.Deterministic(true), jsonv2.OmitZeroStructFields(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// lines returns a struct as JSON with a line for each of its fields, without those that are
// empty.
func lines(t *testing.T, value any) string {
	t.Helper()
	var fields map[string]jsontext.Value
	if err := json.Unmarshal([]byte(encode(t, value)), &fields); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if field := string(fields[name]); field != "[]" && field != "{}" {
			all = append(all, fmt.Sprintf("  %q:%s", name, field))
		}
	}
	return "{\n" + strings.Join(all, ",\n") + "}"
}

// settled returns a snapshot without what differs between two visits of a page. Its
// document is 0 if it is the one of the call.
func settled(t *testing.T, s Snapshot, call int64) (settled Snapshot) {
	t.Helper()
	s.Host, s.Audio, s.Width, s.Height, s.TileList = "", nil, 0, 0, 0
	if s.Document == call || call == 0 {
		s.Document = 0
	} else {
		s.Document = 1
	}
	settle := func(entries []RosterEntry) []RosterEntry {
		entries = slices.Clone(entries)
		for i := range entries {
			entries[i].X, entries[i].Y, entries[i].Tracks, entries[i].Controls = 0, 0, nil, nil
		}
		return entries
	}
	s.Tiles, s.Rows = settle(s.Tiles), settle(s.Rows)
	withoutCodes := codes.ReplaceAllString(encode(t, s), "abc-mnop-xyz")
	if err := json.Unmarshal([]byte(withoutCodes), &settled); err != nil {
		t.Fatal(err)
	}
	return settled
}

// codes matches the codes of a replica's meetings.
var codes = regexp.MustCompile(`\b([a-z]{3}-[a-z]{4}-[a-z]{3}|\d{10,13})\b`)

// write writes what was kept, a line for each part of a snapshot.
func (r *records) write(t *testing.T) {
	t.Helper()
	all := make(map[string][]record)
	maps.Copy(all, r.Pages) // those that were not visited stay
	maps.Copy(all, r.seen)
	profiles := make(map[job.Platform]string)
	var pages []string
	for _, page := range slices.Sorted(maps.Keys(all)) {
		var seen []string
		for _, one := range all[page] {
			known, _ := json.Marshal(one.Known) // of plain fields
			profiles[one.Platform] = lines(t, searchedBy(t, siteOf(t, one.Platform)))
			seen = append(seen, fmt.Sprintf(`{"platform":%s,"shows":%s,"known":%s,"snapshot":%s}`,
				encode(t, one.Platform), encode(t, one.Shows), known, lines(t, one.Snapshot)))
		}
		pages = append(pages, fmt.Sprintf(" %s:[%s]", encode(t, page), strings.Join(seen, ",\n ")))
	}
	var made []string
	for _, platform := range slices.Sorted(maps.Keys(profiles)) {
		made = append(made, fmt.Sprintf(" %q:%s", platform, profiles[platform]))
	}
	text := "{\"profiles\":{\n" + strings.Join(made, ",\n") + "},\n\"pages\":{\n" + strings.Join(pages, ",\n") + "}}\n"
	err := os.MkdirAll(filepath.Dir(r.path), 0o755)
	if err == nil {
		err = os.WriteFile(r.path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// searchedBy returns what the probe of an adapter searches for.
func searchedBy(t *testing.T, site *site) (s searched) {
	t.Helper()
	if err := json.Unmarshal([]byte(strings.TrimPrefix(site.probe.call, "("+probeScript+")(")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// profile returns the parts of a profile that Snapshot.For uses. It fails the test if
// another part has changed, which only a browser can evaluate.
func (s searched) profile(t *testing.T, present searched) *Profile {
	t.Helper()
	var p Profile
	var conditions []probeCondition
	evaluated := map[string]any{
		"elements": &p.Elements, "conditions": &conditions, "lobbyTexts": &p.Admission.LobbyTexts, "hostTexts": &p.Admission.HostTexts,
	}
	for name, now := range present {
		if to := evaluated[name]; to == nil && string(s[name]) != string(now) && (s[name] != nil || len(now) > len("[]")) {
			t.Fatalf("the profile has another %s than the records, which has to be tested in a browser: run the test with -update, without -short",
				name)
		} else if to != nil && json.Unmarshal(s[name], to) != nil {
			t.Fatalf("the records have an invalid %s", name)
		}
	}
	var rule Rule
	for _, one := range conditions {
		rule.Text = append(rule.Text, TextCondition{In: one.In, TextMatch: one.Match, key: one.Key})
	}
	p.Screens = map[Screen][]Rule{Unknown: {rule}}
	return &p
}

// check evaluates the records of a page with the present profiles.
func (r *records) check(t *testing.T, page string) (all []Observation) {
	t.Helper()
	if len(r.Pages[page]) == 0 {
		t.Errorf("%s: not in %s; run the test with -update, without -short", page, r.path)
	}
	for _, one := range r.Pages[page] {
		site := siteOf(t, one.Platform)
		if r.made[one.Platform] == nil {
			r.made[one.Platform] = r.Profiles[one.Platform].profile(t, searchedBy(t, site))
		}
		before := one.Snapshot.Elements
		one.Snapshot = one.Snapshot.For(r.made[one.Platform], site.profile)
		seen, shows := one.conclude(t, site)
		if all = append(all, seen); shows != one.Shows {
			t.Errorf("%s: the page shows %s, by %s; want %s", page, shows, seen.Evidence, one.Shows)
		}
		for name := range before {
			if _, known := site.profile.Elements[name]; known && !one.Snapshot.Visible(name) {
				t.Errorf("%s: %s is not found any more", page, name)
			}
		}
	}
	return all
}

// conclude returns what a bot concludes from a record, and its description for people:
// the screen, the others in the meeting, devices that are on, texts, and what the bot
// presses next.
func (r record) conclude(t *testing.T, site *site) (Observation, string) {
	t.Helper()
	now := time.Unix(0, 0)
	site.visit.resume(r.Known, now)
	seen := site.observe(r.Snapshot, now)
	if seen.Pending != "" {
		seen = site.observe(r.Snapshot, now.Add(ConfirmTime))
	}
	shows := string(seen.Screen)
	if seen.Closed {
		shows += ", closed"
	}
	if seen.Screen == InMeeting {
		shows += fmt.Sprintf(", %d others", seen.Others)
	}
	for i, one := range seen.Participants {
		shows += []string{": ", ", "}[min(i, 1)] + one.Name
		if !strings.HasPrefix(one.ID, namePrefix) {
			shows += " as " + one.ID
		}
		if one.Speaking {
			shows += " (speaking)"
		}
	}
	for _, one := range []struct {
		holds bool
		what  string
	}{
		{r.Snapshot.clickable(joinButton), "ready to join"}, {
			r.Snapshot.Visible(microphoneOn), "microphone on",
		}, {r.Snapshot.Visible(cameraOn), "camera on"},
		{seen.CaptionsOn, "captions"}, {seen.Reload, "reload"}, {
			seen.Permission != NoAnswer, "permission " + string(seen.Permission),
		},
	} {
		if one.holds {
			shows += "; " + one.what
		}
	}
	for _, one := range seen.Chat {
		shows += fmt.Sprintf("; %q by %s", one.Text, one.Author)
	}
	for _, one := range seen.Captions {
		shows += fmt.Sprintf("; %q said %s", one.Text, one.Author)
	}
	var over dialogState
	over.next(r.Snapshot, site.visit.stage(seen.Screen), now)
	if len(seen.Notices) > 0 {
		shows += "; press " + strings.Join(seen.Notices, ", ")
	}
	if seen.CloseDialog = over.next(r.Snapshot, site.visit.stage(seen.Screen), now.Add(knownDialogTime)); seen.CloseDialog != nil &&
		!seen.Screen.Terminal() {
		shows += fmt.Sprintf("; press %q", seen.CloseDialog.Label)
	}
	return seen, shows
}
