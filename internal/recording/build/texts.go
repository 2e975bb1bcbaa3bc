package build

import (
	"encoding/json"
	"slices"

	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// Names of the files with chat messages and captions.
const (
	chatFile        = "chat.json"
	captionsFile    = "captions.json"
	captionsVTTFile = "captions.vtt"
)

// textFiles returns the files with the input's texts. Without texts of a kind
// there is no file.
func (b *builder) textFiles(gaps []recording.Gap) ([]recording.TextFile, error) {
	var files []recording.TextFile
	if chat := b.texts(job.ChatText); len(chat) > 0 {
		file, err := b.textsJSON(chatFile, recording.Chat, chat)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if captions := b.texts(job.CaptionText); len(captions) > 0 {
		file, err := b.textsJSON(captionsFile, recording.Captions, captions)
		if err != nil {
			return nil, err
		}
		vtt := recording.TextFile{Name: captionsVTTFile, Kind: recording.Captions, ContentType: "text/vtt", Content: webVTT(captions, gaps)}
		files = append(files, file, vtt)
	}
	return files, nil
}

// webVTT returns captions as WebVTT.
func webVTT(captions []recording.Text, gaps []recording.Gap) []byte {
	cues := make([]recording.Cue, len(captions))
	for i, caption := range captions {
		cues[i] = recording.Cue{StartMs: caption.StartMs, EndMs: caption.EndMs, Text: caption.Text}
		if caption.Author != nil {
			cues[i].Speaker = *caption.Author
		}
	}
	return recording.WebVTT(cues, gaps)
}

// texts returns the texts of a kind, without the empty ones that corrections
// left. Offsets of texts from before the recording are 0.
func (b *builder) texts(kind job.TextKind) []recording.Text {
	var texts []recording.Text
	for _, t := range b.input.Texts {
		if t.Kind != kind || t.Text == "" {
			continue
		}
		text := recording.Text{
			ParticipantID: optional(b.ids[rosterID{t.Attempt, t.ParticipantID}]), Author: optional(t.Author),
			Text: t.Text, Language: optional(t.Language), StartedAt: recording.Instant{Time: t.StartedAt},
		}
		if !b.origin.IsZero() {
			text.StartMs = max(0, b.offset(t.StartedAt)).Milliseconds()
			text.EndMs = max(text.StartMs, b.offset(t.EndedAt).Milliseconds())
		}
		texts = append(texts, text)
	}
	slices.SortStableFunc(texts, func(a, c recording.Text) int { return a.StartedAt.Compare(c.StartedAt.Time) })
	return texts
}

func (b *builder) textsJSON(name string, kind recording.MediaKind, texts []recording.Text) (recording.TextFile, error) {
	content, err := json.Marshal(recording.Texts{
		SchemaVersion: recording.TextsVersion, JobID: b.input.Job.ID.String(), Kind: kind, Texts: texts,
	})
	if err != nil {
		return recording.TextFile{}, err
	}
	return recording.TextFile{Name: name, Kind: kind, ContentType: "application/json", Content: content}, nil
}

func manifestFiles(manifest recording.Manifest) []recording.File {
	var files []recording.File
	for _, media := range manifest.Media {
		files = append(files, media.File)
	}
	return files
}
