package meeting

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// people tells who else is in the meeting a snapshot shows, and how many they
// are (-1: it does not tell). The bot's name is empty where it is not known.
func (p *Profile) people(snapshot Snapshot, ownName string) (participants []Participant, others int) {
	own := p.ownTiles(snapshot.Tiles, ownName)
	ownIDs := make(map[string]bool)
	for i, tile := range snapshot.Tiles {
		if own[i] {
			ownIDs[tile.ID] = true
		}
	}
	places := make(map[string]int) // id → place in participants
	add := func(person RosterEntry) {
		participant := Participant{ID: p.identity(person), Name: p.name(person), Speaking: person.Speaking}
		if participant.ID == "" {
			return // nothing to know it by
		}
		place, known := places[participant.ID]
		if !known {
			places[participant.ID] = len(participants)
			participants = append(participants, participant)
			return
		}
		if participants[place].Name == "" {
			participants[place].Name = participant.Name
		}
		participants[place].Speaking = participants[place].Speaking || participant.Speaking
	}
	for i, tile := range snapshot.Tiles {
		if !own[i] && (tile.ID == "" || !ownIDs[tile.ID]) {
			add(tile)
		}
	}
	for _, row := range snapshot.Rows {
		if !p.ownRow(row, ownIDs, ownName) && !shown(participants, row, p.name(row)) {
			add(row)
		}
	}
	others = p.others(snapshot, len(ownIDs), len(participants))
	if len(participants) == 0 && slices.ContainsFunc(p.Alone, func(rule Rule) bool { _, shown := rule.shown(snapshot); return shown }) {
		others = 0
	}
	return participants, others
}

// played tells which tracks are played by one participant's tile alone. A tile of
// the bot's own, one without anything to know it by, and one whose name another
// bears too, makes what it plays nobody's.
func (p *Profile) played(snapshot Snapshot, ownName string) []TrackOwner {
	own := p.ownTiles(snapshot.Tiles, ownName)
	bearers := make(map[string]int) // of an identity
	for _, tile := range snapshot.Tiles {
		bearers[p.identity(tile)]++
	}
	owners := make(map[string]string) // by track; empty where there are several
	var order []string
	for i, tile := range snapshot.Tiles {
		identity := p.identity(tile)
		if own[i] || strings.HasPrefix(identity, byName) && bearers[identity] > 1 {
			identity = ""
		}
		for _, track := range tile.Tracks {
			owner, known := owners[track]
			if !known {
				order = append(order, track)
				owners[track] = identity
			} else if owner != identity {
				owners[track] = ""
			}
		}
	}
	var played []TrackOwner
	for _, track := range order {
		if owners[track] != "" {
			played = append(played, TrackOwner{Track: track, ParticipantID: owners[track]})
		}
	}
	return played
}

// byName begins the ids of participants to whom the page gives none.
const byName = "name:"

// identity is what a participant is known by: the page's id, else the name. It
// is empty when there is neither.
func (p *Profile) identity(person RosterEntry) string {
	switch name := p.name(person); {
	case person.ID != "":
		return person.ID
	case name != "":
		return byName + name
	}
	return ""
}

// shown reports whether a row without an id of its own stands for a
// participant already known by tile.
func shown(participants []Participant, row RosterEntry, name string) bool {
	return row.ID == "" && slices.ContainsFunc(participants, func(known Participant) bool {
		return known.Name == name && !strings.HasPrefix(known.ID, byName)
	})
}

// ownTiles tells which tiles are the bot's own; there may be several
// (platforms, "Rules that cost others dearly"). A mark that some tiles lack
// tells them apart by being there. A mark that every tile has is the label
// kept ready for the own one, which is then the one that shows it. Without
// marks the platform's word for oneself counts, and the name under which the
// bot joined: somebody else of that name is then only counted.
func (p *Profile) ownTiles(tiles []RosterEntry, ownName string) []bool {
	marked := 0
	for _, tile := range tiles {
		if tile.Mark != nil {
			marked++
		}
	}
	own := make([]bool, len(tiles))
	for i, tile := range tiles {
		switch {
		case marked > 0 && marked < len(tiles):
			own[i] = tile.Mark != nil
		case marked > 0:
			own[i] = tile.Marked == "" || tile.Marked == *tile.Mark || p.ownWord(tile.Marked)
		default:
			own[i] = p.ownWord(p.name(tile)) || sameName(p.name(tile), ownName)
		}
	}
	return own
}

// ownRow tells whether a row of the list of people is the bot's.
func (p *Profile) ownRow(row RosterEntry, ownIDs map[string]bool, ownName string) bool {
	if row.ID != "" {
		return row.Mark != nil || ownIDs[row.ID] || p.ownWord(p.name(row))
	}
	return row.Mark != nil || p.ownWord(p.name(row)) || sameName(p.name(row), ownName)
}

// sameName reports whether a name that the page shows is the bot's. Pages drop
// characters that nobody sees.
func sameName(shown, own string) bool {
	return own != "" && strings.EqualFold(plain(seen(shown)), plain(seen(own)))
}

// ownWord reports whether a name is the platform's word for oneself.
func (p *Profile) ownWord(name string) bool {
	return slices.ContainsFunc(p.Roster.OwnNames, func(own string) bool { return strings.EqualFold(own, name) })
}

// name is the first that was read.
func (p *Profile) name(person RosterEntry) string {
	if len(person.Names) == 0 {
		return ""
	}
	return person.Names[0]
}

// countPattern is the first number of a label such as "People - 2 joined".
var countPattern = regexp.MustCompile(`\d[\d,.]*`)

// others takes the page's own count of everyone, because a page draws only some
// of the tiles, and takes each of the bot's own entries off it. The tiles count
// where they show more, so that somebody in sight is never overlooked; but for
// one: a page that counts a single participant counts the bot.
func (p *Profile) others(snapshot Snapshot, ownEntries, participants int) int {
	for _, label := range snapshot.Counts {
		digits := strings.NewReplacer(",", "", ".", "").Replace(countPattern.FindString(label))
		everyone, err := strconv.Atoi(digits)
		switch {
		case err != nil || everyone < 1:
			continue
		case everyone == 1:
			return 0
		default:
			return max(everyone-max(ownEntries, 1), participants)
		}
	}
	if ownEntries == 0 && participants == 0 {
		return -1
	}
	return participants
}
