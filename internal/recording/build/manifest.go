package build

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// ManifestInput is the service's data about a job for its manifest.
type ManifestInput struct {
	Job      job.Job
	Consents []recording.Consent
	Texts    []job.MeetingText // chat messages and captions

	// Values that the service received from the bot during the meeting. They
	// are used where the reports have no value.
	ObservedTimeline recording.Timeline
	EndReason        string
	EndDetail        string

	// BotLost is true when the last attempt's bot did not finish the job.
	BotLost bool
}

// manifest returns the manifest of the job.
func (b *builder) manifest(baseURL string) recording.Manifest {
	input, gaps := b.input, b.gaps()
	media, videoGaps := b.media(baseURL)
	manifest := recording.Manifest{
		SchemaVersion: recording.SchemaVersion,
		JobID:         input.Job.ID.String(),
		ExternalID:    input.Job.ExternalID,
		Platform:      string(input.Job.Platform),
		MeetingURL:    input.Job.MeetingURL,
		Metadata:      input.Job.Metadata,
		Bot:           recording.Bot{Name: input.Job.DisplayName, Version: optional(b.lastReport().BotVersion)},
		Timeline:      b.timeline(),
		End:           b.end(),
		Partial:       b.partial(gaps),
		Gaps:          gaps,
		MediaFaults:   b.mediaFaults(),
		Media:         media,
		VideoGaps:     videoGaps,
		Participants:  b.participants,
		Speech:        b.speech,
		SpeechSource:  b.speechSource(),
		Consent:       append([]recording.Consent{}, input.Consents...),
	}
	if len(manifest.Metadata) == 0 {
		manifest.Metadata = json.RawMessage("{}")
	}
	return manifest
}

func (b *builder) end() recording.End {
	reason, detail := b.lastReport().EndReason, b.lastReport().EndDetail
	if reason == "" {
		reason, detail = b.input.EndReason, b.input.EndDetail
	}
	return recording.End{Reason: cmp.Or(reason, recording.EndUnknown), Detail: optional(detail)}
}

// timeline covers all attempts, from the start of the first to the end of the last.
func (b *builder) timeline() recording.Timeline {
	var joined, admitted, stopped time.Time
	for _, report := range b.reports {
		joined = firstNonZero(joined, report.JoinedAt)
		admitted = firstNonZero(admitted, report.AdmittedAt)
	}
	if last := len(b.mediaParts) - 1; last >= 0 && !b.origin.IsZero() {
		stopped = b.origin.Add(b.mediaEnd())
		if reported, ok := b.reportedPart(b.mediaParts[last].Attempt, b.mediaParts[last].Number); ok && reported.Complete &&
			!reported.EndedAt.IsZero() {
			stopped = reported.EndedAt
		}
	}
	started := b.origin
	if b.attendance {
		started = time.Time{}
	}
	observed := b.input.ObservedTimeline
	instant := func(reported time.Time, observed recording.Instant) recording.Instant {
		return recording.Instant{Time: firstNonZero(reported, observed.Time)}
	}
	return recording.Timeline{
		JoinedAt:           instant(joined, observed.JoinedAt),
		AdmittedAt:         instant(admitted, observed.AdmittedAt),
		RecordingStartedAt: recording.Instant{Time: started},
		RecordingStoppedAt: instant(stopped, observed.RecordingStoppedAt),
		LeftAt:             instant(b.lastReport().LeftAt, observed.LeftAt),
	}
}

// media lists the packed files with their URLs.
func (b *builder) media(baseURL string) (media []recording.Media, videoGaps []recording.VideoGap) {
	media = make([]recording.Media, 0, len(b.packed.Files))
	for _, file := range b.packed.Files {
		for _, part := range slices.Backward(b.mediaParts) { // the first one counts
			if part.File == file.Name {
				file.StartOffsetMs = part.from.Milliseconds()
			}
		}
		var ended time.Time // the track of the file before
		for _, track := range b.packed.Tracks {
			if track.File != file.Name {
				continue
			}
			switch {
			case b.origin.IsZero():
			case ended.IsZero():
				file.StartOffsetMs = max(0, b.offset(track.StartedAt)).Milliseconds()
			case track.StartedAt.Sub(ended) >= minPictureGap:
				videoGaps = append(videoGaps, recording.VideoGap{
					Name: file.Name, StartMs: b.offset(ended).Milliseconds(), EndMs: b.offset(track.StartedAt).Milliseconds(),
				})
			}
			ended = track.StartedAt.Add(time.Duration(track.LengthMs) * time.Millisecond)
			file.ParticipantID = b.ids[rosterID{track.Attempt, track.PersonID}]
		}
		media = append(media, recording.Media{File: file, URI: recording.MediaURI(baseURL, b.input.Job.ID.String(), file.Name)})
	}
	return media, videoGaps
}

// builder holds the data that a manifest is built from.
type builder struct {
	input      ManifestInput
	reports    []ingest.Report // sorted by attempt
	packed     Packed
	origin     time.Time // start of the recording, or of the attendance without one; zero if unknown
	attendance bool      // nothing was to be recorded
	mediaParts []mediaPart

	participants []recording.Participant
	speech       []recording.Speech
	ids          map[rosterID]string // of the participants in the manifest
}

// mediaPart is a part with media in a file, with its span on the recording's
// clock.
type mediaPart struct {
	PackedPart
	from, to time.Duration
}

// newBuilder returns a builder for a job, from the service's data, the last report of each
// attempt and the packed media.
func newBuilder(input ManifestInput, reports []ingest.Report, packed Packed) *builder {
	b := &builder{input: input, reports: slices.Clone(reports), packed: packed}
	slices.SortStableFunc(b.reports, func(a, c ingest.Report) int { return cmp.Compare(a.Attempt, c.Attempt) })
	b.origin = b.startedAt()
	if b.origin.IsZero() && len(packed.Parts) == 0 {
		if i := slices.IndexFunc(b.reports, attended); i >= 0 {
			b.origin, b.attendance = b.reports[i].AdmittedAt, true
		}
	}
	paused := pauses(b.reports)
	for _, part := range packed.Parts {
		if part.File == "" {
			continue
		}
		from := b.offset(part.StartedAt)
		if part.StartedAt.IsZero() { // unknown: assume that it follows the previous part
			from = b.mediaEnd()
		}
		until := recordedUntil(b.origin.Add(from), part.Length, paused)
		b.mediaParts = append(b.mediaParts, mediaPart{PackedPart: part, from: from, to: until.Sub(b.origin)})
	}
	b.addPeople()
	return b
}

// startedAt returns the start of the recording, or else the start that the service observed.
func (b *builder) startedAt() time.Time {
	return firstNonZero(RecordingStart(b.packed.Parts, b.reports), b.input.ObservedTimeline.RecordingStartedAt.Time)
}

// lateStart is how long the bot may take to start a recorder before the recording counts as
// started, with a gap.
const lateStart = 5 * time.Second

// RecordingStart returns when a recording started: with its first part, or, if its recorder took
// longer than lateStart to start, with the gap before it. It returns zero if no start is known.
func RecordingStart(packed []PackedPart, reports []ingest.Report) time.Time {
	start := firstStart(packed, reports)
	limit := start.Add(-lateStart)
	for _, report := range reports {
		for _, gap := range report.Gaps {
			if gap.Reason != recording.GapPaused && !gap.From.IsZero() && gap.From.Before(limit) && gap.From.Before(start) {
				start = gap.From
			}
		}
	}
	return start
}

// firstStart returns the earliest start of a part, or zero if none is known.
func firstStart(packed []PackedPart, reports []ingest.Report) time.Time {
	var first time.Time
	consider := func(at time.Time) {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, part := range packed {
		consider(part.StartedAt)
	}
	for _, report := range reports {
		for _, part := range report.Parts {
			consider(part.StartedAt)
		}
	}
	return first
}

// offset returns the time since the start of the recording.
func (b *builder) offset(at time.Time) time.Duration {
	return at.Sub(b.origin).Round(time.Millisecond)
}

// mediaEnd returns the end of the parts with media so far.
func (b *builder) mediaEnd() time.Duration {
	end := time.Duration(0)
	for _, part := range b.mediaParts {
		end = max(end, part.to)
	}
	return end
}

// reportedPart returns a part as the reports describe it.
func (b *builder) reportedPart(attempt, number int) (ingest.RecordingPart, bool) {
	for _, report := range b.reports {
		for _, part := range report.Parts {
			if report.Attempt == attempt && part.Number == number {
				return part, true
			}
		}
	}
	return ingest.RecordingPart{}, false
}

// lastReport returns the report of the last attempt that has one.
func (b *builder) lastReport() ingest.Report {
	if len(b.reports) == 0 {
		return ingest.Report{}
	}
	return b.reports[len(b.reports)-1]
}

func firstNonZero(at, otherwise time.Time) time.Time {
	if at.IsZero() {
		return otherwise
	}
	return at
}

// personKey identifies a person across attempts. It includes the name because a
// roster's IDs are valid within one attempt only.
type personKey struct{ id, name string }

// rosterID is an ID in the roster of one attempt.
type rosterID struct {
	attempt int
	id      string
}

// addPeople sets the participants and their speech. The same ID and name in
// several attempts is one participant. The same ID with another name is another
// participant with a new ID.
func (b *builder) addPeople() {
	participants := []recording.Participant{}
	b.speech, b.ids = []recording.Speech{}, map[rosterID]string{}
	indexes := map[personKey]int{}
	usedIDs := map[string]int{}
	for _, report := range b.reports {
		for _, person := range slices.SortedStableFunc(slices.Values(report.People), func(a, b ingest.Person) int {
			return a.JoinedAt.Compare(b.JoinedAt)
		}) {
			key := personKey{id: person.ID, name: person.Name}
			index, known := indexes[key]
			if !known {
				index = len(participants)
				indexes[key] = index
				participants = append(participants, recording.Participant{
					ID: uniqueID(person.ID, usedIDs), Name: person.Name, JoinedAt: recording.Instant{Time: person.JoinedAt},
				})
			}
			participants[index].LeftAt = recording.Instant{Time: person.LeftAt} // the last time, for a participant who returned
			b.ids[rosterID{report.Attempt, person.ID}] = participants[index].ID
		}
		for _, entry := range report.Speech { // what was before the recording, or of nobody in the roster, is left out
			id, known := b.ids[rosterID{report.Attempt, entry.PersonID}]
			from, to := max(0, b.offset(entry.From)), b.offset(entry.To)
			if known && to > from && !b.origin.IsZero() {
				b.speech = append(b.speech, recording.Speech{ParticipantID: id, StartMs: from.Milliseconds(), EndMs: to.Milliseconds()})
			}
		}
	}
	slices.SortStableFunc(participants, func(a, c recording.Participant) int {
		return a.JoinedAt.Compare(c.JoinedAt.Time) // or as the page lists them
	})
	slices.SortStableFunc(b.speech, func(a, c recording.Speech) int { return cmp.Compare(a.StartMs, c.StartMs) })
	b.participants = participants
}

// uniqueID returns the ID, with a suffix if it is already used. used holds the
// number of suffixes of each ID, so that a report with the same ID for many
// people takes linear time.
func uniqueID(id string, used map[string]int) string {
	unique := id
	for used[unique] > 0 {
		used[id]++
		unique = fmt.Sprintf("%s-%d", id, used[id])
	}
	used[unique]++
	return unique
}

// speechSource returns the evidence of speech in all reports.
func (b *builder) speechSource() recording.SpeechSource {
	page, audio := false, false
	for _, report := range b.reports {
		page = page || slices.Contains(report.SpeechSources, string(recording.SpeechByPage)) ||
			len(report.SpeechSources) == 0 && len(report.Speech) > 0 // of an earlier version
		audio = audio || slices.Contains(report.SpeechSources, string(recording.SpeechByAudio))
	}
	switch {
	case page && audio:
		return recording.SpeechByPageAndAudio
	case audio:
		return recording.SpeechByAudio
	case page:
		return recording.SpeechByPage
	}
	return recording.SpeechUnknown
}

// optional returns nil for an empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
