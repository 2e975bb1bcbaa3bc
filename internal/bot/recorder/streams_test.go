package recorder_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"standin/internal/bot/recorder"
)

// streamsPath is the path of streamsPage.
const streamsPath = "/streams"

// streamsPolicy is the strictest policy that lets streamsPage run.
const streamsPolicy = "default-src 'none'; script-src 'unsafe-inline'; worker-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// streamsPage receives the video of a participant in a codec, as its query says, of 640x360 and after resize() of another
// size, and plays it. With ?takes it removes the bot's transform, with ?late the bot can set none, with ?garbled the frames are
// encrypted, and with ?itself it has no connection.
const streamsPage = `<!doctype html><meta charset=utf-8><title>Streams</title><video id=shown muted autoplay></video><script>
{
	const query = new URLSearchParams(location.search), canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
	let count = 0;
	window.resize = (width, height) => Object.assign(canvas, {width, height});
	resize(640, 360);
	setInterval(() => {
		pen.fillStyle = "hsl(" + count * 7 % 360 + ", 80%, 50%)";
		pen.fillRect(0, 0, canvas.width, canvas.height);
		pen.fillStyle = "black";
		pen.fillRect(count++ % 300, 100, 40, 40);
	}, 40);
	window.join = async () => {
		const caller = window.caller = new RTCPeerConnection({encodedInsertableStreams: query.has("garbled")});
		const called = window.called = new RTCPeerConnection();
		caller.onicecandidate = e => called.addIceCandidate(e.candidate);
		called.onicecandidate = e => caller.addIceCandidate(e.candidate);
		called.ontrack = ({track, receiver}) => {
			window.track = track.id;
			if (query.has("takes")) receiver.transform = null; // its own code takes the frames
			shown.srcObject = new MediaStream([track]);
		};
		const sender = caller.addTransceiver(canvas.captureStream(25).getVideoTracks()[0]);
		if (query.has("garbled")) { // encrypted
			const {readable, writable} = sender.sender.createEncodedStreams();
			readable.pipeThrough(new TransformStream({transform(frame, controller) {
				const data = new Uint8Array(frame.data);
				for (let i = 3; i < data.length; i++) data[i] ^= 0x55;
				frame.data = data.buffer;
				controller.enqueue(frame);
			}})).pipeTo(writable);
		}
		sender.setCodecPreferences(RTCRtpSender.getCapabilities("video").codecs.filter(c => c.mimeType === "video/" + (query.get("codec") ?? "VP8")));
		await caller.setLocalDescription();
		await called.setRemoteDescription(caller.localDescription);
		await called.setLocalDescription();
		await caller.setRemoteDescription(called.localDescription);
	};
	if (query.has("late")) window.RTCRtpScriptTransform = undefined;
	if (!query.has("itself")) join();
}
</script>`

// videoPieces returns the pieces of a sink, decoded with ffprobe.
type videoPiece struct {
	storedTrack
	Codec         string `json:"codec_name"`
	Width, Height int
	Frames        string `json:"nb_read_frames"`
	path          string
}

func videoPieces(t *testing.T, sink *trackSink) []videoPiece {
	t.Helper()
	var pieces []videoPiece
	for _, track := range sink.taken() {
		piece := videoPiece{storedTrack: track, path: filepath.Join(t.TempDir(), "piece.ivf")}
		if err := os.WriteFile(piece.path, track.content, 0o600); err != nil {
			t.Fatal(err)
		}
		var errors bytes.Buffer
		command := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-count_frames", "-of", "json", "-show_entries",
			"stream=codec_name,width,height,nb_read_frames", piece.path)
		command.Stderr = &errors
		output, err := command.Output()
		if err != nil || errors.Len() > 0 {
			t.Fatalf("ffprobe: %v\n%s", err, errors.String())
		}
		var probed struct{ Streams []json.RawMessage }
		if err := json.Unmarshal(output, &probed); err != nil || len(probed.Streams) != 1 {
			t.Fatalf("%v: %s", err, output)
		}
		if err := json.Unmarshal(probed.Streams[0], &piece); err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, piece)
	}
	return pieces
}

// awaitStreams waits until the recorder has decided about streams.
func awaitStreams(t *testing.T, ctx context.Context, r *recorder.Recorder) recorder.Stats {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if stats := r.Stats(); stats.Streams != recorder.StreamsOff {
			return stats
		}
		select {
		case <-ticker.C:
		case <-r.Done():
			t.Fatalf("the recording ended: %v", r.Err())
		case <-ctx.Done():
			t.Fatal("nothing was decided about streams")
		}
	}
}

// recordStreams opens the page with a query and records it.
func recordStreams(t *testing.T, query string) (context.Context, fixture, *recorder.Recorder, *trackSink, *memorySink) {
	t.Helper()
	ctx, setup := prepare(t, "?still")
	setup = setup.open(t, ctx, strings.TrimPrefix(streamsPath, "/")+query, recorder.Settings{Streams: true})
	sink := newTrackSink()
	r, picture := setup.record(t, ctx, recorder.Settings{Streams: true, Tracks: sink})
	return ctx, setup, r, sink, picture
}

// TestStreams records the video of each codec as it is received, despite the strictest policy, with a size that changes, a
// pause, and an owner who is seen. The page keeps its video, of another content, and asks the sender for no more key
// frames than usual.
func TestStreams(t *testing.T) {
	for _, codec := range []string{"VP8", "VP9", "AV1", "H264"} {
		t.Run(codec, func(t *testing.T) {
			ctx, setup, r, sink, _ := recordStreams(t, "?codec="+codec)
			if stats := awaitStreams(t, ctx, r); stats.Streams != recorder.StreamsConfirmed {
				t.Fatalf("streams: %s", stats.StreamsProblem)
			}
			var track string
			if err := setup.page.EvalInPage(ctx, "track", &track); err != nil {
				t.Fatal(err)
			}
			r.SetOwners(map[string]string{track: "ada"})
			sink.await(t, ctx, "some seconds", func(tracks []storedTrack) bool { return len(tracks) > 0 && tracks[0].chunks >= 4 })
			if err := setup.page.EvalInPage(ctx, "resize(320, 180)", nil); err != nil {
				t.Fatal(err)
			}
			sink.await(t, ctx, "another size", func(tracks []storedTrack) bool { return len(tracks) > 1 && tracks[len(tracks)-1].chunks >= 2 })
			paused, err := r.Pause(ctx)
			if err != nil {
				t.Fatal(err)
			}
			before := len(sink.taken())
			resumed, err := r.Resume(ctx)
			if err != nil {
				t.Fatal(err)
			}
			sink.await(t, ctx, "video after a pause", func(tracks []storedTrack) bool { return len(tracks) > before && tracks[before].chunks >= 2 })
			var page struct {
				PliCount, FramesDecoded, Width int
				Visibility                     string
			}
			if err := setup.page.EvalInPage(ctx, `called.getStats().then(stats => ({...[...stats.values()].find(s => s.type === "inbound-rtp"),
				width: shown.videoWidth, visibility: document.visibilityState}))`, &page); err != nil {
				t.Fatal(err)
			}
			// One at the start, one for the pause, and those that the browser itself asks for.
			if page.PliCount > 5 || page.FramesDecoded < 100 || page.Width != 64 || page.Visibility != "visible" {
				t.Errorf("the page: %+v", page)
			}
			if err := r.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			sizes := map[int]bool{}
			for i, piece := range videoPieces(t, sink) {
				t.Logf("%+v, %d bytes in %d chunks", piece.ParticipantTrack, len(piece.content), piece.chunks)
				sizes[piece.Width] = true
				if !piece.ended || piece.cause != "" || piece.Codec != strings.ToLower(codec) || piece.Kind != "participant_video" {
					t.Errorf("piece %d: %+v", i, piece.ParticipantTrack)
				}
				if i == 0 && piece.PersonID != "ada" {
					t.Errorf("the first piece is of %q", piece.PersonID)
				}
				if i < before && !piece.StartedAt.Before(paused) || i >= before && piece.StartedAt.Before(resumed) {
					t.Errorf("piece %d begins at %v; the pause was from %v to %v", i, piece.StartedAt, paused, resumed)
				}
				if frames, _ := strconv.Atoi(piece.Frames); i == 0 && frames < 60 {
					t.Errorf("the first piece has %d frames", frames)
				}
			}
			if !sizes[640] || !sizes[320] {
				t.Errorf("sizes: %v", sizes)
			}
		})
	}
}

// TestStreamsMissing records the picture of pages whose streams cannot be taken, from its beginning, and says why.
func TestStreamsMissing(t *testing.T) {
	for query, reason := range map[string]string{
		"?takes":   "although it arrives",
		"?late":    "takes the video of a participant itself",
		"?garbled": "cannot be read",
		"?itself":  "no connection",
	} {
		t.Run(query, func(t *testing.T) {
			ctx, _, r, _, picture := recordStreams(t, query)
			stats := awaitStreams(t, ctx, r)
			if stats.Streams != recorder.StreamsMissing || !strings.Contains(stats.StreamsProblem, reason) {
				t.Errorf("streams: %v %q, want %q", stats.Streams, stats.StreamsProblem, reason)
			}
			if took := time.Since(r.StartedAt()); exact() && took > 6*time.Second {
				t.Errorf("it took %v", took)
			}
			picture.await(t, ctx, r, stats.Recorded+2*time.Second)
			if err := r.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			if report := decode(t, ctx, picture); report.Frames < 5 || report.VideoStartMs > 1000 {
				t.Errorf("the picture: %+v", report)
			}
		})
	}
}

// TestStreamsEnd ends a recording whose streams do not come any more, with what came before.
func TestStreamsEnd(t *testing.T) {
	ctx, setup, r, sink, _ := recordStreams(t, "")
	if stats := awaitStreams(t, ctx, r); stats.Streams != recorder.StreamsConfirmed {
		t.Fatalf("streams: %s", stats.StreamsProblem)
	}
	if err := setup.page.EvalInPage(ctx, "called.getReceivers()[0].transform = null", nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.Done():
	case <-ctx.Done():
		t.Fatal("the recording did not end")
	}
	if err := r.Err(); !errors.Is(err, recorder.ErrStreamsMissing) {
		t.Errorf("the recording ended with %v", err)
	}
	if pieces := videoPieces(t, sink); len(pieces) == 0 || !pieces[0].ended {
		t.Errorf("pieces: %+v", pieces)
	}
}
