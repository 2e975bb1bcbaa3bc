package meeting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/recorder"
	"standin/internal/jobs/job"
)

const (
	fieldFolder = "testdata/field"
	// tellTime is how long a bot may take to tell what a document shows.
	tellTime = 10 * time.Second
	// drawTime is how long a document may take from drawing something to logging it.
	drawTime = 2 * time.Second
	// visitDuration limits a visit.
	visitDuration = time.Minute
)

// TestField visits the documents of testdata/field, which were written without the
// profiles. A file holds the documents of a platform. Each begins with a line of its
// name and what is expected of a visit:
//
//	want=a|b     failure codes of which one is reported, recording, or home
//	people=a,b   names of the others in the meeting; crowd=n: of the script's crowd
//	knocks=n     how often the bot may ask to join (default 1)
//	path=…       address of the document
//	lang=…       language of the document
//	languages    one document for each row of languages.txt
//	frame        the document is in a frame of another
//
// A document is HTML, or the body of an async function. It logs what really happens:
// asked (the detail names the devices that are on), lobby, absent (the host), admitted,
// over, done (nothing more will happen) and mistake. The functions are in field.js.
//
// The short run evaluates the records of the visits.
func TestField(t *testing.T) {
	t.Parallel()
	for _, platform := range []job.Platform{job.Meet, job.Teams, job.ZoomWeb} {
		t.Run(fieldScripts()[platform], func(t *testing.T) {
			kept, all := readRecords(t, fieldScripts()[platform]), readFieldDocuments(t, platform)
			if testing.Short() {
				for _, document := range all {
					document.checkRecords(t, kept)
				}
				if len(kept.Pages) > len(all) {
					t.Errorf("%d pages are recorded, of %d documents: delete %s and run the test with -update", len(kept.Pages), len(all), kept.path)
				}
				return
			}
			ctx, running := launchBrowser(t)
			documents := make(chan fieldDocument)
			var visits sync.WaitGroup
			for range pagesAtOnce {
				page := openPage(t, ctx, running)
				if err := recorder.Prepare(ctx, page, recorder.Settings{}); err != nil {
					t.Fatal(err)
				}
				visits.Go(func() {
					for document := range documents {
						t.Run(document.name, func(t *testing.T) { document.visit(t, ctx, page, kept) })
					}
				})
			}
			for _, document := range all {
				documents <- document
			}
			close(documents)
			visits.Wait()
		})
	}
}

// fieldDocument is a document and what is expected of a visit.
type fieldDocument struct {
	platform     job.Platform
	name, path   string
	lang         string
	body         string
	words        map[string]string // of the language
	framed       bool
	want, people []string
	knowsPeople  bool
	knocks       int
}

// fieldScripts are the names of the platforms in field.js and of their files.
func fieldScripts() map[job.Platform]string {
	return map[job.Platform]string{job.Meet: "meet", job.Teams: "teams", job.ZoomWeb: "zoom"}
}

// readFieldDocuments reads the documents of a platform.
func readFieldDocuments(t *testing.T, platform job.Platform) (documents []fieldDocument) {
	t.Helper()
	script := fieldScripts()[platform]
	paths := map[job.Platform]string{
		job.Meet: "/abc-mnop-xyz", job.Teams: "/meet/9312345678901?p=abc", job.ZoomWeb: "/wc/91234567890/join?pwd=x",
	}
	for section := range strings.SplitSeq("\n"+readField(t, script+".txt"), "\n=== ") {
		header, body, _ := strings.Cut(section, "\n")
		fields := strings.Split(header, " | ")
		if header == "" {
			continue
		}
		document := fieldDocument{platform: platform, name: fields[0], path: paths[platform], lang: "en", body: body, knocks: 1}
		languages := false
		for _, field := range fields[1:] {
			key, value, _ := strings.Cut(field, "=")
			switch key {
			case "want":
				document.want = strings.Split(value, "|")
			case "people":
				document.knowsPeople, document.people = true, strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
			case "crowd":
				document.knowsPeople = true
				for i := range 40 {
					document.people = append(document.people, fmt.Sprintf("Guest %c%d", 'A'+i%26, i/26+1))
				}
			case "knocks":
				document.knocks = int(value[0] - '0')
			case "path":
				document.path = value
			case "lang":
				document.lang = value
			case "languages":
				languages = true
			case "frame":
				document.framed = true
			default:
				t.Fatalf("%s: unknown expectation %q", document.name, field)
			}
		}
		if !languages {
			documents = append(documents, document)
			continue
		}
		for language, words := range readFieldLanguages(t, script) {
			local := document
			local.name, local.lang, local.words = document.name+" ("+language+")", language, words
			documents = append(documents, local)
		}
	}
	return documents
}

// readFieldLanguages reads the words of a platform by language. English has none: its
// words are in field.js.
func readFieldLanguages(t *testing.T, script string) map[string]map[string]string {
	t.Helper()
	languages := make(map[string]map[string]string)
	for table := range strings.SplitSeq(readField(t, "languages.txt"), "\n\n") {
		rows := strings.Split(strings.TrimSpace(table), "\n")
		keys := strings.Split(rows[0], " | ")
		if keys[0] != script {
			continue
		}
		for _, row := range rows[1:] {
			values := strings.Split(row, " | ")
			if len(values) != len(keys) {
				t.Fatalf("%s: %d words in %q, want %d", script, len(values), row, len(keys))
			}
			words := make(map[string]string)
			for i, key := range keys[1:] {
				words[key] = values[i+1]
			}
			languages[values[0]] = words
		}
	}
	return languages
}

func readField(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(fieldFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// html returns the document. top is false in its frame.
func (d fieldDocument) html(top bool) string {
	script := fieldScripts()[d.platform]
	title := map[string]string{"meet": "Meet", "teams": "Microsoft Teams", "zoom": "Zoom"}[script]
	direction := ""
	if d.lang == "ar" || d.lang == "he" {
		direction = "dir=rtl"
	}
	head := fmt.Sprintf("<!doctype html><html lang=%s %s><head><meta charset=utf-8><title>%s</title><script src=/field.js></script></head><body>", html.EscapeString(d.lang), direction, title)
	if d.framed && top {
		return head + `<div id=content></div><script>setTimeout(() => add('<iframe id=webclient style="width:1200px;height:700px" src="/frame"></iframe>'), 1200)</script>`
	}
	if strings.HasPrefix(d.body, "<") {
		return head + d.body
	}
	words, _ := json.Marshal(d.words) // of strings
	return head + fmt.Sprintf(`<script>%[1]s.words = %[2]s || {}; if (%[1]s.words.micOff) Object.assign(labels, {mic: [%[1]s.words.micOff, %[1]s.words.micOn], cam: [%[1]s.words.camOff, %[1]s.words.camOn]});
		(async () => { %[3]s })().catch(error => log('mistake', error));</script>`, script, words, d.body)
}

// fieldEntry is an entry of a document's log.
type fieldEntry struct {
	kind, detail string
	at           time.Time
}

// fieldVisit is a bot's visit of a document.
type fieldVisit struct {
	document fieldDocument
	site     *site

	mutex   sync.Mutex
	entries []fieldEntry
	seen    []fieldObservation // those that differ from the one before
	changed chan struct{}      // closed and replaced when something was observed
}

// fieldObservation is what a bot observed from one time to another.
type fieldObservation struct {
	Observation

	from, to time.Time
}

// visit sends a bot to the document and checks what it reports.
func (d fieldDocument) visit(t *testing.T, ctx context.Context, page *browser.Page, kept *records) {
	ctx, cancel := context.WithTimeout(ctx, visitDuration)
	defer cancel()
	v := &fieldVisit{document: d, site: siteOf(t, d.platform), changed: make(chan struct{})}
	server := httptest.NewServer(v)
	defer server.CloseClientConnections()
	site := v.site
	if err := page.Navigate(ctx, server.URL+d.path); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = page.Navigate(ctx, "about:blank") }() // the next visit loads another document
	joining, stop := context.WithTimeout(ctx, visitDuration/2)
	defer stop()
	err := site.Join(joining, page, JoinOptions{Name: "Standin", Observed: v.observed})
	var refused *ScreenError
	switch {
	case errors.Is(err, ErrHomePage):
		if took := time.Since(v.last("over").at); d.want[0] != "home" || took > 3*time.Second {
			t.Errorf("sent to the home page after %s", took)
		}
		return
	case err != nil && !errors.As(err, &refused):
		t.Fatalf("joining: %v", err)
	case err != nil:
		v.observed(refused.Observation)
	default:
		v.attend(t, ctx, site, page)
	}
	v.judge(t)
	kept.keep(t, d.name, false, v.records()...)
}

// checkRecords checks what a bot concludes from the records of a visit.
func (d fieldDocument) checkRecords(t *testing.T, kept *records) {
	t.Helper()
	if d.want[0] == "home" {
		return // the platform's home page, which is not looked at
	}
	var names []string
	var last Observation
	for _, last = range kept.check(t, d.name) {
		if last.Screen == InMeeting {
			names = namesOf(last)
		}
	}
	if !slices.Contains(d.want, outcomeOf(last)) || d.knowsPeople && !slices.Equal(names, slices.Sorted(slices.Values(d.people))) {
		t.Errorf("%s: %s is %s, and the others are %q; want %s and %q", d.name, last.Screen, outcomeOf(last), names, d.want, d.people)
	}
}

// records returns the last record of each screen that was seen, and of the end.
func (v *fieldVisit) records() (kept []record) {
	for i, one := range v.seen {
		again := slices.ContainsFunc(v.seen[i+1:], func(later fieldObservation) bool { return later.Screen == one.Screen })
		if i == len(v.seen)-1 || !again && one.Screen != Unknown {
			kept = append(kept, record{Platform: v.document.platform, Known: one.Captured.Known, Snapshot: one.Captured.Snapshot})
		}
	}
	return kept
}

// attend observes the page like a bot until it reported what was expected, or time is up.
func (v *fieldVisit) attend(t *testing.T, ctx context.Context, site *site, page Page) {
	t.Helper()
	again := time.NewTicker(observeInterval)
	defer again.Stop()
	read := false
	for {
		seen, err := site.Observe(ctx, page)
		switch {
		case err != nil && !Transient(err):
			t.Fatal(err)
		case err == nil:
			v.observed(seen)
			if v.isDone(seen) {
				return
			}
			if err := site.HandleNotices(ctx, page, seen); err != nil {
				t.Fatal(err)
			}
			if entered := v.last("admitted").at; seen.Screen == InMeeting && !read && !entered.IsZero() && time.Since(entered) > drawTime &&
				(seen.Others > len(seen.Participants) || !seen.Counted && seen.Others > 0) {
				read = true
				if err := site.ReadPeople(ctx, page); err != nil {
					t.Logf("reading the people: %v", err)
				}
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// isDone reports whether there is nothing more to observe.
func (v *fieldVisit) isDone(seen Observation) bool {
	end := v.end()
	if seen.Screen.Terminal() && seen.Screen != CannotConnect && end.at.IsZero() {
		return true // too early
	}
	told := v.isWanted(seen) && (seen.Screen != InMeeting || !v.last("admitted").at.IsZero())
	return !end.at.IsZero() && (told || time.Since(end.at) > tellTime)
}

// isWanted reports whether an observation is the expected outcome.
func (v *fieldVisit) isWanted(seen Observation) bool {
	if !slices.Contains(v.document.want, outcomeOf(seen)) {
		return false
	}
	return seen.Screen != InMeeting || !v.document.knowsPeople || slices.Equal(namesOf(seen), slices.Sorted(slices.Values(v.document.people)))
}

// outcomeOf returns the failure code with which a bot would leave, or recording.
func outcomeOf(seen Observation) string {
	if seen.Closed {
		return string(job.MeetingEnded)
	}
	if code, _, failed := seen.Failure(); failed {
		return string(code)
	}
	return "recording"
}

func namesOf(seen Observation) (names []string) {
	for _, one := range seen.Participants {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	return names
}

// observed remembers what the bot observes.
func (v *fieldVisit) observed(seen Observation) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	now := time.Now()
	read := *seen.Captured
	read.Snapshot, seen.Captured = v.site.visit.withPeople(read.Snapshot, now), &read
	if last := len(v.seen) - 1; last >= 0 && v.seen[last].Screen == seen.Screen && outcomeOf(v.seen[last].Observation) == outcomeOf(seen) {
		v.seen[last].Observation, v.seen[last].to = seen, now
	} else {
		v.seen = append(v.seen, fieldObservation{seen, now, now})
	}
	close(v.changed)
	v.changed = make(chan struct{})
}

// last returns the last entry of a kind, or none.
func (v *fieldVisit) last(kind string) (last fieldEntry) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	for _, entry := range v.entries {
		if entry.kind == kind {
			last = entry
		}
	}
	return last
}

// end returns the entry after which the outcome has to be reported, or none.
func (v *fieldVisit) end() fieldEntry {
	if over := v.last("over"); !over.at.IsZero() {
		return over
	}
	return v.last("done")
}

// phases are the screens of the times between entries. A document waits until the bot
// reported the screen.
func phases() map[string]Screen {
	return map[string]Screen{"lobby": Lobby, "absent": HostAbsent, "admitted": InMeeting}
}

// ServeHTTP serves the document and its log.
func (v *fieldVisit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	switch {
	case r.Method == http.MethodPost:
		text, _ := io.ReadAll(io.LimitReader(r.Body, 1<<10)) // a cut entry fails the test
		kind, detail, _ := strings.Cut(string(text), " ")
		entry := fieldEntry{kind, detail, time.Now()}
		v.mutex.Lock()
		v.entries = append(v.entries, entry)
		v.mutex.Unlock()
		if screen, ok := phases()[kind]; ok {
			v.waitFor(r.Context(), screen, entry.at)
		}
	case r.URL.Path == "/field.js":
		http.ServeFile(w, r, filepath.Join(fieldFolder, "field.js"))
	case strings.HasPrefix(r.URL.Path, "/recaptcha/"):
		_, _ = io.WriteString(w, `<label><input type=checkbox> I'm not a robot</label>`)
	case r.URL.Path == "/favicon.ico":
		http.NotFound(w, r)
	default:
		_, _ = io.WriteString(w, v.document.html(r.URL.Path != "/frame"))
	}
}

// waitFor waits until the bot reported a screen after some time, as long as it may take.
func (v *fieldVisit) waitFor(ctx context.Context, screen Screen, since time.Time) {
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	for {
		v.mutex.Lock()
		seen, changed := v.wasSeen(screen, since, time.Now()), v.changed
		v.mutex.Unlock()
		if seen {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// wasSeen reports whether the bot observed a screen between two times.
func (v *fieldVisit) wasSeen(screen Screen, from, to time.Time) bool {
	return slices.ContainsFunc(v.seen, func(one fieldObservation) bool {
		return one.Screen == screen && !one.to.Before(from) && !one.from.After(to)
	})
}

// judge compares what the bot observed with what really happened.
func (v *fieldVisit) judge(t *testing.T) {
	t.Helper()
	end := v.end()
	v.mutex.Lock()
	defer v.mutex.Unlock()
	before := func(at time.Time, kinds ...string) (last fieldEntry) {
		for _, entry := range v.entries {
			if slices.Contains(kinds, entry.kind) && !entry.at.After(at) {
				last = entry
			}
		}
		return last
	}
	asked := 0
	for i, entry := range v.entries {
		switch entry.kind {
		case "asked":
			if asked++; entry.detail != "" {
				t.Errorf("joined with %s", entry.detail)
			}
		case "mistake":
			t.Errorf("mistake: %s", entry.detail)
		default:
			screen, ok := phases()[entry.kind]
			if next := slices.IndexFunc(v.entries[i+1:], func(one fieldEntry) bool {
				return one.kind != "mistake"
			}); ok && next >= 0 && !v.wasSeen(screen, entry.at, v.entries[i+1+next].at) {
				t.Errorf("%s was not reported", entry.kind)
			}
		}
	}
	if asked > v.document.knocks {
		t.Errorf("asked to join %d times", asked)
	}
	for _, one := range v.seen {
		state := before(one.from.Add(drawTime), "lobby", "absent", "admitted", "over", "done")
		switch {
		case one.Screen == InMeeting && (before(one.from.Add(drawTime), "admitted").kind == "" ||
			(state.kind == "lobby" || state.kind == "absent") && one.to.Sub(state.at) > drawTime):
			t.Error("FALSE ADMISSION")
		case one.Screen.Terminal() && one.Screen != CannotConnect && state.kind != "over" &&
			(state.kind != "done" || !v.isWanted(one.Observation)):
			t.Errorf("FALSE END: %s by %s", one.Screen, one.Evidence)
		case (one.Screen == Lobby || one.Screen == HostAbsent) && before(one.from.Add(drawTime), "asked", "lobby", "absent", "done").kind == "":
			t.Errorf("%s before anything was asked, by %s", one.Screen, one.Evidence)
		}
	}
	var last fieldObservation
	var names []string
	for _, one := range v.seen {
		if last = one; one.Screen == InMeeting {
			names = namesOf(one.Observation)
		}
	}
	if v.document.knowsPeople && !slices.Equal(names, slices.Sorted(slices.Values(v.document.people))) {
		t.Errorf("the others are %q, want %q", names, v.document.people)
	}
	if end.at.IsZero() || !slices.Contains(v.document.want, outcomeOf(last.Observation)) {
		t.Errorf("%s is %s after %s, want %s", last.Screen, outcomeOf(last.Observation), last.to.Sub(end.at).Round(time.Second), v.document.want)
	}
	if t.Failed() {
		v.report(t)
	}
}

// report logs what happened and what was observed.
func (v *fieldVisit) report(t *testing.T) {
	t.Helper()
	for _, entry := range v.entries {
		t.Logf("%s page %s %s", entry.at.Format("05.000"), entry.kind, entry.detail)
	}
	for _, one := range v.seen {
		t.Logf("%s to %s bot %s by %s, closed %t, dialog %q, notices %q", one.from.Format("05.000"), one.to.Format("05.000"),
			one.Screen, one.Evidence, one.Closed, one.Captured.Snapshot.Elements[dialog].Text, one.Notices)
	}
}
