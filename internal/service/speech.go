package service

import (
	"fmt"
	"path/filepath"

	"standin/internal/dialguard"
	"standin/internal/speech"
)

// newOutputMaker returns the maker of what bots play and show. It fetches files from
// where webhooks may be sent.
func (s *Service) newOutputMaker() (*speech.Maker, error) {
	files, err := s.webhookAllow()
	if err != nil {
		return nil, err
	}
	server, err := dialguard.ParseNetworks(s.settings.Speech.AllowCIDRs)
	if err != nil {
		return nil, fmt.Errorf("STANDIN_SPEECH_ALLOW_CIDRS: %w", err)
	}
	maker, err := speech.NewMaker(speech.Settings{
		Config: s.settings.Speech, AllowSpeech: server, AllowFiles: files, OwnHosts: s.ownHosts(), Dir: filepath.Join(s.settings.DataDir, "sounds"),
	})
	if err != nil {
		return nil, fmt.Errorf("configure speech: %w", err)
	}
	return maker, nil
}
