package replica

import "slices"

// snapshot is the complete state that a page renders. It is sent at every change.
type snapshot struct {
	Guest        string           `json:"guest"`
	Name         string           `json:"name"`
	State        State            `json:"state"`
	Text         string           `json:"text"` // of the screen; empty for the default
	Meeting      pageSettings     `json:"meeting"`
	Participants []pageIdentity   `json:"participants"` // without this guest; only while admitted
	Messages     []pageMessage    `json:"messages"`
	Captions     []Caption        `json:"captions"`
	Notices      []Notice         `json:"notices"`
	Offline      bool             `json:"offline"`
	Passcode     passcodeNeed     `json:"passcode"`
	Permission   Permission       `json:"permission"`
	Commands     commands         `json:"commands"`
	Waiting      []pageIdentity   `json:"waiting"` // in the lobby, for a host
	Media        *pageMediaStatus `json:"media"`   // null if the meeting has no media or the page is offline
}

// pageSettings are the settings for the page.
type pageSettings struct {
	Platform          Platform `json:"platform"`
	Code              string   `json:"code"`
	Lobby             bool     `json:"lobby"`
	JoinLabel         string   `json:"joinLabel"`
	Language          string   `json:"language"`
	CookieBanner      bool     `json:"cookieBanner"`
	DeviceDialog      bool     `json:"deviceDialog"`
	DevicesBeforeJoin bool     `json:"devicesBeforeJoin"`
	DevicesAfterJoin  bool     `json:"devicesAfterJoin"`
	Audio             Audio    `json:"audio"`
	Video             Video    `json:"video"`
	Tips              bool     `json:"tips"`
	LeaveAtOnce       bool     `json:"leaveAtOnce"`
	StopsMicrophone   bool     `json:"stopsMicrophone"` // while it is off
	PageDelayMS       int64    `json:"pageDelayMs"`
	MaxNameLen        int      `json:"maxNameLen"`
	MaxMessageLen     int      `json:"maxMessageLen"`
	Trap              []string `json:"trap"` // URLs for a hostile page
	SFU               bool     `json:"sfu"`

	Renamed map[string]string `json:"renamed"`
}

// pageSettings returns the settings for a page in a language.
func (m *Meeting) pageSettings(language string) pageSettings {
	return pageSettings{
		Platform: m.settings.Platform, Code: m.settings.Code, Lobby: !m.settings.NoLobby,
		JoinLabel: m.settings.JoinLabel, Language: language, CookieBanner: m.settings.CookieBanner,
		DeviceDialog: m.settings.DeviceDialog, DevicesBeforeJoin: m.settings.DevicesBeforeJoin,
		DevicesAfterJoin: m.settings.DevicesAfterJoin, Audio: m.settings.Audio, Video: m.settings.Video,
		Tips: !m.settings.NoTips, LeaveAtOnce: m.settings.LeaveAtOnce,
		StopsMicrophone: m.media != nil && m.media.small,
		PageDelayMS:     m.settings.PageDelay.Milliseconds(),
		MaxNameLen:      m.platform.maxNameLen, MaxMessageLen: m.platform.maxMessageLen,
		Trap: append([]string{}, m.trap...), SFU: m.settings.SFU != nil, Renamed: m.settings.Renamed,
	}
}

// pageIdentity is an entry of the roster. Other guests have no media and no speech.
type pageIdentity struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Media     bool   `json:"media"`
	Muted     bool   `json:"muted"`
	CameraOff bool   `json:"cameraOff"`

	Presenting bool `json:"presenting"`
	Slide      int  `json:"slide"`
	Speaking   bool `json:"speaking"` // beside what Speech says

	Speech [][2]int64 `json:"speech"` // start and end in ms of the loop
}

type pageMessage struct {
	Number int    `json:"number"`
	From   string `json:"from"`
	Text   string `json:"text"`
	Mine   bool   `json:"mine"`
}

// pageMediaStatus is the position of the loops, from which the page derives who
// speaks, and the current connection.
type pageMediaStatus struct {
	PositionMS int64 `json:"positionMs"`
	LoopMS     int64 `json:"loopMs"`
	Connection int   `json:"connection"` // 0: none
}

// snapshotFor returns the snapshot for a page and a channel that is closed at the
// next change.
func (m *Meeting) snapshotFor(id string) (snapshot, <-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, err := m.guest(id)
	if err != nil {
		return snapshot{}, nil, err
	}
	s := snapshot{
		Guest: g.ID, Name: g.Name, State: g.State, Text: m.settings.Texts[g.State],
		Meeting: m.pageSettings(g.language),
		Offline: g.Offline, Passcode: g.passcode, Permission: g.Permission, Commands: g.commands,
		Participants: []pageIdentity{}, Messages: []pageMessage{}, Captions: []Caption{}, Notices: []Notice{},
	}
	if g.State != StateAdmitted {
		return s, m.changed, nil
	}
	s.Participants, s.Waiting = m.roster(g), m.waiting(g)
	s.Notices = append(s.Notices, g.notices...)
	for _, message := range m.messages {
		s.Messages = append(s.Messages, pageMessage{message.Number, message.From, message.Text, message.Guest == g.ID})
	}
	s.Captions = append(s.Captions, m.captions[max(g.captions, len(m.captions)-shownCaptions):]...)
	if m.hasMedia() && !g.Offline && !m.settings.NoMedia && !slices.Contains(g.notices, NoticeShared) {
		s.Media = &pageMediaStatus{PositionMS: m.clock.now().Milliseconds(), LoopMS: loopLength.Milliseconds()}
		if g.peer != nil {
			s.Media.Connection = g.peer.number
		}
	}
	return s, m.changed, nil
}

// roster returns the participants and the other guests.
func (m *Meeting) roster(self *guest) []pageIdentity {
	roster := []pageIdentity{}
	for _, p := range m.participants {
		identity := pageIdentity{
			ID: p.publisher.id, Name: p.Name, Media: m.hasMedia(), Muted: p.Muted, CameraOff: p.CameraOff, Presenting: p.Presenting,
			Slide: p.Slide, Speech: [][2]int64{}, Speaking: p.publisher.source != nil && p.publisher.speaks(m.clock.now()+2*packetLength),
		}
		if source := p.publisher.source; source != nil && !m.silent {
			for _, phrase := range source.phrases {
				identity.Speech = append(identity.Speech, [2]int64{phrase.Start.Milliseconds(), phrase.End.Milliseconds()})
			}
		}
		roster = append(roster, identity)
	}
	for _, g := range m.guests {
		if g != self && g.State == StateAdmitted && !g.Vanished {
			roster = append(roster, pageIdentity{
				ID: g.ID, Name: g.Name, Muted: !g.Microphone, CameraOff: !g.Camera || !m.settings.Relay, Speech: [][2]int64{},
				Media: m.settings.Relay, Speaking: g.speaking,
			})
		}
	}
	return roster
}
