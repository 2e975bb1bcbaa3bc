package ingest

import (
	"fmt"
	"regexp"
	"strconv"
)

// Where a bot keeps, within its folder, what it has for the service; whatever
// stands in the media folder is whole. A service on the same machine looks
// there for what a bot that is gone had no time to upload.
const (
	SpoolDir      = "spool"
	SpoolMediaDir = "media"
)

// segmentName is the shape of a segment's media name.
var segmentName = regexp.MustCompile(`^recording-(\d{3})-(\d{6})\.mp4s$`)

// SegmentName names a segment: which stretch of its attempt and which place
// in it, both from 0. Names sort in the order of recording.
func SegmentName(stretch, sequence int) string {
	return fmt.Sprintf("recording-%03d-%06d.mp4s", stretch, sequence)
}

// ParseSegmentName is the inverse of SegmentName.
func ParseSegmentName(name string) (stretch, sequence int, ok bool) {
	match := segmentName.FindStringSubmatch(name)
	if match == nil {
		return 0, 0, false
	}
	stretch, _ = strconv.Atoi(match[1]) // three digits
	sequence, _ = strconv.Atoi(match[2])
	return stretch, sequence, true
}

// bundleName and voiceSegmentName are the shapes of a bundle's media name and of
// what is in it.
var (
	bundleName       = regexp.MustCompile(`^voices-(\d{6})\.tar$`)
	trackSegmentName = regexp.MustCompile(`^voice-(\d{3})-(\d{6})\.mp4s$`)
)

// BundleName names a bundle of voices' segments: its place among those of the
// attempt, from 0. A bundle holds what all voices said within a moment, so that
// many participants cost no more uploads than one.
func BundleName(sequence int) string { return fmt.Sprintf("voices-%06d.tar", sequence) }

// IsBundleName reports whether a media name is a bundle's.
func IsBundleName(name string) bool { return bundleName.MatchString(name) }

// MostVoices is how many voices an attempt can name.
const MaxAudioTracks = 1000

// VoiceSegmentName names a voice's segment within a bundle: which voice of its
// attempt and which place in it, both from 0. Names sort in the order of
// recording.
func TrackSegmentName(voice, sequence int) string {
	return fmt.Sprintf("voice-%03d-%06d.mp4s", voice, sequence)
}

// ParseVoiceSegmentName is the inverse of VoiceSegmentName.
func ParseTrackSegmentName(name string) (voice, sequence int, ok bool) {
	match := trackSegmentName.FindStringSubmatch(name)
	if match == nil {
		return 0, 0, false
	}
	voice, _ = strconv.Atoi(match[1]) // three digits
	sequence, _ = strconv.Atoi(match[2])
	return voice, sequence, true
}

// mediaName is what any media name must look like: a plain file name.
var mediaName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,99}$`)

// ValidMediaName reports whether a name may be uploaded.
func ValidMediaName(name string) bool { return mediaName.MatchString(name) }
