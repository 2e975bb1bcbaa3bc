package meeting

import (
	"context"
	"fmt"
	"time"
)

// joinAudioTimeout limits the search for the control, which may be in a hidden toolbar.
const joinAudioTimeout = 3 * time.Second

// RejoinAudio presses the page's control that joins its audio, if the profile has
// one and the page shows it. HandleNotices presses what the page asks next: computerAudio or
// allowDevices.
func (s *site) RejoinAudio(ctx context.Context, page Page) error {
	if len(s.profile.Elements[joinAudio]) == 0 {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, joinAudioTimeout)
	defer cancel()
	err := s.poll(waiting, page, func(snapshot Snapshot) (bool, error) {
		if !snapshot.clickable(joinAudio) {
			return false, s.showToolbars(waiting, page, snapshot)
		}
		return true, s.click(waiting, page, joinAudio)
	})
	if err == nil || ctx.Err() == nil && waiting.Err() != nil {
		return nil // the page may have no such control
	}
	return fmt.Errorf("join the page's audio: %w", err)
}
