package recording

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"standin/internal/ingest"
	"standin/internal/job"
)

// Facts is what the service knows of a job when its manifest is written.
type ManifestInput struct {
	Job      job.Job
	Consents []Consent

	// What the service heard of the bot as it happened. It counts where no
	// report tells, as with a bot that uploads none.
	ObservedTimeline Timeline
	EndReason        string
	EndDetail        string

	// BotLost says that the last attempt's bot did not finish by itself.
	BotLost bool
}

// Build makes the manifest of a job: of what the service knows, of the last
// report of each attempt, and of what was packed. It depends on nothing else.
func Build(facts ManifestInput, reports []ingest.Report, packed Packed, baseURL string) Manifest {
	b := newBuilder(facts, reports, packed)
	participants, speech, ids := b.people()
	manifest := Manifest{
		SchemaVersion: SchemaVersion,
		JobID:         facts.Job.ID.String(),
		ExternalID:    facts.Job.ExternalID,
		Platform:      string(facts.Job.Platform),
		MeetingURL:    facts.Job.MeetingURL,
		Metadata:      facts.Job.Metadata,
		Bot:           Bot{Name: facts.Job.DisplayName, Version: b.version()},
		Timeline:      b.timeline(),
		End:           b.end(),
		Partial:       b.partial(),
		Gaps:          b.gaps(),
		Media:         b.media(baseURL, ids),
		Participants:  participants,
		Speech:        speech,
		Consent:       append([]Consent{}, facts.Consents...),
	}
	if len(manifest.Metadata) == 0 {
		manifest.Metadata = json.RawMessage("{}")
	}
	return manifest
}

// builder holds what the parts of a manifest are made of.
type builder struct {
	facts   ManifestInput
	reports []ingest.Report // by attempt
	packed  Packed
	origin  time.Time // when the recording started; zero when nobody knows
	kept    []kept
}

// kept is a stretch of which something is in a file: from when until when, on
// the recording's clock.
type kept struct {
	PackedPart
	from, to time.Duration
}

func newBuilder(facts ManifestInput, reports []ingest.Report, packed Packed) *builder {
	b := &builder{facts: facts, reports: slices.Clone(reports), packed: packed}
	slices.SortStableFunc(b.reports, func(a, c ingest.Report) int { return cmp.Compare(a.Attempt, c.Attempt) })
	b.origin = b.startedAt()
	for _, stretch := range packed.Parts {
		if stretch.File == "" {
			continue
		}
		from := b.offset(stretch.StartedAt)
		if stretch.StartedAt.IsZero() { // nobody knows: as if it followed at once
			from = b.keptUntil()
		}
		b.kept = append(b.kept, kept{PackedPart: stretch, from: from, to: from + stretch.Length})
	}
	return b
}

// startedAt is when the first stretch of all began.
func (b *builder) startedAt() time.Time {
	var first time.Time
	consider := func(at time.Time) {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, stretch := range b.packed.Parts {
		consider(stretch.StartedAt)
	}
	for _, report := range b.reports {
		for _, stretch := range report.Parts {
			consider(stretch.StartedAt)
		}
	}
	if first.IsZero() {
		return b.facts.ObservedTimeline.RecordingStartedAt.Time
	}
	return first
}

// offset is where a moment is on the recording's clock.
func (b *builder) offset(at time.Time) time.Duration {
	return at.Sub(b.origin).Round(time.Millisecond)
}

// keptUntil is the end of what was kept so far.
func (b *builder) keptUntil() time.Duration {
	end := time.Duration(0)
	for _, stretch := range b.kept {
		end = max(end, stretch.to)
	}
	return end
}

// told is what the reports say of a stretch.
func (b *builder) told(attempt, number int) (ingest.RecordingPart, bool) {
	for _, report := range b.reports {
		for _, stretch := range report.Parts {
			if report.Attempt == attempt && stretch.Number == number {
				return stretch, true
			}
		}
	}
	return ingest.RecordingPart{}, false
}

// last is the report of the last attempt that made one.
func (b *builder) last() ingest.Report {
	if len(b.reports) == 0 {
		return ingest.Report{}
	}
	return b.reports[len(b.reports)-1]
}

func (b *builder) version() *string { return optional(b.last().BotVersion) }

func (b *builder) end() End {
	reason, detail := b.last().EndReason, b.last().EndDetail
	if reason == "" {
		reason, detail = b.facts.EndReason, b.facts.EndDetail
	}
	return End{Reason: cmp.Or(reason, EndUnknown), Detail: optional(detail)}
}

// optional is nil for no text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// timeline tells of the whole visit: the first attempt's beginning, the last
// one's end.
func (b *builder) timeline() Timeline {
	var joined, admitted, stopped time.Time
	for _, report := range b.reports {
		joined = firstKnown(joined, report.JoinedAt)
		admitted = firstKnown(admitted, report.AdmittedAt)
	}
	if last := len(b.kept) - 1; last >= 0 && !b.origin.IsZero() {
		stopped = b.origin.Add(b.keptUntil())
		if told, ok := b.told(b.kept[last].Attempt, b.kept[last].Number); ok && told.Complete && !told.EndedAt.IsZero() {
			stopped = told.EndedAt
		}
	}
	heard := b.facts.ObservedTimeline
	instant := func(at time.Time, heard Instant) Instant { return Instant{firstKnown(at, heard.Time)} }
	return Timeline{
		JoinedAt:           instant(joined, heard.JoinedAt),
		AdmittedAt:         instant(admitted, heard.AdmittedAt),
		RecordingStartedAt: Instant{b.origin},
		RecordingStoppedAt: instant(stopped, heard.RecordingStoppedAt),
		LeftAt:             instant(b.last().LeftAt, heard.LeftAt),
	}
}

func firstKnown(at, otherwise time.Time) time.Time {
	if at.IsZero() {
		return otherwise
	}
	return at
}

// media lists the packed files with their addresses. ids are those of people.
func (b *builder) media(baseURL string, ids rosterIDs) []Media {
	media := make([]Media, 0, len(b.packed.Files))
	for _, file := range b.packed.Files {
		first := slices.IndexFunc(b.kept, func(k kept) bool { return k.File == file.Name })
		if first >= 0 {
			file.StartOffsetMs = b.kept[first].from.Milliseconds()
		}
		spoken := slices.IndexFunc(b.packed.Tracks, func(voice PackedTrack) bool { return voice.File == file.Name })
		if spoken >= 0 {
			voice := b.packed.Tracks[spoken]
			if !b.origin.IsZero() {
				file.StartOffsetMs = max(0, b.offset(voice.StartedAt)).Milliseconds()
			}
			file.ParticipantID = ids[rosterID{voice.Attempt, voice.PersonID}]
		}
		media = append(media, Media{File: file, URI: MediaURI(baseURL, b.facts.Job.ID.String(), file.Name)})
	}
	return media
}

// MediaURI is where a job's media file is read (contract, Jobs).
func MediaURI(baseURL, jobID, name string) string {
	return jobURI(baseURL, jobID) + "/media/" + name
}

// ManifestURI is where a job's manifest is read (contract, Jobs).
func ManifestURI(baseURL, jobID string) string {
	return jobURI(baseURL, jobID) + "/manifest"
}

func jobURI(baseURL, jobID string) string {
	return strings.TrimSuffix(baseURL, "/") + "/api/v1/jobs/" + jobID
}
