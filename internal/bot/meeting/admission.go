package meeting

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// aloneTime is how long a page must look like a call without others before
	// that counts as a call. A lobby that is loading may look like one for a moment.
	aloneTime = 3 * time.Second
	// waitTime is how long a page without words that are known must look like a
	// lobby before it counts as one.
	waitTime = 5 * time.Second
	// unprovenTime is the same for a page that looks like a call, without proof.
	unprovenTime = 8 * time.Second
)

// classifyCall distinguishes a call from a lobby. Lobbies show tiles and controls
// too, so before the bot is admitted a call needs proof that a lobby cannot show.
// A lobby's words anywhere on the page outweigh the proof.
func (p *Profile) classifyCall(snapshot Snapshot, past History) classification {
	evidence, looksLikeCall := matchAny(p.Screens[InMeeting], snapshot, past)
	_, others := p.participants(snapshot, past.OwnName)
	// A bot that was admitted is in the lobby again if the page says so, can be left, and shows
	// nothing else of a call but the bot's own tile.
	putBack := snapshot.LobbyText != "" && others <= 0 && snapshot.present(leaveButton) && !p.isConnected(snapshot)
	if past.Admitted && looksLikeCall && !putBack {
		return classified(InMeeting, evidence, weakEvidence(EvidenceHistory, "the bot was admitted"))
	}
	if snapshot.LobbyText != "" {
		if !looksLikeCall && !p.callIsGone(snapshot) {
			return classified(Unknown)
		}
		return classified(Lobby, lobbyEvidence(snapshot))
	}
	proof, ok := p.proofOfAdmission(snapshot, past)
	switch {
	case ok:
		return classified(InMeeting, proof...)
	case !past.Admitted && past.RequestedFor >= unprovenTime && snapshot.clickable(leaveButton) && len(p.callControls(snapshot)) > 0:
		return classified(Lobby, requestedForEvidence(past), weakEvidence(EvidenceMedia, "controls of a call, and no proof of admission"))
	case looksLikeCall && len(p.callControls(snapshot)) > 0:
		return classified(Unknown, evidence, Evidence{Kind: EvidenceMedia, What: "no proof of admission", Weight: -minWeight})
	}
	return classified(Unknown)
}

// proofOfAdmission returns evidence of a call that a lobby cannot show: the
// call's own controls, together with media from others, or with another
// participant, or with the page's statement that nobody else is there. Under a dialog, only
// media is proof.
func (p *Profile) proofOfAdmission(snapshot Snapshot, past History) (proof []Evidence, ok bool) {
	controls := p.callControls(snapshot)
	if len(controls) == 0 && !snapshot.present(leaveButton) {
		return nil, false
	}
	participants, others := p.participants(snapshot, past.OwnName)
	named := slices.ContainsFunc(participants, func(p Participant) bool { return p.Name != "" })
	switch {
	case snapshot.Media > 0:
		proof = append(proof, mediaEvidence(snapshot, weakWeight))
	case snapshot.Over != nil && snapshot.Over.Marked: // it may keep the media back
		return nil, false
	case others > 0 && (named || others > len(participants)) && len(controls) > 0:
		proof = append(proof, weakEvidence(EvidenceRoster, fmt.Sprintf("%d others in the roster", others)))
	case p.looksAlone(snapshot, past.OwnName) && past.AloneFor >= aloneTime:
		proof = append(proof, durationEvidence("no others for %s", past.AloneFor))
	default:
		return nil, false
	}
	if len(controls) == 0 {
		controls = []string{leaveButton}
	}
	return append(proof, Evidence{
		Kind: EvidenceElement, What: "element " + strings.Join(controls, ", "), Where: "admission.controls", Weight: weakWeight,
	}), true
}

// looksAlone reports whether a snapshot looks like a call without others: the
// page counts only the bot or says that nobody else is there, and shows at least
// two controls that a lobby lacks.
func (p *Profile) looksAlone(snapshot Snapshot, ownName string) bool {
	if snapshot.LobbyText != "" || len(p.callControls(snapshot)) < 2 {
		return false
	}
	_, others := p.participants(snapshot, ownName)
	return others == 0
}

// callControls returns the controls that a call has and a lobby lacks, visible
// or hidden with the toolbar.
func (p *Profile) callControls(snapshot Snapshot) []string {
	return slices.DeleteFunc(slices.Clone(p.Admission.Controls), func(name string) bool { return !snapshot.present(name) })
}

// isConnected reports whether a snapshot shows media of others or controls that a lobby
// lacks.
func (p *Profile) isConnected(snapshot Snapshot) bool {
	return snapshot.Media > 0 || len(p.callControls(snapshot)) > 0
}

// callIsGone reports whether a snapshot shows none of a call's parts.
func (p *Profile) callIsGone(snapshot Snapshot) bool {
	return len(snapshot.Tiles) == 0 && len(p.callControls(snapshot)) == 0 && !snapshot.present(leaveButton)
}

// classifyWait recognizes a lobby without known words: joining was requested, the
// page can be left and no longer asks to join, and nothing else of a call is there.
func (p *Profile) classifyWait(snapshot Snapshot, past History) classification {
	if past.Admitted || past.RequestedFor < waitTime || !snapshot.clickable(leaveButton) ||
		p.isConnected(snapshot) || snapshot.Visible(nameInput) || snapshot.Visible(joinButton) {
		return classified(Unknown)
	}
	return classified(Lobby, requestedForEvidence(past),
		Evidence{Kind: EvidenceElement, What: "the page offers only to leave", Where: "elements." + leaveButton, Weight: weakWeight})
}
