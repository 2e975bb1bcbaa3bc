package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// recordingView is the manifest of a recording, arranged for the player.
type recordingView struct {
	recording.Manifest
	base, query string     // of the URLs of its files
	Player      []playable // files in the order in which they are played
	Video       bool       // the files are video
	Playlist    string     // Player as JSON, for the script
	TotalMs     int64
	Lanes       []speechRow
	Chapters    []chapter
	Files       []recording.Media
	Downloads   []download
	Words       wordsView
	More        bool // the manifest has more than is shown
}

// playable is a video or audio file of the player.
type playable struct {
	Address string `json:"address"`
	Start   int64  `json:"start"` // ms from the start of the recording
	Length  int64  `json:"length"`
	Width   int    `json:"-"` // of the video, so that the layout does not shift
	Height  int    `json:"-"`
}

// chapter is a place in a recording: its start, or an interruption.
type chapter struct {
	AtMs int64
	Text string
}

// download is an entry of the download menu.
type download struct{ Name, Address string }

// speechRow is the speech of a participant.
type speechRow struct {
	recording.Participant
	Spoke  int64 // total in ms
	Speech []recording.Speech
}

// recordingAt reads the recording of a job, with files whose URLs have a base and a query. It
// returns nil when there is none in this storage.
func (d *Dashboard) recordingAt(ctx context.Context, j job.Job, base, query string) (*recordingView, error) {
	if j.ManifestURI == "" {
		return nil, nil
	}
	manifest, err := d.manifestOf(ctx, j)
	if errors.Is(err, errNoRecording) {
		return nil, nil // deleted, or stored elsewhere
	}
	if err != nil {
		return nil, err
	}
	texts, document, captions, err := d.spokenIn(ctx, j, manifest)
	if err != nil {
		return nil, err
	}
	words := wordsView{Spoken: len(document.Segments) > 0, Captions: captions, Partial: document.Partial}
	for _, segment := range document.Segments {
		words.Lines = append(words.Lines, wordView{AtMs: segment.StartMs, UntilMs: segment.EndMs, Speaker: segment.Speaker, Text: segment.Text})
	}
	for _, text := range texts {
		if text.Kind == job.ChatText && text.Text != "" {
			at := max(0, text.StartedAt.Sub(manifest.Timeline.Origin()).Milliseconds())
			words.Lines = append(words.Lines, wordView{AtMs: at, UntilMs: at, Chat: true, Speaker: text.Author, Text: text.Text})
		}
	}
	slices.SortStableFunc(words.Lines, func(a, b wordView) int { return cmp.Compare(a.AtMs, b.AtMs) })
	words.More = len(words.Lines) > shownWords
	words.Lines = words.Lines[:min(len(words.Lines), shownWords)]
	view := &recordingView{Manifest: manifest, base: base, query: query, Words: words}
	view.arrange()
	return view, nil
}

// arrange fills the player and the speech rows from the manifest.
func (v *recordingView) arrange() {
	v.Files = v.Media
	clipList(v, &v.Files, shownFiles)
	clipList(v, &v.Participants, shownParticipants)
	clipList(v, &v.Speech, shownSpeech)
	clipList(v, &v.Gaps, shownGaps)
	clipList(v, &v.Consent, shownConsent)
	kind := recording.MediaKind("audio")
	for _, file := range v.Media {
		if file.Kind == "video" {
			kind, v.Video = "video", true
		}
		v.TotalMs = max(v.TotalMs, file.StartOffsetMs+file.DurationMs)
	}
	for _, file := range v.Media {
		if file.Kind == kind {
			v.Player = append(v.Player, playable{v.File(file.Name) + v.query, file.StartOffsetMs, file.DurationMs, file.Width, file.Height})
		}
	}
	list, _ := json.Marshal(v.Player) // texts and numbers always encode
	v.Playlist = string(list)
	at := make(map[string]int)
	for i, p := range v.Participants {
		at[p.ID] = i
		v.Lanes = append(v.Lanes, speechRow{Participant: p})
	}
	for _, s := range v.Speech {
		i, known := at[s.ParticipantID]
		if !known {
			continue
		}
		v.Lanes[i].Speech = append(v.Lanes[i].Speech, s)
		v.Lanes[i].Spoke += s.EndMs - s.StartMs
		v.TotalMs = max(v.TotalMs, s.EndMs)
	}
	for _, gap := range v.Gaps {
		v.TotalMs = max(v.TotalMs, gap.EndMs)
	}
	v.TotalMs = max(v.TotalMs, 1)
	v.Chapters = v.chapters()
	v.Downloads = v.downloads()
}

// chapters returns the start of the recording, its gaps and faults, and where it continues;
// nothing if it has no gaps or faults.
func (v *recordingView) chapters() []chapter {
	var list []chapter
	for _, gap := range v.Gaps {
		if gap.Reason == recording.GapNoSound {
			continue // a fault, too
		}
		list = append(list, chapter{
			gap.StartMs, cmp.Or(gapTexts[gap.Reason].name, job.Clip(gap.Reason, maxTitle)) + " for " + Clock(gap.EndMs-gap.StartMs),
		})
		if gap.EndMs < v.TotalMs {
			list = append(list, chapter{gap.EndMs, "continues"})
		}
	}
	for _, fault := range v.MediaFaults[:min(len(v.MediaFaults), shownGaps)] {
		list = append(list, chapter{fault.StartMs, strings.ReplaceAll(fault.Kind, "_", " ") + " for " + Clock(fault.EndMs-fault.StartMs)})
	}
	slices.SortStableFunc(list, func(a, b chapter) int { return cmp.Compare(a.AtMs, b.AtMs) })
	if len(list) > 0 && list[0].AtMs > 0 {
		list = slices.Insert(list, 0, chapter{0, "start"})
	}
	return list
}

// downloads returns the entries of the download menu.
func (v *recordingView) downloads() (list []download) {
	names := map[recording.MediaKind]string{
		"video": "Video", "audio": "Audio", "chat": "Chat", "captions": "Captions", "transcript": "Transcript (JSON)",
	}
	count := make(map[recording.MediaKind]int)
	for _, file := range v.Files {
		if name := names[file.Kind]; name != "" && count[file.Kind] < 5 {
			if count[file.Kind]++; count[file.Kind] > 1 {
				name += fmt.Sprintf(", part %d", count[file.Kind])
			}
			list = append(list, download{name, v.File(file.Name) + "?download=1"})
		}
	}
	if v.Words.Spoken {
		list = append(list, download{"Transcript (text)", v.base + "/transcript"}, download{"Subtitles (VTT)", v.base + "/transcript?format=vtt"})
	}
	return append(list, download{"Manifest", v.base + "/manifest"})
}

// clipList shortens a list of the view.
func clipList[T any](v *recordingView, list *[]T, length int) {
	if len(*list) > length {
		*list, v.More = (*list)[:length], true
	}
}

// File returns the path of a file of the recording.
func (v *recordingView) File(name string) string {
	return v.base + "/media/" + strings.ReplaceAll(name, "/", "")
}
