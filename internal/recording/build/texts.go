package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/recording"
)

// Names of the files with chat messages and captions.
const (
	chatFile        = "chat.json"
	captionsFile    = "captions.json"
	captionsVTTFile = "captions.vtt"
)

// minCue is the shortest time that a caption is shown in captions.vtt.
const minCue = 500 * time.Millisecond

// textFile is a file with texts and its content.
type textFile struct {
	recording.File
	content []byte
}

// buildTexts returns the files with a job's texts.
func buildTexts(input ManifestInput, reports []ingest.Report, packed Packed, manifest recording.Manifest) ([]textFile, error) {
	b := newBuilder(input, reports, packed)
	_, _, ids := b.people()
	return b.textFiles(manifest.Gaps, ids)
}

// textFiles returns the files with the input's texts. Without texts of a kind
// there is no file.
func (b *builder) textFiles(gaps []recording.Gap, ids rosterIDs) ([]textFile, error) {
	var files []textFile
	if chat := b.texts(job.ChatText, ids); len(chat) > 0 {
		file, err := b.textsJSON(chatFile, recording.Chat, chat)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if captions := b.texts(job.CaptionText, ids); len(captions) > 0 {
		file, err := b.textsJSON(captionsFile, recording.Captions, captions)
		if err != nil {
			return nil, err
		}
		vtt := newTextFile(captionsVTTFile, recording.Captions, "text/vtt", webVTT(captions, gaps))
		files = append(files, file, vtt)
	}
	return files, nil
}

// texts returns the texts of a kind, without the empty ones that corrections
// left. Offsets of texts from before the recording are 0.
func (b *builder) texts(kind job.TextKind, ids rosterIDs) []recording.Text {
	var texts []recording.Text
	for _, t := range b.input.Texts {
		if t.Kind != kind || t.Text == "" {
			continue
		}
		text := recording.Text{
			ParticipantID: optional(ids[rosterID{t.Attempt, t.ParticipantID}]), Author: optional(t.Author),
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

func (b *builder) textsJSON(name string, kind recording.MediaKind, texts []recording.Text) (textFile, error) {
	content, err := json.Marshal(recording.Texts{SchemaVersion: recording.TextsVersion, JobID: b.input.Job.ID.String(), Kind: kind, Texts: texts})
	if err != nil {
		return textFile{}, fmt.Errorf("write %s: %w", name, err)
	}
	return newTextFile(name, kind, "application/json", content), nil
}

func newTextFile(name string, kind recording.MediaKind, contentType string, content []byte) textFile {
	sum := sha256.Sum256(content)
	return textFile{
		File:    recording.File{Name: name, Kind: kind, ContentType: contentType, Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])},
		content: content,
	}
}

// webVTT returns captions as WebVTT (https://www.w3.org/TR/webvtt1/). Its times
// are positions in the recorded video, which has no gaps.
func webVTT(captions []recording.Text, gaps []recording.Gap) []byte {
	var vtt bytes.Buffer
	vtt.WriteString("WEBVTT\n")
	for _, caption := range captions {
		from := recording.MediaPosition(caption.StartMs, gaps)
		to := max(recording.MediaPosition(caption.EndMs, gaps), from+minCue)
		fmt.Fprintf(&vtt, "\n%s --> %s\n", vttTime(from), vttTime(to))
		if caption.Author != nil {
			author := escapeVTT(*caption.Author)
			if strings.HasSuffix(author, "--") {
				author += " " // players remove the space; "-->" is reserved for times
			}
			fmt.Fprintf(&vtt, "<v %s>", author)
		}
		vtt.WriteString(escapeVTT(caption.Text) + "\n")
	}
	return vtt.Bytes()
}

func vttTime(at time.Duration) string {
	return fmt.Sprintf("%02d:%02d:%02d.%03d", int(at.Hours()), int(at.Minutes())%60, int(at.Seconds())%60, at.Milliseconds()%1000)
}

var vttEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escapeVTT returns a text for one line of a cue. Control characters are spaces.
func escapeVTT(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
	return vttEscapes.Replace(strings.Join(strings.Fields(text), " "))
}

// storeTexts stores the files with texts and adds them to the manifest.
func (f *Finisher) storeTexts(ctx context.Context, jobID uuid.UUID, manifest *recording.Manifest, files []textFile) error {
	for _, file := range files {
		file.Name = uniqueName(file.Name, manifestFiles(*manifest))
		if _, err := f.Storage.PutMedia(ctx, jobID, file.Name, bytes.NewReader(file.content), file.SHA256); err != nil {
			return fmt.Errorf("store %s: %w", file.Name, err)
		}
		manifest.Media = append(manifest.Media, recording.Media{File: file.File, URI: recording.MediaURI(f.BaseURL, jobID.String(), file.Name)})
	}
	return nil
}

func manifestFiles(manifest recording.Manifest) []recording.File {
	var files []recording.File
	for _, media := range manifest.Media {
		files = append(files, media.File)
	}
	return files
}
