package session

import (
	"cmp"
	"strings"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/notetaker"
	"standin/internal/bot/report"
	"standin/internal/jobs/job"
)

// leavePolicy decides when the bot leaves without a command. Each limit applies
// on its own, and only while what it looks at can be trusted.
type leavePolicy struct {
	limits     job.AutoLeave
	events     events
	notetakers *notetaker.List
	ownName    string

	firstAdmitted time.Time // first admission of the attempt; zero if never
	admitted      time.Time // admission of this session
	aloneSince    time.Time // zero if another participant is there
	isAlone       bool      // the last snapshot showed no other participant
	mediaAt       time.Time // when the page last received sound or video; zero if never
	deafUntil     time.Time // when silence was last no evidence; zero if never
	botsSince     time.Time // since when only bots are left; zero otherwise
	bots          []string  // their names
	reported      map[string]bool
	spoke         map[string]bool // who has spoken, by ID
}

func newLeavePolicy(limits job.AutoLeave, events events) *leavePolicy {
	return &leavePolicy{limits: limits, events: events, reported: make(map[string]bool), spoke: make(map[string]bool)}
}

// admit starts the limits of a session.
func (p *leavePolicy) admit(at time.Time) {
	if p.firstAdmitted.IsZero() {
		p.firstAdmitted = at
	}
	p.admitted, p.aloneSince, p.botsSince = at, time.Time{}, time.Time{}
}

// handleSnapshot updates who is in the meeting. A page that does not show
// participants, because it hides its toolbars or redraws, changes nothing.
func (p *leavePolicy) handleSnapshot(s snapshot) *exitResult {
	p.isAlone = s.seen.Screen == meeting.InMeeting && s.seen.Others == 0
	if s.inbound.ReceivesSound() || s.inbound.Frames > 0 {
		p.mediaAt = s.at
	}
	switch {
	case s.seen.Screen == meeting.InMeeting && s.seen.Others > 0:
		p.aloneSince = time.Time{}
	case p.isAlone && p.aloneSince.IsZero():
		p.aloneSince = s.at
	}
	found, bots := "", []string{}
	for _, participant := range s.seen.Participants {
		p.spoke[participant.ID] = p.spoke[participant.ID] || participant.Speaking
		name, ok := p.notetakers.Match(participant.Name)
		ours := participant.Name == p.ownName || participant.Name == job.DefaultDisplayName
		if ok || ours || p.limits.SilentAreNotetakers && !p.spoke[participant.ID] {
			bots = append(bots, participant.Name)
		}
		if !ok {
			continue
		}
		found = name
		if p.reported[participant.ID] {
			continue
		}
		p.reported[participant.ID] = true
		leaves := p.limits.OnBotDetected
		data := ingest.EventData{DetectedBotName: name, LeftMeeting: &leaves, Detail: "in the roster as " + participant.Name}
		if end := p.events.emitOrExit(job.BotCompetingDetected, data); end != nil {
			return end
		}
	}
	switch onlyBots := len(bots) > 0 && s.seen.Others <= len(bots) && len(bots) == len(s.seen.Participants); {
	case s.seen.Screen != meeting.InMeeting || s.seen.Others < 0: // it is not known who is there
	case !onlyBots:
		p.botsSince = time.Time{}
	case p.botsSince.IsZero():
		p.botsSince, p.bots = s.at, bots
	}
	if found != "" && p.limits.OnBotDetected {
		return left(report.ReasonCompeting, "The roster shows another notetaker: %s", found)
	}
	return nil
}

// check applies the limits of silence and solitude. Silence counts only while
// it is evidence, and a bot that receives sound or video is not alone, whatever
// the roster shows.
func (p *leavePolicy) check(now time.Time, audio audioStatus) *exitResult {
	if !audio.monitored || audio.faulty {
		p.deafUntil = now
	}
	aloneSince := job.Latest(p.aloneSince, p.mediaAt, audio.last)
	onlyBots := cmp.Or(p.limits.OnlyNotetakersSeconds, 60)
	quietSince := job.Latest(p.admitted, p.deafUntil, audio.last, audio.received)
	switch {
	case p.isAlone && now.Sub(aloneSince) >= seconds(p.limits.AfterSoloSeconds):
		return left(report.ReasonAlone, "For %d s, the roster showed nobody else and no sound or video arrived.", p.limits.AfterSoloSeconds)
	case !p.botsSince.IsZero() && now.Sub(p.botsSince) >= seconds(onlyBots):
		return left(report.ReasonAlone, "For %d s, only bots were left in the meeting: %s.", onlyBots, strings.Join(p.bots, ", "))
	case now.Sub(quietSince) >= seconds(p.limits.AfterSilenceSeconds):
		return left(report.ReasonSilence, "For %d s, the captured sound was silent and the page received no sound.", p.limits.AfterSilenceSeconds)
	}
	return nil
}

// checkMaximum applies the maximum duration, which counts from the first
// admission in every phase.
func (p *leavePolicy) checkMaximum(now time.Time) *exitResult {
	if p.firstAdmitted.IsZero() || now.Sub(p.firstAdmitted) < seconds(p.limits.AfterMaxSeconds) {
		return nil
	}
	return left(report.ReasonMaximum, "%d s have passed since the bot was first admitted.", p.limits.AfterMaxSeconds)
}
