package rtms_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/meeting"
	"standin/internal/bot/recorder"
	"standin/internal/bot/rtms"
	"standin/internal/jobs/job"
	"standin/internal/replica/rtmsdouble"
	"standin/internal/testing/await"
)

var server = sync.OnceValues(rtmsdouble.StartTrusted)

var (
	ada = rtmsdouble.Person{ID: 16778240, Name: "Ada", Tone: 440}
	ben = rtmsdouble.Person{ID: 33556610, Name: "Ben", Tone: 660}
)

// open opens a meeting and a bot for it.
func open(t *testing.T, of rtmsdouble.Settings, change func(*rtms.Settings)) (*rtmsdouble.Meeting, *rtms.Meeting) {
	t.Helper()
	double, err := server()
	if err != nil {
		t.Fatal(err)
	}
	m := double.Open(of)
	settings := rtms.Settings{
		Stream: *m.Stream(), Chat: true, Captions: true, Height: 720, FramesPerSecond: 25, Loopback: true, Backlog: true,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if change != nil {
		change(&settings)
	}
	bot := rtms.New(settings)
	t.Cleanup(func() { _ = bot.Close() })
	return m, bot
}

func join(t *testing.T, bot *rtms.Meeting) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return bot.Join(ctx, nil, meeting.JoinOptions{})
}

// observe observes the meeting until a condition holds.
func observe(t *testing.T, bot *rtms.Meeting, what string, holds func(meeting.Observation) bool) meeting.Observation {
	t.Helper()
	var seen meeting.Observation
	await.Until(t, what, func() bool {
		var err error
		if seen, err = bot.Observe(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		return holds(seen)
	})
	return seen
}

func names(seen meeting.Observation) string {
	var all []string
	for _, p := range seen.Participants {
		all = append(all, p.Name)
	}
	return strings.Join(all, ",")
}

// TestPeople: who is in the meeting and who speaks comes from events and from the sound of each person; texts have
// their person, also when two have the same name.
func TestPeople(t *testing.T) {
	t.Parallel()
	m, bot := open(t, rtmsdouble.Settings{KeepAlive: 200 * time.Millisecond}, nil)
	m.Join(ada)
	if err := join(t, bot); err != nil {
		t.Fatal(err)
	}
	seen := observe(t, bot, "Ada", func(o meeting.Observation) bool { return names(o) == "Ada" })
	if seen.Screen != meeting.InMeeting || seen.Admission(time.Now()) == nil || seen.Others != 1 {
		t.Errorf("%+v", seen)
	}
	other := rtmsdouble.Person{ID: 5, Name: "Ada", Tone: 880}
	m.Join(ben, other)
	observe(t, bot, "all three", func(o meeting.Observation) bool { return names(o) == "Ada,Ben,Ada" })
	await.Until(t, "the connection of the texts", func() bool { return m.Connected(rtmsdouble.Chat) && m.Connected(rtmsdouble.Transcript) })
	from := time.Now().Add(-time.Second)
	m.Say(other.ID, "Guten Tag", from, from.Add(time.Second))
	m.Write(ada.ID, "hello\x00\u202e all")
	var texts []ingest.Text
	observe(t, bot, "both texts", func(o meeting.Observation) bool { texts = append(texts, o.Texts...); return len(texts) == 2 })
	slices.SortFunc(texts, func(a, b ingest.Text) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
	if said := texts[0]; said.Kind != job.CaptionText || said.ParticipantID != "5" || said.Author != "Ada" || said.Language != "en" ||
		said.EndedAt.Sub(said.StartedAt) != time.Second || said.StartedAt.Sub(from).Abs() > time.Second {
		t.Errorf("caption %+v", said)
	}
	if wrote := texts[1]; wrote.Kind != job.ChatText || wrote.ParticipantID != "16778240" || wrote.Text != "hello\u202e all" {
		t.Errorf("message %+v", wrote)
	}
	m.Leave(ada.ID)
	observe(t, bot, "that Ada left", func(o meeting.Observation) bool { return names(o) == "Ben,Ada" })
	m.Raw(rtmsdouble.Audio, map[string]any{"msg_type": 14, "content": map[string]any{ // that was on its way
		"user_id": ada.ID, "user_name": "Ada", "data": "AAAA", "timestamp": from.UnixMilli(),
	}})
	m.Write(ben.ID, "Bye")
	observe(t, bot, "the message after the packet", func(o meeting.Observation) bool { return len(o.Texts) > 0 && names(o) == "Ben,Ada" })
	if err := bot.Leave(t.Context(), nil); err != nil {
		t.Error(err)
	}
	await.Until(t, "the end of the stream", m.Over)
}

// TestRefused: each status of a handshake is said in words, and what it means.
func TestRefused(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]meeting.Screen{2: meeting.Ended, 3: meeting.SignInWall, 4: meeting.BotWall, 99: meeting.BotWall} {
		_, bot := open(t, rtmsdouble.Settings{Refusals: []int{status}}, nil)
		var refused *meeting.ScreenError
		if err := join(t, bot); !errors.As(err, &refused) || refused.Observation.Screen != want || !strings.Contains(refused.Observation.Evidence, "refuses") {
			t.Errorf("status %d: %v", status, err)
		}
	}
	_, bot := open(t, rtmsdouble.Settings{}, func(s *rtms.Settings) { s.Stream.Signature = "00" })
	if err := join(t, bot); err == nil || !strings.Contains(err.Error(), "the signature is wrong: the client secret") {
		t.Errorf("a wrong signature: %v", err)
	}
	_, bot = open(t, rtmsdouble.Settings{}, func(s *rtms.Settings) { s.Stream.ServerURLs = "ws" + strings.TrimPrefix(s.Stream.ServerURLs, "wss") })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := bot.Join(ctx, nil, meeting.JoinOptions{}); err == nil {
		t.Error("a connection that is not encrypted")
	}
	m, bot := open(t, rtmsdouble.Settings{Refusals: []int{8, 45, 0, 0, 16}}, nil) // that end
	m.Join(ada)
	if err := join(t, bot); err != nil {
		t.Errorf("temporary statuses: %v", err)
	}
	observe(t, bot, "Ada after temporary statuses", func(o meeting.Observation) bool { return names(o) == "Ada" })
}

// TestStops: each reason of an end says how the meeting ended.
func TestStops(t *testing.T) {
	t.Parallel()
	for reason := range 27 {
		m, bot := open(t, rtmsdouble.Settings{}, nil)
		if err := join(t, bot); err != nil {
			t.Fatal(err)
		}
		m.Stop(reason)
		seen := observe(t, bot, "the end", func(o meeting.Observation) bool { return o.Screen.Terminal() })
		want := meeting.Ended // also after the reasons for which the bot connects again: the double has forgotten the stream
		if slices.Contains([]int{1, 2, 4, 5, 7, 8, 9, 18, 23}, reason) {
			want = meeting.Removed
		}
		if seen.Screen != want || seen.Revoked != (reason == 8) || seen.Evidence == "" {
			t.Errorf("reason %d: %+v", reason, seen)
		}
	}
}

// TestReconnects: lost connections are restored, and the meeting goes on.
func TestReconnects(t *testing.T) {
	t.Parallel()
	m, bot := open(t, rtmsdouble.Settings{}, nil)
	m.Join(ada)
	if err := join(t, bot); err != nil {
		t.Fatal(err)
	}
	for _, cut := range [][]int{{}, {rtmsdouble.Audio}} {
		connected := func(meeting.Observation) bool {
			return m.Connected(rtmsdouble.Audio) && m.Connected(rtmsdouble.Video) && m.Connected(rtmsdouble.Chat)
		}
		observe(t, bot, "all connections", connected)
		m.Cut(cut...)
		observe(t, bot, "the loss", func(o meeting.Observation) bool { return o.Screen == meeting.Reconnecting })
		observe(t, bot, "the meeting again", func(o meeting.Observation) bool {
			return o.Screen == meeting.InMeeting && connected(o) && names(o) == "Ada"
		})
	}
}

// listener keeps the live sound.
type listener struct {
	mu    sync.Mutex
	heard map[string][]byte
}

func (l *listener) Wanted() (ingest.SoundWanted, <-chan struct{}) {
	return ingest.SoundWanted{Mixed: true, Participants: true}, nil
}

func (l *listener) Hear(sound []recorder.LiveSound) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range sound {
		l.heard[s.TrackID] = append(l.heard[s.TrackID], s.PCM...)
	}
}

// has reports whether a participant, or everybody, was heard for a second.
func (l *listener) has(who string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.heard[who]) >= 2*ingest.SoundRate
}

// TestLiveSound: listeners hear each participant and the mixed sound while it is followed or recorded.
func TestLiveSound(t *testing.T) {
	t.Parallel()
	m, bot := open(t, rtmsdouble.Settings{}, func(s *rtms.Settings) { s.Backlog = false })
	m.Join(ada, ben)
	m.Talk(ada.ID, ben.ID)
	if err := join(t, bot); err != nil {
		t.Fatal(err)
	}
	ear := &listener{heard: make(map[string][]byte)}
	following, err := bot.Record(t.Context(), recorder.Settings{LiveSound: ear}, nil)
	if err != nil {
		t.Fatal(err)
	}
	observe(t, bot, "live sound", func(o meeting.Observation) bool {
		return ear.has("") && ear.has("16778240") && ear.has("33556610") && o.Participants[0].Speaking && o.Participants[1].Speaking
	})
	if stats := following.Stats(); stats.LastSoundAt.IsZero() || len(stats.SoundChanges) != 1 || !stats.SoundChanges[0].Sound {
		t.Errorf("%+v", stats)
	}
	following.Close()
	ear.mu.Lock()
	defer ear.mu.Unlock()
	for _, who := range []rtmsdouble.Person{ada, ben} {
		packets := slices.DeleteFunc(m.Packets(), func(p rtmsdouble.Packet) bool { return p.Person != who.ID })
		heard := ear.heard[strconv.Itoa(who.ID)]
		first := slices.IndexFunc(packets, func(p rtmsdouble.Packet) bool { return bytes.HasPrefix(heard, p.PCM) })
		if first < 0 {
			t.Fatalf("%s is not heard as he spoke", who.Name)
		}
		if missing, misplaced := rtmsdouble.Check(packets[first:first+len(heard)/1920], [][]byte{heard}); missing > 0 || misplaced > 0 {
			t.Errorf("%s: %d packets are missing, %d not at their place", who.Name, missing, misplaced)
		}
	}
}

// keeper is a sink and keeps the segments and tracks.
type keeper struct {
	mu       sync.Mutex
	segments []byte
	tracks   map[string][]byte
	fail     error
}

func (k *keeper) Append(chunk recorder.Chunk) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.segments = append(k.segments, chunk.Data...)
	return k.fail
}

func (k *keeper) AppendTracks(parts []recorder.ParticipantTrackPart) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, part := range parts {
		k.tracks[part.ID] = append(k.tracks[part.ID], slices.Concat(part.Chunks...)...)
	}
	return nil
}

// TestHostileServer: a server that sends nonsense costs neither the recording nor memory.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	m, bot := open(t, rtmsdouble.Settings{}, nil)
	m.Join(ada)
	m.Talk(ada.ID)
	if err := join(t, bot); err != nil {
		t.Fatal(err)
	}
	kept := &keeper{tracks: make(map[string][]byte)}
	recording, err := bot.Record(t.Context(), recorder.Settings{ParticipantAudio: kept, Tracks: kept}, kept)
	if err != nil {
		t.Fatal(err)
	}
	now, packet := time.Now().UnixMilli(), func(kind int, content map[string]any) {
		m.Raw(rtmsdouble.Audio, map[string]any{"msg_type": 14 + kind, "content": content})
	}
	long := strings.Repeat("\u202e", 1<<20)
	for _, timestamp := range []int64{-1 << 62, -1, 0, now + 1<<40, 1 << 62, now} {
		for _, data := range []string{"", "A", "!!!!", "AA==", "AAAA", strings.Repeat("AAAA", 1<<18), "AAABZwAAAWgAAAFl", "AAABZ0IAHwAAAWgAAAABZQ=="} {
			for kind := range 5 {
				packet(kind, map[string]any{"user_id": ada.ID, "user_name": "Ada", "data": data, "timestamp": timestamp, "start_time": timestamp, "language": 99})
			}
		}
	}
	packet(3, map[string]any{"user_id": long, "user_name": long, "data": long, "timestamp": now, "end_time": -1})
	for _, kind := range []int{0, 1, 3, 4, 5, 6, 9, 1 << 40} {
		m.Raw(-1, map[string]any{"msg_type": 6, "event": map[string]any{"event_type": kind, "user_id": nil, "participants": []any{map[string]any{"user_id": "x\x00y"}}}})
	}
	m.Raw(-1, map[string]any{"msg_type": 8, "state": -5, "reason": "none"})
	m.Raw(-1, map[string]any{"msg_type": 12, "timestamp": 1 << 60})
	m.Pass(2 * time.Second)
	seen := observe(t, bot, "the meeting", func(o meeting.Observation) bool {
		return o.Screen == meeting.InMeeting && len(o.Participants) > 0
	})
	for _, p := range seen.Participants {
		if len([]rune(p.ID)) > ingest.MaxAuthorCharacters || len([]rune(p.Name)) > ingest.MaxAuthorCharacters {
			t.Errorf("participant %.80s", p.ID)
		}
	}
	if err := recording.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if stats := recording.Stats(); stats.Recorded < time.Second || stats.Recorded > time.Minute || len(kept.segments) > 10<<20 || len(kept.tracks) > 10 {
		t.Errorf("%+v, %d bytes, %d tracks", stats, len(kept.segments), len(kept.tracks))
	}
}

// TestFullDisk: a recording whose disk is full ends with that error, and another one can begin.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	m, bot := open(t, rtmsdouble.Settings{}, nil)
	m.Join(ada)
	m.Talk(ada.ID)
	if err := join(t, bot); err != nil {
		t.Fatal(err)
	}
	full := &keeper{fail: errors.New("the disk is full")}
	recording, err := bot.Record(t.Context(), recorder.Settings{}, full)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-recording.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("it goes on")
	}
	if !errors.Is(recording.Err(), full.fail) {
		t.Error(recording.Err())
	}
	kept := &keeper{}
	if recording, err = bot.Record(t.Context(), recorder.Settings{}, kept); err != nil {
		t.Fatal(err)
	}
	m.Pass(time.Second)
	if err := recording.Stop(t.Context()); err != nil || len(kept.segments) == 0 {
		t.Errorf("%d bytes, %v", len(kept.segments), err)
	}
}

// TestVideoInPieces: parameter sets and slices may come in packets of their own; other parameters begin another file.
func TestVideoInPieces(t *testing.T) {
	t.Parallel()
	m, bot := open(t, rtmsdouble.Settings{}, nil)
	m.Join(ada)
	if err := join(t, bot); err != nil {
		t.Fatal(err)
	}
	kept := &keeper{tracks: make(map[string][]byte)}
	recording, err := bot.Record(t.Context(), recorder.Settings{Tracks: kept}, kept)
	if err != nil {
		t.Fatal(err)
	}
	observe(t, bot, "the media", func(meeting.Observation) bool { return m.Connected(rtmsdouble.Video) })
	at := time.Now().UnixMilli() + 200 // what was before the recording began is not in it
	for _, width := range []int{320, 640} {
		frames, err := rtmsdouble.MakeVideo(width, 180)
		if err != nil {
			t.Skip(err)
		}
		for _, unit := range frames[:10] {
			for _, nal := range bytes.Split(unit, []byte{0, 0, 1})[1:] {
				data := base64.StdEncoding.EncodeToString(append([]byte{0, 0, 1}, bytes.TrimRight(nal, "\x00")...))
				for range 2 { // doubled
					m.Raw(rtmsdouble.Video, map[string]any{"msg_type": 15, "content": map[string]any{
						"user_id": ada.ID, "user_name": "Ada", "data": data, "timestamp": at,
					}})
				}
			}
			at += 40
		}
	}
	if err := m.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := recording.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	var sizes []string
	for _, track := range kept.tracks {
		path := filepath.Join(t.TempDir(), "track.mp4")
		if err := os.WriteFile(path, track, 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=width,nb_read_frames", "-of",
			"csv=p=0", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, strings.TrimSpace(string(found)))
	}
	if slices.Sort(sizes); !slices.Equal(sizes, []string{"320,10", "640,10"}) {
		t.Errorf("widths and frames %v", sizes)
	}
}
