package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/egress"
	"standin/internal/bot/hostpolicy"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/job"
)

const (
	// openTime bounds the start of the browser and the loading of the page.
	openTime = 60 * time.Second
	// lookEvery is as often as a bot looks.
	lookEvery = 250 * time.Millisecond
	lookTime  = 5 * time.Second
)

// PageSettings say which page to open, and how to look at it.
type PageSettings struct {
	Platform     job.Platform
	URL          string // as a job would have it; it may hold a passcode
	AllowedHosts []string
	Profiles     string // folder; empty: the embedded ones
	Browser      string // empty: found on PATH
	NoSandbox    bool
	Wait         time.Duration
	Screenshot   string // file to write the page's picture to; empty: none
	// LoopbackPeers lets the page's media connect over loopback: for replicas.
	LoopbackPeers bool
}

// Page is what a page shows in the eyes of a profile.
type Page struct {
	Platform job.Platform `json:"platform"`
	Profile  string       `json:"profile"` // its file
	Version  int          `json:"version"`
	Date     string       `json:"date"`

	Title    string         `json:"title"`
	Address  string         `json:"address"` // without what may be secret
	Screen   meeting.Screen `json:"screen"`
	Evidence string         `json:"evidence"`

	Elements []Element `json:"elements"`
	Texts    []Text    `json:"texts"`
	People   []string  `json:"people"`
	Others   int       `json:"others"` // -1: the page does not tell
}

// Element is what became of one of the profile's elements.
type Element struct {
	Name      string               `json:"name"`
	State     meeting.ElementState `json:"state"`
	Candidate int                  `json:"candidate"` // counted from 1; 0 when none found it
	Selector  string               `json:"selector,omitempty"`
	Text      string               `json:"text,omitempty"`
	Disabled  bool                 `json:"disabled,omitempty"`
	Covered   bool                 `json:"covered,omitempty"`
}

// Text is a text that screens are recognized by and that the page shows.
type Text struct {
	Path  string `json:"path"` // in the profile
	Found string `json:"found"`
}

// InspectPage opens the page as a bot would, waits until a screen is
// recognized, and tells what of the profile it found. A page that shows no
// screen of the profile is no error.
func InspectPage(ctx context.Context, settings PageSettings) (page Page, err error) {
	profiles, err := meeting.Load(settings.Profiles)
	if err != nil {
		return Page{}, err
	}
	adapter, err := meeting.New(settings.Platform, profiles)
	if err != nil {
		return Page{}, err
	}
	address, err := adapter.Address(settings.URL)
	if err != nil {
		return Page{}, err
	}
	if err := hostpolicy.Check(address.URL, settings.AllowedHosts); err != nil {
		_, host, _ := strings.Cut(hostpolicy.Origin(address.URL), "://")
		return Page{}, fmt.Errorf("%w; --allow-host %s opens it here all the same", err, host)
	}
	opening, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	way, err := egress.Start(opening, egress.Settings{Allowed: egress.AllowedTargets(settings.AllowedHosts)})
	if err != nil {
		return Page{}, err
	}
	defer func() { err = errors.Join(err, way.Close()) }()
	running, err := browser.Launch(opening, browserOptions(settings, way))
	if err != nil {
		return Page{}, err
	}
	defer func() { err = errors.Join(err, running.Close()) }()
	opened, err := open(opening, running, address.URL)
	if err != nil {
		return Page{}, err
	}
	inspection, err := watch(ctx, opened, profiles[settings.Platform], settings.Wait)
	if err != nil {
		return Page{}, err
	}
	if err := takePicture(ctx, opened, settings.Screenshot); err != nil {
		return Page{}, err
	}
	return describe(ctx, opened, inspection)
}

// browserOptions are those of a bot.
func browserOptions(settings PageSettings, way *egress.Proxy) browser.Options {
	return browser.Options{
		Executable: settings.Browser, LoopbackPeers: settings.LoopbackPeers, NoSandbox: settings.NoSandbox, Proxy: way.Address(),
	}
}

// open opens the address in a page that is set up as a bot's is.
func open(ctx context.Context, running *browser.Browser, address string) (*browser.Page, error) {
	if err := running.GrantMicrophoneAndCamera(ctx, hostpolicy.Origin(address)); err != nil {
		return nil, err
	}
	page, err := running.NewPage(ctx)
	if err != nil {
		return nil, err
	}
	if err := page.EvalOnNewDocument(ctx, meeting.NavigationGuardScript()); err != nil {
		return nil, err
	}
	if err := recorder.Prepare(ctx, page); err != nil {
		return nil, err
	}
	return page, page.Navigate(ctx, address)
}

// watch looks at the page until it shows a screen and the elements have come
// to rest, or until time is up.
func watch(ctx context.Context, page *browser.Page, profile *meeting.Profile, wait time.Duration) (meeting.Inspection, error) {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	var last meeting.Inspection
	seen := false
	for {
		looking, cancel := context.WithTimeout(ctx, lookTime)
		now, err := meeting.Inspect(looking, page, profile)
		cancel()
		var interrupted *browser.InterruptedError
		switch {
		case errors.As(err, &interrupted):
			seen = false // the page went on to another document
		case err != nil:
			return meeting.Inspection{}, err
		case seen && now.Screen != meeting.Unknown && slices.Equal(now.Elements, last.Elements):
			return now, nil
		default:
			last, seen = now, true
		}
		select {
		case <-again.C:
		case <-deadline.C:
			if !seen {
				return meeting.Inspection{}, fmt.Errorf("the page could not be looked at within %v: %w", wait, err)
			}
			return last, nil
		case <-ctx.Done():
			return meeting.Inspection{}, ctx.Err()
		}
	}
}

// takePicture writes what the page shows to a file, if one is named.
func takePicture(ctx context.Context, page *browser.Page, file string) error {
	if file == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	picture, err := page.Screenshot(ctx)
	if err != nil {
		return fmt.Errorf("take a picture of the page: %w", err)
	}
	if err := os.WriteFile(file, picture, 0o600); err != nil {
		return fmt.Errorf("keep the picture of the page: %w", err)
	}
	return nil
}

// describe puts an inspection into the words of a report.
func describe(ctx context.Context, page *browser.Page, inspection meeting.Inspection) (Page, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	title, err := page.Title(ctx)
	if err != nil {
		return Page{}, err
	}
	address, err := page.URL(ctx)
	if err != nil {
		return Page{}, err
	}
	described := Page{
		Platform: inspection.Platform, Profile: inspection.Source, Version: inspection.Version, Date: inspection.Date,
		Title: title, Address: withoutSecrets(address), Screen: inspection.Screen, Evidence: inspection.Evidence,
		People: []string{}, Others: inspection.Others, Texts: []Text{},
	}
	for _, element := range inspection.Elements {
		described.Elements = append(described.Elements, Element{
			Name: element.Name, State: element.State, Candidate: element.Candidate + 1, Selector: element.Selector,
			Text: element.Text, Disabled: element.Disabled, Covered: element.Covered,
		})
	}
	for _, text := range inspection.Texts {
		if text.Found != "" {
			described.Texts = append(described.Texts, Text(text))
		}
	}
	for _, participant := range inspection.Participants {
		described.People = append(described.People, participant.Name)
	}
	return described, nil
}

// withoutSecrets takes off an address what may hold a passcode.
func withoutSecrets(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}).String()
}
