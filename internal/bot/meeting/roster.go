package meeting

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// participants returns the others in the meeting of a snapshot, and their
// number (-1: the page does not show it). ownName is empty when it is unknown.
func (p *Profile) participants(snapshot Snapshot, ownName string) (participants []Participant, others int) {
	own, ownIDs := p.ownTiles(snapshot.Tiles, ownName)
	index := make(map[string]int) // ID -> index in participants
	kinds := make(map[string]int) // ID -> kind of its first tile
	var again []RosterEntry       // other tiles of that kind with its name
	add := func(entry RosterEntry) {
		id := entry.identity()
		if id == "" {
			return
		}
		i, known := index[id]
		if !known {
			index[id], kinds[id] = len(participants), entry.Kind
			participants = append(participants, Participant{ID: id, Name: entry.Name(), Speaking: entry.Speaking})
			return
		}
		if entry.ID == "" && entry.Kind == kinds[id] {
			again = append(again, entry)
		}
		if participants[i].Name == "" {
			participants[i].Name = entry.Name()
		}
		participants[i].Speaking = participants[i].Speaking || entry.Speaking
	}
	for i, tile := range snapshot.Tiles {
		if !own[i] {
			add(tile)
		}
	}
	participants = p.addRows(participants, snapshot.Rows, ownIDs, ownName)
	// The people button has the number in its label in any language.
	labels := append(slices.Clone(snapshot.Counts), snapshot.Elements[peopleButton].Text)
	others = countOthers(labels, len(ownIDs), len(participants))
	if others == len(participants)+len(again) { // by the page's own count, none of them is drawn twice
		for _, tile := range again {
			one := Participant{Name: tile.Name(), Speaking: tile.Speaking}
			for n := 2; one.ID == "" || slices.ContainsFunc(participants, func(known Participant) bool { return known.ID == one.ID }); n++ {
				one.ID = fmt.Sprintf("%s#%d", tile.identity(), n)
			}
			participants = append(participants, one)
		}
	}
	if others >= 0 {
		contributors := make(map[string]bool)
		for _, track := range snapshot.Audio {
			for _, contributor := range track.Contributors {
				contributors[contributor.ID] = true
			}
		}
		others = max(others, len(contributors))
	}
	if _, alone := matchAny(p.Alone, snapshot, History{}); alone && len(participants) == 0 {
		others = 0
	}
	return participants, others
}

// trackOwners returns the tracks that exactly one participant's tile plays. A
// track that also plays in the bot's own tile, in a tile without an identity, or
// in one whose name another participant shares, has no owner.
func (p *Profile) trackOwners(snapshot Snapshot, ownName string) []TrackOwner {
	own, _ := p.ownTiles(snapshot.Tiles, ownName)
	tilesOf := make(map[string]int) // identity -> number of tiles
	for _, tile := range snapshot.Tiles {
		tilesOf[tile.identity()]++
	}
	ownerOf := make(map[string]string) // track -> owner; empty where there are several
	var tracks []string
	for i, tile := range snapshot.Tiles {
		identity := tile.identity()
		if own[i] || strings.HasPrefix(identity, namePrefix) && tilesOf[identity] > 1 {
			identity = ""
		}
		for _, track := range tile.Tracks {
			owner, known := ownerOf[track]
			if !known {
				tracks = append(tracks, track)
				ownerOf[track] = identity
			} else if owner != identity {
				ownerOf[track] = ""
			}
		}
	}
	var owners []TrackOwner
	for _, track := range tracks {
		if ownerOf[track] != "" {
			owners = append(owners, TrackOwner{Track: track, ParticipantID: ownerOf[track]})
		}
	}
	return owners
}

// ownTiles reports which tiles are the bot's own, and their ids; a page may show
// several. A mark that only some tiles have tells them apart. When every tile has the mark,
// it is a label prepared for the own tile, which is the one that shows it.
// Without marks, the platform's word for oneself counts, and the name under
// which the bot joined: another participant of that name is then only counted. All
// tiles with the id of an own one are the bot's own.
func (p *Profile) ownTiles(tiles []RosterEntry, ownName string) (own []bool, ownIDs map[string]bool) {
	marked := 0
	for _, tile := range tiles {
		if tile.Mark != nil {
			marked++
		}
	}
	own, ownIDs = make([]bool, len(tiles)), make(map[string]bool)
	for i, tile := range tiles {
		switch {
		case marked > 0 && marked < len(tiles):
			own[i] = tile.Mark != nil
		case marked > 0:
			own[i] = tile.MarkText == "" || tile.MarkText == *tile.Mark || p.isOwnWord(tile.MarkText) || sameName(tile.Name(), *tile.Mark)
		default:
			own[i] = p.isOwnWord(tile.Name()) || sameName(tile.Name(), ownName)
		}
		if own[i] {
			ownIDs[tile.ID] = true
		}
	}
	for i, tile := range tiles {
		own[i] = own[i] || tile.ID != "" && ownIDs[tile.ID]
	}
	return own, ownIDs
}

// addRows adds the rows of the list of people to the participants who have a tile.
// A row is the person whose id it has, or else one person of its name, which either may
// cut at a comma: several rows of a name are several people.
func (p *Profile) addRows(participants []Participant, rows []RosterEntry, ownIDs map[string]bool, ownName string) []Participant {
	own := p.ownRows(rows, ownIDs, ownName)
	taken := make(map[string]bool) // ids of participants who have a row
	find := func(fits func(Participant) bool) int {
		return slices.IndexFunc(participants, func(known Participant) bool { return !taken[known.ID] && fits(known) })
	}
	var rest []RosterEntry
	merge := func(i int, row RosterEntry) {
		one := &participants[i]
		taken[one.ID] = true
		if name := row.Name(); name != "" && (one.Name == "" || one.ID == row.ID) {
			one.Name = name
		}
		one.Speaking = one.Speaking || row.Speaking
	}
	for i, row := range rows {
		if own[i] || row.identity() == "" || taken[row.ID] && row.ID != "" {
			continue
		}
		if found := find(func(known Participant) bool { return row.ID != "" && known.ID == row.ID }); found >= 0 {
			merge(found, row)
			continue
		}
		rest = append(rest, row)
	}
	for _, row := range rest {
		if taken[row.ID] && row.ID != "" {
			continue // a row that was read twice
		}
		named := func(same func(tile, row string) bool) int {
			return find(func(known Participant) bool {
				return row.Name() != "" && (row.ID == "" || strings.HasPrefix(known.ID, namePrefix)) && same(known.Name, row.Name())
			})
		}
		found := named(func(tile, row string) bool { return tile == row })
		if found < 0 { // one of the names goes on, with a first name or with states
			found = named(func(tile, row string) bool {
				return strings.HasPrefix(tile, row+",") || strings.HasPrefix(row, tile+",")
			})
		}
		if found >= 0 {
			merge(found, row)
			continue
		}
		one := Participant{ID: row.identity(), Name: row.Name(), Speaking: row.Speaking}
		for n := 2; taken[one.ID]; n++ { // others of the same name
			one.ID = fmt.Sprintf("%s#%d", row.identity(), n)
		}
		taken[one.ID] = true
		participants = append(participants, one)
	}
	return participants
}

// ownRows reports which rows of the list of people are the bot's: those that the page
// marks, or else the first that has the bot's name with something in parentheses, or else
// the first of its name. Others may have chosen such a name.
func (p *Profile) ownRows(rows []RosterEntry, ownIDs map[string]bool, ownName string) []bool {
	own := make([]bool, len(rows))
	marked := false
	for i, row := range rows {
		own[i] = row.Mark != nil || row.ID != "" && ownIDs[row.ID] || p.isOwnWord(row.shownName()) || p.isOwnWord(row.Name())
		marked = marked || own[i]
	}
	if marked || slices.ContainsFunc(rows, func(row RosterEntry) bool { return row.ID != "" }) &&
		(len(ownIDs) > 1 || len(ownIDs) == 1 && !ownIDs[""]) { // the page gives the bot's own tiles an id
		return own
	}
	i := slices.IndexFunc(rows, func(row RosterEntry) bool { // the name with something in parentheses, such as "(You)"
		shown := row.shownName()
		open := strings.LastIndexAny(shown, "(（")
		return open > 0 && sameName(shown[:open], ownName)
	})
	if i < 0 {
		i = slices.IndexFunc(rows, func(row RosterEntry) bool { return sameName(row.Name(), ownName) })
	}
	if i >= 0 {
		own[i] = true
	}
	return own
}

// isOwnWord reports whether a name is the platform's word for oneself.
func (p *Profile) isOwnWord(name string) bool {
	return slices.ContainsFunc(p.Roster.OwnNames, func(own string) bool { return strings.EqualFold(own, name) })
}

// sameName reports whether a name on the page is the bot's. Pages remove
// invisible characters.
func sameName(shown, own string) bool {
	return own != "" && strings.EqualFold(SingleLine(withoutFormatting(shown)), SingleLine(withoutFormatting(own)))
}

// countPattern matches the first number of a label such as "People - 2 joined".
var countPattern = regexp.MustCompile(`\d[\d,.]*`)

// countOthers returns the number of others. The page's own count of everyone
// wins, because a page draws only some of the tiles; each of the bot's own
// entries is subtracted. When more participants are visible, they win. A page
// that counts a single participant counts the bot.
func countOthers(labels []string, ownEntries, participants int) int {
	for _, label := range labels {
		digits := strings.NewReplacer(",", "", ".", "").Replace(countPattern.FindString(label))
		everyone, err := strconv.Atoi(digits)
		switch {
		case err != nil || everyone < 1:
			continue
		case everyone == 1 && participants < 2: // some pages count 1 for moments
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

// SpeechSource is a kind of evidence of who speaks.
type SpeechSource string

// The kinds of evidence of who speaks.
const (
	SpeechByPage  SpeechSource = "page"  // marks of participants' tiles
	SpeechByAudio SpeechSource = "audio" // the level of audio that is known to be a participant's
)

const (
	// speechLevel is the level of audio from which it counts as speech, between 0
	// and 1 (https://www.w3.org/TR/webrtc-stats/, audioLevel).
	speechLevel = 0.01
	// silenceLevel is the level of audio up to which nobody speaks.
	silenceLevel = 0.001
)

// decideSpeech decides which participants speak, and returns what is known of it.
// The level of a track that one participant's tile plays, or of all audio when
// there is one other participant, is more direct than a mark of the page. While all
// audio is silent nobody speaks, whatever the page marks: Zoom marks the last
// speaker.
//
// Levels of 0 say nothing when the meeting is heard all the same, because players that
// are muted have them. Whoever knows that decides by the marks: silent reports that all
// levels are 0, and marked has the ids of those whom the page marks.
func decideSpeech(snapshot Snapshot, participants []Participant, others int,
	owners []TrackOwner) (sources []SpeechSource, marked []string, allSilent bool) {
	levels := make(map[string]float64) // participant -> level
	loudest, known, silent := 0.0, false, true
	for _, audio := range snapshot.Audio {
		level, ok := audio.loudness()
		if !ok {
			silent = false // nothing is known of it
			continue
		}
		silent = silent && level <= silenceLevel
		loudest, known = max(loudest, level), true
		for _, owner := range owners {
			if owner.Track == audio.Track {
				levels[owner.ParticipantID] = max(levels[owner.ParticipantID], level)
			}
		}
	}
	if known && others == 1 && len(participants) == 1 {
		levels[participants[0].ID] = loudest
	}
	byPage, byAudio := false, false
	for i := range participants {
		p := &participants[i]
		if byPage = byPage || p.Speaking; p.Speaking {
			marked = append(marked, p.ID)
		}
		if level, direct := levels[p.ID]; direct {
			p.Speaking, byAudio = level >= speechLevel, true
		}
		if known && silent {
			p.Speaking = false
		}
	}
	if byPage {
		sources = append(sources, SpeechByPage)
	}
	if byAudio {
		sources = append(sources, SpeechByAudio)
	}
	return sources, marked, known && silent
}

// loudness returns the level of a track: its own, or else that of its loudest
// contributor. ok is false when no level is known.
func (a AudioTrack) loudness() (level float64, ok bool) {
	if a.Level != nil {
		return *a.Level, true
	}
	for _, contributor := range a.Contributors {
		if contributor.Level != nil {
			level, ok = max(level, *contributor.Level), true
		}
	}
	return level, ok
}
