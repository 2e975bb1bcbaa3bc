package meeting

import (
	"context"
	"fmt"
	"sync"
)

// site implements Adapter for a platform's pages, as its profile describes them.
type site struct {
	driver
	platform platform
	profile  *Profile

	mu      sync.Mutex
	ownName string // under which the bot joined, as the page accepted it
}

// newSite checks that the profile fits the platform.
func newSite(platform platform, profile *Profile) (*site, error) {
	if err := profile.checkForPlatform(append(requiredElements(), platform.elements...), usableElements()); err != nil {
		return nil, err
	}
	probe, err := newProbe(profile)
	if err != nil {
		return nil, err
	}
	return &site{driver: driver{probe}, platform: platform, profile: profile}, nil
}

// Address implements Adapter.
func (s *site) Address(meetingURL string) (Address, error) {
	address, err := unwrapURL(meetingURL)
	if err != nil {
		return Address{}, err
	}
	return s.platform.resolve(address)
}

// Observe implements Adapter.
func (s *site) Observe(ctx context.Context, page Page) (Observation, error) {
	snapshot, err := s.probe.snapshot(ctx, page)
	if err != nil {
		return Observation{}, err
	}
	return s.observation(snapshot), nil
}

// Tidy implements Adapter.
func (s *site) Tidy(ctx context.Context, page Page, observation Observation) error {
	switch {
	case len(observation.Notices) > 0:
		element := observation.Notices[0]
		if err := s.press(ctx, page, element); err != nil && !Transient(err) {
			return fmt.Errorf("press %s: %w", element, err)
		}
	case observation.Screen == Unknown:
		return s.showToolbars(ctx, page, Snapshot{})
	}
	return nil
}

// observation interprets a snapshot.
func (s *site) observation(snapshot Snapshot) Observation {
	observation := Observation{Others: -1, Dialog: snapshot.Elements[dialog].Text}
	observation.Screen, observation.Evidence = s.profile.Classify(snapshot)
	switch observation.Screen {
	case InMeeting, Reconnecting:
		ownName := s.name()
		observation.Participants, observation.Others = s.profile.participants(snapshot, ownName)
		observation.TrackOwners = s.profile.trackOwners(snapshot, ownName)
		observation.Permission = s.profile.permission(snapshot)
		observation.Recorded = s.profile.recorded(snapshot)
		observation.Chat = s.profile.chatMessages(snapshot, ownName)
	}
	if !observation.Screen.Terminal() {
		observation.Notices = pendingActions(snapshot, observation.Screen)
	}
	return observation
}

// rememberName stores the name that the page will show for the bot.
func (s *site) rememberName(snapshot Snapshot) {
	if field, visible := snapshot.Elements[nameInput]; visible && field.Value != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ownName = field.Value
	}
}

// name returns the name that the page shows for the bot, or "".
func (s *site) name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ownName
}
