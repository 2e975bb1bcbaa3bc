package meeting

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"standin/internal/jobs/job"
)

// small is a minimal valid profile.
const small = `
platform: meet
version: 99
date: 2026-12-01
limits: {name: 60, chat: 500}
regions: {headings: [h1]}
elements: {join: [{css: button}]}
screens: {preJoin: [{elements: [join]}]}
`

func TestProfileMistakesAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ replace, with, want string }{
		"unknown field":    {"version: 99", "version: 99\nversoin: 4", "versoin"},
		"unknown platform": {"platform: meet", "platform: jitsi", `platform: "jitsi" is not a platform`},
		"no version":       {"version: 99", "version: 0", "version: must be 1 or more"},
		"no date":          {"date: 2026-12-01", "date: soon", "date: must be a date"},
		"no limit":         {"name: 60", "name: 0", "limits.name: must be 1 or more"},
		"no candidate":     {"[{css: button}]", "[]", "elements.join: has no candidate"},
		"empty selector":   {"css: button", "css: ' '", "elements.join[0].css: the CSS selector is empty"},
		"open bracket":     {"css: button", `css: 'button[aria-label="a"'`, "elements.join[0].css"},
		"empty text":       {"css: button", "css: button, text: {equals: ['...']}", "elements.join[0].text.equals[0]: has an empty text"},
		"no text":          {"css: button", "css: button, text: {}", "elements.join[0].text: has no text"},
		"mistake within":   {"css: button", "css: button, within: {css: ''}", "elements.join[0].within.css"},
		"whole page":       {"[h1]", "[h1, body]", `regions.headings[1]: "body" is the whole page`},
		"unknown screen":   {"preJoin:", "prejoin:", "screens.prejoin: is not a screen"},
		"empty sign":       {"{elements: [join]}", "{}", "screens.preJoin[0]: has no host, path, title, text or element"},
		"unknown element":  {"elements: [join]}", "elements: [jion]}", `screens.preJoin[0]: element "jion" is not defined`},
		"unknown unless":   {"elements: [join]}", "elements: [join], unless: [x]}", `element "x" is not defined`},
		"too many":         {"elements: [join]}", "elements: [join], atLeast: 2}", "screens.preJoin[0]: atLeast is 2 of 1"},
		"unknown region": {
			"elements: [join]}", "text: [{in: [main], equals: [a]}]}", `screens.preJoin[0].text[0]: region "main" is not defined`,
		},
		"no region":           {"elements: [join]}", "text: [{equals: [a]}]}", "screens.preJoin[0].text[0]: has no region"},
		"bad pattern":         {"limits:", "roster: {name: [{css: a, pattern: '('}]}\nlimits:", "roster.name[0].pattern"},
		"pattern, no group":   {"limits:", "roster: {name: [{css: a, pattern: 'x'}]}\nlimits:", "has no group"},
		"hidden page":         {"limits:", "roster: {hidden: [{css: body}]}\nlimits:", `roster.hidden[0].css: "body" is the whole page`},
		"hidden with a rule":  {"limits:", "roster: {hidden: [{css: aside, style: '} body {'}]}\nlimits:", "roster.hidden[0].style: has a character"},
		"two documents":       {"version: 99", "version: 99\n---\nversion: 4", "more than one document"},
		"no YAML":             {"platform: meet", "\tplatform", "profile custom.yaml"},
		"larger than allowed": {"version: 99", "version: 99 #" + strings.Repeat("x", maxProfileBytes), "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(small, c.replace, c.with, 1)
			if text == small {
				t.Fatalf("the test changes nothing: %q", c.replace)
			}
			_, err := ParseProfile("custom.yaml", []byte(text))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "profile custom.yaml: ") {
				t.Errorf("error = %v; want it to name the file and %q", err, c.want)
			}
		})
	}
}

func TestProfileAllMistakesAtOnce(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("version: 99", "version: 0", "css: button", "css: ''").Replace(small)
	_, err := ParseProfile("custom.yaml", []byte(text))
	if err == nil || !strings.Contains(err.Error(), "version") || !strings.Contains(err.Error(), "elements.join[0].css") {
		t.Errorf("error = %v; want both mistakes", err)
	}
}

func TestProfileMustFitTheAdapter(t *testing.T) {
	t.Parallel()
	profile, err := ParseProfile("custom.yaml", []byte(strings.Replace(small, "{join: ", "{slip: [{css: a}], join: ", 1)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(job.Meet, Profiles{job.Meet: profile})
	for _, want := range []string{
		"profile custom.yaml", "elements.leaveButton: missing", "screens.lobby: missing", "admission.controls: missing",
		"elements.slip: neither the adapter of meet nor a rule uses it",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v; want %q in it", err, want)
		}
	}
}

func TestLoadReplacesByPlatform(t *testing.T) {
	t.Parallel()
	shipped, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	if shipped[job.Meet] == nil || shipped[job.Meet].Version == 99 {
		t.Fatalf("the built-in Meet profile is %+v", shipped[job.Meet])
	}
	folder := t.TempDir()
	write(t, folder, "notes.txt", "not a profile")
	if _, err := Load(folder); err == nil || !strings.Contains(err.Error(), "no *.yaml") {
		t.Errorf("loading a folder without profiles: %v", err)
	}
	write(t, folder, "mine.yaml", small)
	replaced, err := Load(folder)
	if err != nil || replaced[job.Meet].Version != 99 {
		t.Fatalf("loading a folder with a Meet profile = %+v, %v", replaced[job.Meet], err)
	}
	write(t, folder, "other.yml", small)
	if _, err := Load(folder); err == nil || !strings.Contains(err.Error(), "already has a profile") {
		t.Errorf("loading two Meet profiles: %v", err)
	}
	if _, err := Load(filepath.Join(folder, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("loading an absent folder: %v", err)
	}
}

func write(t *testing.T, folder, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// FuzzParseProfile checks that a profile is refused with the name of its file, or can be
// searched for and evaluated.
func FuzzParseProfile(f *testing.F) {
	f.Add(small)
	before, _, _ := strings.Cut(small, "regions")
	f.Add(before)
	profiles, err := embeddedProfiles()
	if err != nil {
		f.Fatal(err)
	}
	for _, profile := range profiles {
		f.Add(string(profile.Text()))
	}
	f.Fuzz(func(t *testing.T, text string) {
		profile, err := ParseProfile("custom.yaml", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "profile custom.yaml: ") {
				t.Errorf("error = %v", err)
			}
			return
		}
		if _, err := newProbe(profile); err != nil {
			t.Error(err)
		}
		snapshot := Snapshot{Elements: map[string]VisibleElement{}, Texts: map[string]string{}}
		for name := range profile.Elements {
			snapshot.Elements[name] = VisibleElement{}
		}
		for _, one := range profile.textConditions() {
			snapshot.Texts[one.key] = "text"
		}
		if found := profile.classify(snapshot, in); found.screen != Unknown && totalWeight(found.evidence) < minWeight {
			t.Errorf("screen %s has too little evidence: %+v", found.screen, found.evidence)
		}
	})
}

func TestPlatformsWithoutAdapter(t *testing.T) {
	t.Parallel()
	profiles, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(job.ZoomSDK, profiles)
	if err == nil || !strings.Contains(err.Error(), string(job.ZoomSDK)) {
		t.Errorf("New(%s): %v; want an error that names it", job.ZoomSDK, err)
	}
	for _, platform := range []job.Platform{job.Meet, job.Teams, job.ZoomWeb} {
		if _, err := New(platform, profiles); err != nil {
			t.Errorf("New(%s): %v", platform, err)
		}
	}
}
