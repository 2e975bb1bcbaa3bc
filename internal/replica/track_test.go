package replica

import (
	"testing"
	"time"
)

// boundTracks returns the tracks of a participant, bound without a connection.
func boundTracks(t *testing.T) (sound, picture *track) {
	t.Helper()
	shown, audio := testLoops()
	for i := range shown.units {
		shown.units[i] = make([]byte, 3000)
	}
	for i := range audio.units {
		audio.units[i] = make([]byte, 120)
	}
	from := &publisher{id: "p1", source: &source{video: shown, audio: audio}, soundOn: true, pictureOn: true}
	tracks, err := newTracks(from)
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range tracks {
		one.ssrc.Store(uint32(i + 1))
	}
	return tracks[0], tracks[1]
}

// Both tracks have the same stream, so that browsers synchronize them.
func TestTracksShareAStream(t *testing.T) {
	t.Parallel()
	sound, picture := boundTracks(t)
	if sound.StreamID() != picture.StreamID() || sound.ID() == picture.ID() {
		t.Errorf("streams %s and %s, tracks %s and %s", sound.StreamID(), picture.StreamID(), sound.ID(), picture.ID())
	}
}

// Audio and video start at the same full second, also after they were off.
func TestTracksBeginTogether(t *testing.T) {
	t.Parallel()
	sound, picture := boundTracks(t)
	send := func(now time.Duration) {
		for _, one := range []*track{sound, picture} {
			if err := one.send(now); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(3300 * time.Millisecond)
	if sound.packets+picture.packets != 0 {
		t.Errorf("%d packets before the whole second", sound.packets+picture.packets)
	}
	send(5 * time.Second)
	// One second has 50 audio packets and 25 frames of three packets each, plus the
	// first of the next second.
	if sound.packets != 51 || picture.packets != 26*3 {
		t.Errorf("a second has %d packets of sound and %d of picture", sound.packets, picture.packets)
	}
	sound.enabled = false
	send(5500 * time.Millisecond)
	sound.enabled = true
	send(5700 * time.Millisecond)
	if sound.packets != 51 {
		t.Errorf("a muted participant sent %d packets", sound.packets-51)
	}
	send(6 * time.Second)
	if sound.packets != 52 || sound.cursor.next != sound.cursor.loop.unitAt(6*time.Second)+1 {
		t.Errorf("after unmuting, packet %d of unit %d", sound.packets, sound.cursor.next)
	}
}

// The sender reports of both tracks are consistent, however late they are sent.
func TestReportsTieTracksTogether(t *testing.T) {
	t.Parallel()
	sound, picture := boundTracks(t)
	c := clock{start: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
	reports := 0
	for now := time.Duration(0); now < 30*time.Minute; now += 137 * time.Millisecond {
		for _, one := range []*track{sound, picture} {
			if err := one.send(now); err != nil {
				t.Fatal(err)
			}
			report := one.report(c, now)
			if report == nil {
				continue
			}
			reports++
			rate := uint64(one.cursor.loop.clockRate)
			elapsed := report.NTPTime - c.networkTime(0) // in parts of a second, 2^32 to one
			want := uint32(elapsed>>32*rate + elapsed&0xffffffff*rate>>32)
			got := report.RTPTime - one.base
			if offset := int32(got - want); offset < -1 || offset > 1 {
				t.Fatalf("track %s at %v: the report is %d ticks off", one.ID(), now, offset)
			}
		}
	}
	// At most one every half second.
	if most := 2 * 2 * 30 * 60; reports > most || reports < most*3/4 {
		t.Errorf("%d reports in half an hour, at most %d", reports, most)
	}
}
