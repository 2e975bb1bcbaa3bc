package ingest

import (
	"fmt"
	"regexp"
	"strconv"
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

// mediaName is what any media name must look like: a plain file name.
var mediaName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,99}$`)

// ValidMediaName reports whether a name may be uploaded.
func ValidMediaName(name string) bool { return mediaName.MatchString(name) }
