package rtms

import (
	"bytes"
	"crypto/rand"
	"slices"
	"time"

	"standin/internal/bot/recorder"
	"standin/internal/recording"
)

// camera is the video of a participant, or a shared screen, as far as it arrives: H.264 in access units of NAL units
// (ITU-T H.264, annex B). Nothing is decoded.
type camera struct {
	piece    *recorder.Piece // nil before a key frame
	settings [2][]byte       // the last sequence and picture parameter sets
	picture  picture         // the last one, of which more may come
}

// source is the sound, the camera or the shared screen of somebody.
type source struct {
	kind int
	user string
}

type picture struct {
	at   time.Time
	data []byte
}

// Types of NAL units.
const (
	nalKeyFrame = 5
	nalSequence = 7
	nalPicture  = 8
)

// startCode begins a NAL unit.
var startCode = []byte{0, 0, 0, 1}

// addFrame adds a packet of video. A piece begins with a key frame, and has one set of parameters.
func (r *Recording) addFrame(p packet, at time.Time) {
	key := source{p.kind, p.user}
	c := r.cameras[key]
	if c == nil {
		c = &camera{}
		r.cameras[key] = c
	}
	settings, added, isKey := c.settings, []byte(nil), false
	for _, unit := range bytes.Split(p.data, startCode[1:]) {
		if unit = bytes.TrimRight(unit, "\x00"); len(unit) == 0 {
			continue
		}
		switch kind := unit[0] & 0x1F; kind {
		case nalSequence, nalPicture:
			settings[kind-nalSequence] = unit
			continue
		case nalKeyFrame:
			isKey = true
		}
		added = append(append(added, startCode...), unit...)
	}
	if !slices.EqualFunc(settings[:], c.settings[:], bytes.Equal) {
		r.endCamera(c)
	}
	c.settings = settings
	if isKey && (c.piece == nil || at.After(c.picture.at)) {
		added = append(bytes.Join([][]byte{nil, settings[0], settings[1]}, startCode), added...)
	}
	switch {
	case c.piece == nil && (!isKey || settings[0] == nil || settings[1] == nil):
	case c.piece == nil:
		track := recorder.ParticipantTrack{ID: rand.Text(), TrackID: p.user + " camera", PersonID: p.user, StartedAt: at}
		if track.Kind = string(recording.ParticipantVideo); p.kind == share {
			track.TrackID, track.Kind = p.user+" screen", string(recording.ScreenShare)
		}
		c.piece, c.picture = recorder.NewPiece(track, recorder.H264, 0, 0), picture{at, added}
	case at.Before(c.picture.at) || len(added) == 0:
	case at.Equal(c.picture.at): // another slice, or the same packet again
		if len(c.picture.data) < maxMessage && !bytes.Contains(c.picture.data, added) {
			c.picture.data = append(c.picture.data, added...)
		}
	default:
		c.piece.Add(c.picture.at.Sub(c.piece.StartedAt), c.picture.data)
		c.picture = picture{at, added}
	}
}

// endCamera ends the piece of a camera, if there is one.
func (r *Recording) endCamera(c *camera) {
	if c.piece == nil {
		return
	}
	c.piece.Add(c.picture.at.Sub(c.piece.StartedAt), c.picture.data)
	r.parts, c.piece = c.piece.AppendPart(r.parts, true), nil
}
