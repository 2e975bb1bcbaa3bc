package meeting

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"standin/internal/job"
)

// platform is what is particular to one platform's meetings.
type platform struct {
	name     job.Platform
	elements []string // must stand in its profile, besides those of every platform
	// address turns an unwrapped address into what to open.
	address func(*url.URL) (Address, error)
	// asksByPage tells that the page has its own way to ask the host for
	// permission to record.
	asksByPage bool
}

// platforms are those that a site can be made for.
func platforms() []platform { return []platform{meet(), teams(), zoom()} }

// site is the Adapter of a platform's pages, as its profile describes them.
type site struct {
	platform platform
	profile  *Profile
	probe    probe

	mu      sync.Mutex
	ownName string // under which the bot joined, as the page took it
}

// newSite checks that the profile fits the platform.
func newSite(platform platform, profile *Profile) (*site, error) {
	if err := profile.require(append(commonElements(), platform.elements...), usableElements()); err != nil {
		return nil, err
	}
	probe, err := newProbe(profile)
	if err != nil {
		return nil, err
	}
	return &site{platform: platform, profile: profile, probe: probe}, nil
}

// Address is described at Adapter.
func (s *site) Address(meetingURL string) (Address, error) {
	address, err := unwrap(meetingURL)
	if err != nil {
		return Address{}, err
	}
	return s.platform.address(address)
}

// Join is described at Adapter.
func (s *site) Join(ctx context.Context, page Page, visitor JoinOptions) error {
	name := cut(plain(visitor.Name), s.profile.Limits.Name)
	if name == "" {
		name = job.DefaultDisplayName
	}
	progress := newJoining(name, plain(visitor.Passcode))
	var last Observation
	err := s.repeat(ctx, page, func(snapshot Snapshot) (bool, error) {
		last = s.observation(snapshot)
		s.noteName(snapshot)
		next := progress.next(snapshot, last.Screen, time.Now())
		switch next.kind {
		case stepStop:
			if next.evidence != "" {
				last.Screen, last.Evidence = NotFound, next.evidence
			}
			return false, &ScreenError{Observation: last}
		case stepDone:
			return true, nil
		case stepPress:
			return false, s.pressOnTheWayIn(ctx, page, next.element)
		case stepType:
			return false, page.TypeInto(ctx, s.probe.element(next.element), next.element, next.text)
		case stepEnter:
			return false, s.enter(ctx, page)
		default:
			return false, nil
		}
	})
	if err != nil && ctx.Err() != nil {
		return &ScreenError{Observation: last, Cause: ctx.Err()}
	}
	return err
}

// pressOnTheWayIn presses an element, and sees to it that a launcher does not
// start the platform's program.
func (s *site) pressOnTheWayIn(ctx context.Context, page Page, element string) error {
	if element == launchApp {
		if err := page.Eval(ctx, navigationGuardScript, nil); err != nil {
			return fmt.Errorf("keeping the launcher in the browser: %w", err)
		}
	}
	return s.press(ctx, page, element)
}

// noteName keeps the name that the page will show for the bot.
func (s *site) noteName(snapshot Snapshot) {
	if field, visible := snapshot.Elements[nameInput]; visible && field.Value != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ownName = field.Value
	}
}

// name is the one that the page shows for the bot; empty when it is not known.
func (s *site) name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ownName
}

// Observe is described at Adapter.
func (s *site) Observe(ctx context.Context, page Page) (Observation, error) {
	snapshot, err := s.probe.look(ctx, page)
	if err != nil {
		return Observation{}, err
	}
	return s.observation(snapshot), nil
}

// observation is what a snapshot means.
func (s *site) observation(snapshot Snapshot) Observation {
	observation := Observation{Others: -1, Dialog: snapshot.Elements[dialog].Text}
	observation.Screen, observation.Evidence = s.profile.Classify(snapshot)
	switch observation.Screen {
	case InMeeting, Reconnecting:
		observation.Participants, observation.Others = s.profile.people(snapshot, s.name())
		observation.TrackOwners = s.profile.played(snapshot, s.name())
		observation.Permission = s.profile.permission(snapshot)
		observation.Recorded = s.profile.recorded(snapshot)
		observation.Chat = s.profile.chat(snapshot, s.name())
	}
	if !observation.Screen.Terminal() {
		observation.Notices = untidy(snapshot, observation.Screen)
	}
	return observation
}

// untidy lists what should be pressed after joining was asked for.
func untidy(snapshot Snapshot, screen Screen) []string {
	wanted := dismissals()
	switch screen {
	case PreJoin:
		// Only for the button that came back: a page that begins anew, and
		// asks for the name, needs another Join.
		if seen, asked := snapshot.Elements[nameInput]; !asked || seen.Value != "" {
			wanted = append(wanted, joinButton)
		}
	case HostAbsent, Lobby:
		wanted = append(wanted, microphoneOn, cameraOn)
	case InMeeting:
		wanted = slices.DeleteFunc(wanted, func(element string) bool { return element == joinInDialog })
		wanted = append(wanted, computerAudio, microphoneOn, cameraOn)
	}
	var found []string
	for _, element := range wanted {
		if snapshot.clickable(element) {
			found = append(found, element)
		}
	}
	return found
}

// Tidy is described at Adapter.
func (s *site) Tidy(ctx context.Context, page Page, observation Observation) error {
	switch {
	case len(observation.Notices) > 0:
		element := observation.Notices[0]
		if err := s.press(ctx, page, element); err != nil && !passing(err) {
			return fmt.Errorf("pressing %s: %w", element, err)
		}
	case observation.Screen == Unknown:
		return s.wake(ctx, page, Snapshot{})
	}
	return nil
}
