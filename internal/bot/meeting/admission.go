package meeting

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// aloneTime is how long a page must look like a call without others before that
// counts as a call. A lobby that is loading may look like one for a moment.
const aloneTime = 3 * time.Second

// classifyCall distinguishes a call from a lobby. Lobbies show tiles and controls
// too, so before the bot is admitted a call needs proof that a lobby cannot show.
// A lobby's words anywhere on the page outweigh the proof.
func (p *Profile) classifyCall(snapshot Snapshot, past history) classification {
	evidence, looksLikeCall := matchAny(p.Screens[InMeeting], snapshot, past)
	if past.admitted && looksLikeCall {
		return classification{screen: InMeeting, evidence: evidence}
	}
	if snapshot.LobbyText != "" {
		if !looksLikeCall && !p.callIsGone(snapshot) {
			return classification{screen: Unknown}
		}
		return classification{screen: Lobby, evidence: fmt.Sprintf("text %q", snapshot.LobbyText)}
	}
	proof, ok := p.proofOfAdmission(snapshot, past)
	switch {
	case ok:
		return classification{screen: InMeeting, evidence: proof}
	case looksLikeCall:
		return classification{screen: Unknown, evidence: evidence + ", without proof of admission"}
	}
	return classification{screen: Unknown}
}

// proofOfAdmission returns evidence of a call that a lobby cannot show: the
// call's own controls, together with media from others, or with another
// participant, or with the page's statement that nobody else is there.
func (p *Profile) proofOfAdmission(snapshot Snapshot, past history) (evidence string, ok bool) {
	controls := p.callControls(snapshot)
	if len(controls) == 0 && !snapshot.present(leaveButton) {
		return "", false
	}
	participants, others := p.participants(snapshot, past.ownName)
	named := slices.ContainsFunc(participants, func(one Participant) bool { return one.Name != "" })
	switch {
	case snapshot.Media > 0:
		evidence = fmt.Sprintf("media of others on %d tracks", snapshot.Media)
	case others > 0 && (named || others > len(participants)) && len(controls) > 0:
		evidence = fmt.Sprintf("%d others in the roster", others)
	case p.looksAlone(snapshot, past.ownName) && past.aloneFor >= aloneTime:
		evidence = fmt.Sprintf("no others for %s", past.aloneFor.Round(time.Second))
	default:
		return "", false
	}
	if len(controls) == 0 {
		controls = []string{leaveButton}
	}
	return evidence + "; element " + strings.Join(controls, ", "), true
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

// callIsGone reports whether a snapshot shows none of a call's parts.
func (p *Profile) callIsGone(snapshot Snapshot) bool {
	return len(snapshot.Tiles) == 0 && len(p.callControls(snapshot)) == 0 && !snapshot.present(leaveButton)
}
