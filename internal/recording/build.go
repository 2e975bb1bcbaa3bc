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

// ManifestInput is the service's data about a job for its manifest.
type ManifestInput struct {
	Job      job.Job
	Consents []Consent
	Texts    []job.MeetingText // chat messages and captions

	// Values that the service received from the bot during the meeting. They
	// are used where the reports have no value.
	ObservedTimeline Timeline
	EndReason        string
	EndDetail        string

	// BotLost is true when the last attempt's bot did not finish the job.
	BotLost bool
}

// Build returns the manifest of a job, from the service's data, the last report
// of each attempt and the packed media. It depends on nothing else.
func Build(input ManifestInput, reports []ingest.Report, packed Packed, baseURL string) Manifest {
	b := newBuilder(input, reports, packed)
	participants, speech, ids := b.people()
	manifest := Manifest{
		SchemaVersion: SchemaVersion,
		JobID:         input.Job.ID.String(),
		ExternalID:    input.Job.ExternalID,
		Platform:      string(input.Job.Platform),
		MeetingURL:    input.Job.MeetingURL,
		Metadata:      input.Job.Metadata,
		Bot:           Bot{Name: input.Job.DisplayName, Version: b.version()},
		Timeline:      b.timeline(),
		End:           b.end(),
		Partial:       b.partial(),
		Gaps:          b.gaps(),
		MediaFaults:   b.mediaFaults(),
		Media:         b.media(baseURL, ids),
		Participants:  participants,
		Speech:        speech,
		SpeechSource:  b.speechSource(),
		Consent:       append([]Consent{}, input.Consents...),
	}
	if len(manifest.Metadata) == 0 {
		manifest.Metadata = json.RawMessage("{}")
	}
	return manifest
}

func (b *builder) version() *string { return optional(b.lastReport().BotVersion) }

func (b *builder) end() End {
	reason, detail := b.lastReport().EndReason, b.lastReport().EndDetail
	if reason == "" {
		reason, detail = b.input.EndReason, b.input.EndDetail
	}
	return End{Reason: cmp.Or(reason, EndUnknown), Detail: optional(detail)}
}

// optional returns nil for an empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// timeline covers all attempts, from the start of the first to the end of the last.
func (b *builder) timeline() Timeline {
	var joined, admitted, stopped time.Time
	for _, report := range b.reports {
		joined = firstNonZero(joined, report.JoinedAt)
		admitted = firstNonZero(admitted, report.AdmittedAt)
	}
	if last := len(b.keptParts) - 1; last >= 0 && !b.origin.IsZero() {
		stopped = b.origin.Add(b.keptEnd())
		if reported, ok := b.reportedPart(b.keptParts[last].Attempt, b.keptParts[last].Number); ok && reported.Complete && !reported.EndedAt.IsZero() {
			stopped = reported.EndedAt
		}
	}
	observed := b.input.ObservedTimeline
	instant := func(reported time.Time, observed Instant) Instant {
		return Instant{firstNonZero(reported, observed.Time)}
	}
	return Timeline{
		JoinedAt:           instant(joined, observed.JoinedAt),
		AdmittedAt:         instant(admitted, observed.AdmittedAt),
		RecordingStartedAt: Instant{b.origin},
		RecordingStoppedAt: instant(stopped, observed.RecordingStoppedAt),
		LeftAt:             instant(b.lastReport().LeftAt, observed.LeftAt),
	}
}

// media lists the packed files with their URLs. ids are the participants' IDs.
func (b *builder) media(baseURL string, ids rosterIDs) []Media {
	media := make([]Media, 0, len(b.packed.Files))
	for _, file := range b.packed.Files {
		first := slices.IndexFunc(b.keptParts, func(k keptPart) bool { return k.File == file.Name })
		if first >= 0 {
			file.StartOffsetMs = b.keptParts[first].from.Milliseconds()
		}
		trackIndex := slices.IndexFunc(b.packed.Tracks, func(track PackedTrack) bool { return track.File == file.Name })
		if trackIndex >= 0 {
			track := b.packed.Tracks[trackIndex]
			if !b.origin.IsZero() {
				file.StartOffsetMs = max(0, b.offset(track.StartedAt)).Milliseconds()
			}
			file.ParticipantID = ids[rosterID{track.Attempt, track.PersonID}]
		}
		media = append(media, Media{File: file, URI: MediaURI(baseURL, b.input.Job.ID.String(), file.Name)})
	}
	return media
}

// MediaURI returns the URL of a job's media file.
func MediaURI(baseURL, jobID, name string) string {
	return jobURI(baseURL, jobID) + "/media/" + name
}

// ManifestURI returns the URL of a job's manifest.
func ManifestURI(baseURL, jobID string) string {
	return jobURI(baseURL, jobID) + "/manifest"
}

func jobURI(baseURL, jobID string) string {
	return strings.TrimSuffix(baseURL, "/") + "/api/v1/jobs/" + jobID
}
