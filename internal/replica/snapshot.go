package replica

import (
	"slices"
	"time"
)

// snapshot is all that a page needs to draw itself: it is sent whole at every
// change, so a page never depends on having seen what came before.
type snapshot struct {
	Guest        string           `json:"guest"`
	Name         string           `json:"name"`
	State        State            `json:"state"`
	Text         string           `json:"text"` // of the screen; empty: the page's own
	Meeting      pageSettings     `json:"meeting"`
	Participants []pageIdentity   `json:"participants"` // others than this guest; only while admitted
	Messages     []pageMessage    `json:"messages"`
	Notices      []Notice         `json:"notices"`
	Media        *pageMediaStatus `json:"media"` // null when the meeting has no media
}

// pageSettings are the settings that the page acts on.
type pageSettings struct {
	Code         string `json:"code"`
	Lobby        bool   `json:"lobby"`
	JoinLabel    string `json:"joinLabel"`
	Language     string `json:"language"`
	DeviceDialog bool   `json:"deviceDialog"`
	Tips         bool   `json:"tips"`
	LeaveAtOnce  bool   `json:"leaveAtOnce"`
}

// pageIdentity is somebody on the roster. A guest who is in the meeting too has
// no media, and Speech is empty.
type pageIdentity struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Media     bool       `json:"media"`
	Muted     bool       `json:"muted"`
	CameraOff bool       `json:"cameraOff"`
	Speech    [][2]int64 `json:"speech"` // from and to, in ms of the loop
}

type pageMessage struct {
	Number int    `json:"number"`
	From   string `json:"from"`
	Text   string `json:"text"`
	Mine   bool   `json:"mine"`
}

// pageMediaStatus tells the page where the participants' loops stand, so that
// it can show who speaks, and which connection the server still has.
type pageMediaStatus struct {
	PositionMS int64 `json:"positionMs"`
	LoopMS     int64 `json:"loopMs"`
	Connection int   `json:"connection"` // 0: none
}

// snapshotFor describes the meeting to one page, and gives a channel that is
// closed when the description is out of date.
func (m *Meeting) snapshotFor(id string) (snapshot, <-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, err := m.guest(id)
	if err != nil {
		return snapshot{}, nil, err
	}
	s := snapshot{
		Guest: g.ID, Name: g.Name, State: g.State, Text: m.settings.Texts[g.State],
		Meeting: pageSettings{
			Code: m.settings.Code, Lobby: !m.settings.NoLobby, JoinLabel: m.settings.JoinLabel,
			Language: m.settings.Language, DeviceDialog: m.settings.DeviceDialog,
			Tips: !m.settings.NoTips, LeaveAtOnce: m.settings.LeaveAtOnce,
		},
		Participants: []pageIdentity{}, Messages: []pageMessage{}, Notices: []Notice{},
	}
	if g.State != StateAdmitted {
		return s, m.changed, nil
	}
	s.Participants = m.roster(g)
	s.Notices = append(s.Notices, g.notices...)
	for _, message := range m.messages {
		s.Messages = append(s.Messages, pageMessage{message.Number, message.From, message.Text, message.Guest == g.ID})
	}
	if m.media != nil {
		s.Media = &pageMediaStatus{PositionMS: m.clock.now().Milliseconds(), LoopMS: loopLength.Milliseconds()}
		if g.peer != nil {
			s.Media.Connection = g.peer.number
		}
	}
	return s, m.changed, nil
}

// roster lists whom a guest meets: the participants, and the other guests.
func (m *Meeting) roster(self *guest) []pageIdentity {
	roster := []pageIdentity{}
	for _, p := range m.participants {
		one := pageIdentity{
			ID: p.publisher.id, Name: p.Name, Media: m.media != nil, Muted: p.Muted, CameraOff: p.CameraOff,
			Speech: [][2]int64{},
		}
		if source := p.publisher.source; source != nil {
			for _, phrase := range source.phrases {
				one.Speech = append(one.Speech, [2]int64{phrase.Start.Milliseconds(), phrase.End.Milliseconds()})
			}
		}
		roster = append(roster, one)
	}
	for _, g := range m.guests {
		if g != self && g.State == StateAdmitted && !g.Vanished {
			roster = append(roster, pageIdentity{
				ID: g.ID, Name: g.Name, Muted: !g.Microphone, CameraOff: true, Speech: [][2]int64{},
			})
		}
	}
	return roster
}

// Report is the meeting as the control surface shows it.
type Report struct {
	Code         string        `json:"code"`
	URL          string        `json:"url"`
	Ended        bool          `json:"ended"`
	HostAbsent   bool          `json:"hostAbsent"`
	PositionMS   int64         `json:"positionMs"` // of the meeting's clock; sources beep at whole seconds
	Participants []Participant `json:"participants"`
	Guests       []Guest       `json:"guests"`
	Messages     []Message     `json:"messages"`
}

// Report returns the whole state of the meeting.
func (m *Meeting) Report() Report {
	guests := m.Guests()
	m.mu.Lock()
	defer m.mu.Unlock()
	report := Report{
		Code: m.settings.Code, URL: m.url, Ended: m.ended, HostAbsent: m.hostAbsent,
		PositionMS:   int64(m.clock.now() / time.Millisecond),
		Participants: []Participant{}, Guests: guests, Messages: append([]Message{}, slices.Clone(m.messages)...),
	}
	for _, p := range m.participants {
		report.Participants = append(report.Participants, p.Participant)
	}
	return report
}
