package meeting

import (
	"context"
	"fmt"
	"slices"
	"time"

	"standin/internal/base/meetinglink"
)

// site implements Adapter for a platform's pages, as its profile describes them.
type site struct {
	driver
	platform platform
	profile  *Profile
	visit    visitState
	picture  picture
	shown    TextOptions // the texts that the bot keeps open
	kept     keptDevices

	languageTimeout time.Duration
}

// newSite checks that the profile fits the platform.
func newSite(platform platform, profile *Profile) (*site, error) {
	if err := profile.checkForPlatform(platform); err != nil {
		return nil, err
	}
	probe, err := newProbe(profile)
	if err != nil {
		return nil, err
	}
	return &site{driver: driver{probe}, platform: platform, profile: profile, languageTimeout: languageTimeout}, nil
}

// Address implements Adapter.
func (s *site) Address(meetingURL string) (Address, error) {
	link, err := meetinglink.Resolve(meetingURL)
	if err != nil {
		return Address{}, &AddressError{Reason: err.Error()}
	}
	return s.platform.resolve(link.URL)
}

// Observe implements Adapter.
func (s *site) Observe(ctx context.Context, page Page) (Observation, error) {
	session := s.probe.snapshot
	s.visit.mu.Lock()
	inMeeting := s.visit.last == InMeeting && s.visit.connected
	s.visit.mu.Unlock()
	if inMeeting {
		session = s.probe.snapshotInMeeting
	}
	snapshot, err := session(ctx, page)
	if err != nil {
		return Observation{}, err
	}
	return s.observe(snapshot, time.Now()), nil
}

// HandleNotices implements Adapter.
func (s *site) HandleNotices(ctx context.Context, page Page, observation Observation) error {
	switch {
	case observation.Reload:
		return reload(ctx, page)
	case observation.CloseDialog != nil:
		if err := s.closeDialog(ctx, page, *observation.CloseDialog); err != nil && !Transient(err) {
			return fmt.Errorf("close a dialog: %w", err)
		}
	case len(observation.Notices) > 0:
		element := observation.Notices[0]
		s.kept.press(element)
		if err := s.press(ctx, page, element); err != nil && !Transient(err) {
			return fmt.Errorf("press %s: %w", element, err)
		}
	case observation.Screen == Unknown:
		return s.showToolbars(ctx, page, Snapshot{})
	}
	return nil
}

// observe interprets a snapshot in view of the visit's earlier snapshots.
func (s *site) observe(snapshot Snapshot, now time.Time) Observation {
	observation := s.visit.observe(s.profile, snapshot, now)
	ownName := observation.Captured.Known.OwnName
	switch observation.Screen {
	case InMeeting, Reconnecting:
		snapshot := s.visit.withPeople(snapshot, now)
		observation.Rows = snapshot.Rows
		observation.Participants, observation.Others = s.profile.participants(snapshot, ownName)
		observation.Counted = slices.ContainsFunc(append(slices.Clone(snapshot.Counts), snapshot.Elements[peopleButton].Text),
			countPattern.MatchString)
		observation.TrackOwners = s.profile.trackOwners(snapshot, ownName)
		sources, marked, silent := decideSpeech(snapshot, observation.Participants, observation.Others, observation.TrackOwners)
		if observation.SpeechSources = sources; silent {
			observation.Marked = marked
		}
		observation.Permission = s.profile.permission(snapshot)
		s.profile.texts(&observation, snapshot, ownName)
		observation.Microphone, observation.Camera, observation.ScreenShare = Microphone.state(snapshot), Camera.state(snapshot),
			ScreenShare.state(snapshot)
		speaking := make(map[string]bool)
		for _, participant := range observation.Participants {
			speaking[cleanID(participant.ID)] = participant.Speaking
		}
		own, _ := s.profile.ownTiles(snapshot.Tiles, ownName)
		for i, tile := range snapshot.Tiles {
			id := cleanID(tile.identity())
			observation.tiles = append(observation.tiles, tileRole{Own: own[i], Speaking: speaking[id], id: id})
		}
		observation.tileList = snapshot.TileList
	}
	if !observation.Screen.Terminal() && observation.Pending == "" {
		observation.Notices = s.kept.without(pendingActions(snapshot, observation.Screen))
	}
	observation.Clean()
	return observation
}
