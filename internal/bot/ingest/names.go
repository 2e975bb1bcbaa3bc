package ingest

import (
	"fmt"
	"regexp"
	"strconv"
)

// Folders of the spool within a bot's folder. Files in the media folder are
// complete. A service on the same machine recovers files there that a lost bot
// did not upload.
const (
	SpoolDir      = "spool"
	SpoolMediaDir = "media"
)

// segmentName matches the name of a segment.
var segmentName = regexp.MustCompile(`^recording-(\d{3})-(\d{6})\.mp4s$`)

// SegmentName returns the name of a segment, by the number of its recording part
// and its number in it, both from 0. Names sort in the order of recording.
func SegmentName(part, sequence int) string {
	return fmt.Sprintf("recording-%03d-%06d.mp4s", part, sequence)
}

// ParseSegmentName is the inverse of SegmentName.
func ParseSegmentName(name string) (part, sequence int, ok bool) {
	return parseNumbers(segmentName, name)
}

// parseNumbers returns the two numbers in a name.
func parseNumbers(pattern *regexp.Regexp, name string) (first, second int, ok bool) {
	match := pattern.FindStringSubmatch(name)
	if match == nil {
		return 0, 0, false
	}
	first, _ = strconv.Atoi(match[1]) // digits
	second, _ = strconv.Atoi(match[2])
	return first, second, true
}

// bundleName and trackSegmentName match the names of a bundle and of the segments
// in it.
var (
	bundleName       = regexp.MustCompile(`^voices-(\d{6})\.tar$`)
	trackSegmentName = regexp.MustCompile(`^voice-(\d{3})-(\d{6})\.mp4s$`)
)

// BundleName returns the name of a bundle, by its number in the attempt, from 0. A
// bundle holds segments of several audio tracks, so that many participants cost
// no more uploads than one.
func BundleName(sequence int) string { return fmt.Sprintf("voices-%06d.tar", sequence) }

// IsBundleName reports whether name is the name of a bundle.
func IsBundleName(name string) bool { return bundleName.MatchString(name) }

// MaxAudioTracks is the maximum number of audio tracks of an attempt.
const MaxAudioTracks = 1000

// TrackSegmentName returns the name of a segment in a bundle, by the number of its
// audio track and its number in it, both from 0. Names sort in the order of
// recording.
func TrackSegmentName(track, sequence int) string {
	return fmt.Sprintf("voice-%03d-%06d.mp4s", track, sequence)
}

// ParseTrackSegmentName is the inverse of TrackSegmentName.
func ParseTrackSegmentName(name string) (track, sequence int, ok bool) {
	return parseNumbers(trackSegmentName, name)
}

// mediaName matches valid names of uploads: plain file names.
var mediaName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,99}$`)

// ValidMediaName reports whether a file of that name may be uploaded.
func ValidMediaName(name string) bool { return mediaName.MatchString(name) }
