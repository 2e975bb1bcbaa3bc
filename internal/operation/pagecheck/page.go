// Package pagecheck compares meeting pages with the profiles of their platforms:
// a page that it opens (InspectPage), a captured one (ReplayCapture, Learn), or
// those of a meeting that it visits at intervals (Canary), so that an operator
// learns of a changed page before the users do.
package pagecheck

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"standin/internal/base/text"
	"standin/internal/bot/browser"
	"standin/internal/bot/browser/network"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/jobs/job"
)

const (
	// openTimeout limits the start of the browser and the loading of the page.
	openTimeout = 60 * time.Second
	// pollInterval is the same as a bot's.
	pollInterval = 250 * time.Millisecond
	readTimeout  = 5 * time.Second
	maxLine      = 2000 // characters
)

// PageSettings are the settings of InspectPage.
type PageSettings struct {
	Platform     job.Platform
	URL          string // as in a job; it may contain a passcode
	AllowedHosts []string
	Profiles     string       // folder; empty: the embedded profiles
	Browser      string       // empty: found on PATH
	BrowserMode  browser.Mode // empty: the platform's default
	NoSandbox    bool
	Wait         time.Duration
	Screenshot   string // file for a screenshot; empty: none
	// LoopbackPeers lets the page's media connect over loopback, for replicas.
	LoopbackPeers bool
}

// Page is what a page shows of a profile.
type Page struct {
	Platform job.Platform `json:"platform"`
	Profile  string       `json:"profile"` // its file
	Version  int          `json:"version"`
	Date     string       `json:"date"`

	Title    string         `json:"title"`
	Address  string         `json:"address"` // without query and fragment, which may be secret
	Screen   meeting.Screen `json:"screen"`
	Evidence string         `json:"evidence"`

	Elements []meeting.InspectedElement `json:"elements"`
	Texts    []meeting.InspectedText    `json:"texts"` // that the page shows
	People   []string                   `json:"people"`
	Others   int                        `json:"others"` // -1: the page does not show it
}

// InspectPage opens the page like a bot, waits until a screen is recognized, and
// reports which elements of the profile it found. An unrecognized page is no
// error.
func InspectPage(ctx context.Context, settings PageSettings) (page Page, err error) {
	profiles, err := meeting.Load(settings.Profiles)
	if err != nil {
		return page, err
	}
	adapter, err := meeting.New(settings.Platform, profiles)
	if err != nil {
		return page, err
	}
	address, err := adapter.Address(settings.URL)
	if err != nil {
		return page, err
	}
	if err := network.CheckHost(address.URL, settings.AllowedHosts); err != nil {
		_, host, _ := strings.Cut(network.Origin(address.URL), "://")
		return page, fmt.Errorf("%w; --allow-host %s opens it anyway", err, host)
	}
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	proxy, err := network.StartProxy(opening, network.ProxySettings{Allowed: network.AllowedTargets(settings.AllowedHosts)})
	if err != nil {
		return page, err
	}
	defer func() { err = errors.Join(err, proxy.Close()) }()
	mode, _ := meeting.BrowserMode(settings.BrowserMode, settings.Platform)
	running, err := browser.Launch(opening, browser.Options{
		Executable: settings.Browser, Mode: mode, LoopbackPeers: settings.LoopbackPeers, NoSandbox: settings.NoSandbox, Proxy: proxy.Address(),
	})
	if err != nil {
		return page, err
	}
	defer func() { err = errors.Join(err, running.Close()) }()
	opened, err := open(opening, running, address.URL)
	if err != nil {
		return page, err
	}
	profile := profiles[settings.Platform]
	inspection, err := watch(ctx, opened, profile, settings.Wait)
	if err != nil {
		return page, err
	}
	if settings.Screenshot != "" {
		taking, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		screenshot, err := opened.Screenshot(taking)
		if err != nil {
			return page, fmt.Errorf("take a screenshot: %w", err)
		}
		if err := os.WriteFile(settings.Screenshot, screenshot, 0o600); err != nil {
			return page, err
		}
	}
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	title, err := opened.Title(reading)
	if err != nil {
		return page, err
	}
	shown, err := opened.URL(reading)
	if err != nil {
		return page, err
	}
	public := new(url.URL) // without user, query and fragment, which may hold a passcode
	if parsed, err := url.Parse(shown); err == nil {
		public = &url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}
	}
	page = Page{
		Platform: profile.Platform, Profile: profile.Source(), Version: profile.Version, Date: profile.Date,
		Title: title, Address: public.String(), Screen: inspection.Screen, Evidence: inspection.Evidence,
		People: []string{}, Others: inspection.Others, Elements: inspection.Elements,
		Texts: slices.DeleteFunc(append([]meeting.InspectedText{}, inspection.Texts...),
			func(text meeting.InspectedText) bool { return text.Found == "" }),
	}
	for _, participant := range inspection.Participants {
		page.People = append(page.People, participant.Name)
	}
	return page, nil
}

// open opens the address in a page with the setup of a bot's page.
func open(ctx context.Context, running *browser.Browser, address string) (*browser.Page, error) {
	if err := running.GrantMicrophoneAndCamera(ctx, network.Origin(address)); err != nil {
		return nil, err
	}
	page, err := running.NewPage(ctx)
	if err != nil {
		return nil, err
	}
	if err := recorder.Prepare(ctx, page, recorder.Settings{}); err != nil {
		return nil, err
	}
	return page, page.Navigate(ctx, address)
}

// watch inspects the page until a screen is recognized and the elements no longer
// change, or until the time is up.
func watch(ctx context.Context, page *browser.Page, profile *meeting.Profile, wait time.Duration) (last meeting.Inspection, err error) {
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	inspected := false
	for {
		inspectCtx, cancel := context.WithTimeout(ctx, readTimeout)
		now, err := meeting.Inspect(inspectCtx, page, profile)
		cancel()
		switch {
		case errors.As(err, new(*browser.InterruptedError)):
			inspected = false // the page navigated
		case err != nil:
			return last, err
		case inspected && now.Screen != meeting.Unknown && slices.Equal(now.Elements, last.Elements):
			return now, nil
		default:
			last, inspected = now, true
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			if !inspected {
				return last, fmt.Errorf("the page could not be read within %v: %w", wait, err)
			}
			return last, nil
		case <-ctx.Done():
			return last, ctx.Err()
		}
	}
}

// Recognized reports whether the page shows a screen of the profile.
func (p Page) Recognized() bool { return p.Screen != meeting.Unknown }

// WriteJSON writes the page as JSON; ok says that a screen was recognized.
func (p Page) WriteJSON(w io.Writer) error {
	return writeJSON(w, struct {
		OK   bool `json:"ok"`
		Page Page `json:"page"`
	}{p.Recognized(), p})
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// WriteText writes the page for people.
func (p Page) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "profile\t%s version %d of %s (%s)\n", p.Platform, p.Version, p.Date, p.Profile)
	fmt.Fprintf(table, "page\t%s, %s\n", quoted(p.Title), oneLine(p.Address))
	screen := "not recognized: it shows none of the profile's screens"
	if p.Recognized() {
		screen = fmt.Sprintf("%s, by %s", p.Screen, oneLine(p.Evidence))
	}
	fmt.Fprintf(table, "screen\t%s\n", screen)
	fmt.Fprintf(table, "people\t%s\n", p.people())
	for _, text := range p.Texts {
		fmt.Fprintf(table, "text\t%s: %s\n", text.Path, quoted(text.Found))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeElements(w, p.Elements)
}

// writeElements writes the results for the elements of a profile.
func writeElements(w io.Writer, elements []meeting.InspectedElement) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, element := range elements {
		details := fmt.Sprintf("candidate %d, %s", element.Candidate, oneLine(element.Selector))
		if element.Text != "" {
			details += ": " + quoted(element.Text)
		}
		if element.Disabled {
			details += ", disabled"
		}
		if element.Covered {
			details += ", something lies over it"
		}
		if element.State == meeting.ElementMissing {
			details = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", element.State, element.Name, details)
	}
	return table.Flush()
}

// people returns the number and names of the participants.
func (p Page) people() string {
	if p.Others < 0 {
		return "the page does not show it"
	}
	names := make([]string, 0, len(p.People))
	for _, name := range p.People {
		names = append(names, quoted(cmp.Or(name, "?")))
	}
	return strings.TrimSuffix(fmt.Sprintf("%d beside the bot: %s", p.Others, strings.Join(names, ", ")), ": ")
}

// quoted quotes a text of the page, so that a terminal does not interpret it.
func quoted(text string) string { return strconv.Quote(text) }

// oneLine returns a text of the page on one line, without control characters and
// bidirectional controls.
func oneLine(s string) string { return text.CleanLine(s, maxLine) }
