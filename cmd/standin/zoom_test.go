package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/zoomstream"
	"standin/internal/launch"
	"standin/internal/recording"
	packing "standin/internal/recording/build"
	"standin/internal/replica/rtmsdouble"
	"standin/internal/testing/ingesttest"
)

// zoomServer is the server of Zoom's media streams of all tests here.
var zoomServer = sync.OnceValues(rtmsdouble.StartTrusted)

// zoomProcess is a bot's process in a meeting in which Ada and Ben talk and Ada's camera is on.
type zoomProcess struct {
	*testing.T
	meeting *rtmsdouble.Meeting
	service *ingesttest.Service
	config  launch.BotConfig
	command *exec.Cmd
}

var zoomPeople = []rtmsdouble.Person{{ID: 16778240, Name: "Ada", Tone: 440}, {ID: 33556610, Name: "Ben", Tone: 660}}

func newZoomProcess(t *testing.T, camera [][]byte) *zoomProcess {
	t.Helper()
	server, err := zoomServer()
	if err != nil {
		t.Fatal(err)
	}
	z := &zoomProcess{T: t, meeting: server.Open(rtmsdouble.Settings{})}
	z.meeting.Join(zoomPeople...)
	z.meeting.Camera(zoomPeople[0].ID, camera)
	z.config = launch.BotConfig{
		Assignment: launch.Assignment{
			JobID: uuid.New(), MeetingURL: "https://zoom.us/j/1", Platform: job.ZoomSDK, DisplayName: "Standin", LoopbackPeers: true,
			ZoomStream: z.meeting.Stream(), AutoLeave: job.DefaultAutoLeave(),
		},
		BotSettings: launch.BotSettings{Recording: launch.Recording{FrameRate: 25, ParticipantAudio: launch.ParticipantAudioOn}},
	}
	return z
}

// start starts the process of an attempt.
func (z *zoomProcess) start(attempt int) {
	z.Helper()
	z.config.Attempt, z.config.Dir = attempt, z.TempDir()
	z.config.Token = ingest.Token([]byte("a signing key"), z.config.JobID.String(), attempt)
	z.service = ingesttest.Start(z, z.config.JobID.String(), attempt, z.config.Token)
	z.config.ServiceURL = z.service.URL()
	encoded, err := z.config.Encode()
	if err == nil {
		err = os.WriteFile(filepath.Join(z.config.Dir, launch.ConfigFile), encoded, 0o600)
	}
	if err != nil {
		z.Fatal(err)
	}
	z.command = exec.Command(testedBinary(), "bot", "--config", filepath.Join(z.config.Dir, launch.ConfigFile))
	z.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // see processesOf
	var log bytes.Buffer
	z.command.Stderr = &log
	if err := z.command.Start(); err != nil {
		z.Fatal(err)
	}
	process := z.command.Process
	z.Cleanup(func() {
		_ = process.Kill()
		if z.Failed() {
			z.Logf("%s", log.Bytes())
		}
	})
	z.service.Await("the recording", func() bool {
		return slices.ContainsFunc(z.service.Events, func(e ingest.Event) bool { return e.Kind == job.BotRecordingStarted })
	})
}

// check ends the meeting, and checks that the files have every packet from a time on.
func (z *zoomProcess) check(from time.Time) {
	z.Helper()
	ended := endZoom(z.T, z.meeting)
	if err := z.command.Wait(); err != nil {
		z.Fatal(err)
	}
	text, _ := z.service.Uploaded(ingest.ReportName)
	var report packing.FinalReport
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		z.Fatal(err)
	}
	var files []zoomFile
	for _, track := range report.PackedTracks {
		data, _ := z.service.Uploaded(track.File)
		path := filepath.Join(z.TempDir(), track.File)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			z.Fatal(err)
		}
		at := slices.IndexFunc(report.AudioTracks, func(a ingest.AudioTrack) bool { return a.Number == track.Number })
		of := report.AudioTracks[at]
		files = append(files, zoomFile{cmp.Or(recording.MediaKind(of.Kind), recording.ParticipantAudio), of.PersonID, path})
	}
	checkZoom(z.T, z.meeting, files, from, ended, z.config.Attempt == 0)
}

// endZoom ends a meeting after the bot has received everything, and returns when its people stopped talking.
func endZoom(t *testing.T, m *rtmsdouble.Meeting) (ended time.Time) {
	t.Helper()
	ended = time.Now()
	m.Talk()
	m.Camera(zoomPeople[0].ID, nil)
	if err := m.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.Stop(6)
	return ended
}

// zoomFile is a file of a recording with the sound or the camera of a person.
type zoomFile struct {
	kind         recording.MediaKind
	person, path string
}

// checkZoom checks that files have every packet of sound within a time and, if asked, every frame of the camera.
func checkZoom(t *testing.T, m *rtmsdouble.Meeting, files []zoomFile, from, ended time.Time, everyFrame bool) {
	t.Helper()
	sounds, frames := map[string][][]byte{}, 0
	for _, file := range files {
		switch file.kind {
		case recording.ParticipantAudio:
			decoded := zoomTool(t, "ffmpeg", "-nostdin", "-v", "error", "-i", file.path, "-f", "s16le", "-")
			sounds[file.person] = append(sounds[file.person], decoded)
		case recording.ParticipantVideo:
			count := zoomTool(t, "ffprobe", "-v", "error", "-count_packets", "-show_entries", "stream=nb_read_packets", "-of", "csv=p=0", file.path)
			number, _ := strconv.Atoi(strings.TrimSpace(string(count)))
			frames += number
		}
	}
	for _, who := range zoomPeople {
		packets := slices.DeleteFunc(m.Packets(), func(p rtmsdouble.Packet) bool {
			return p.Person != who.ID || p.At.Before(from) || !p.At.Before(ended)
		})
		missing, misplaced := rtmsdouble.Check(packets, sounds[strconv.Itoa(who.ID)])
		if len(packets) == 0 || missing > 0 || misplaced > 0 {
			t.Errorf("%s: %d of %d packets are missing, %d are not at their place", who.Name, missing, len(packets), misplaced)
		}
	}
	if sent := m.Pictures(rtmsdouble.Video); everyFrame && frames != sent {
		t.Errorf("%d frames of %d are in the files", frames, sent)
	}
}

func zoomTool(t *testing.T, name string, arguments ...string) []byte {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), name, arguments...).Output()
	if err != nil {
		t.Fatalf("%s %v: %v", name, arguments, err)
	}
	return output
}

// TestZoomStreams measures a service with bots in Zoom's media streams, each with two people who talk and a camera of 720p25,
// checks that every packet is in their files, and logs how long after each meeting's end its manifest was written.
// STANDIN_TEST_STREAMS is the number of bots, and STANDIN_TEST_SECONDS the length (make bench-rtms).
func TestZoomStreams(t *testing.T) {
	count, _ := strconv.Atoi(os.Getenv("STANDIN_TEST_STREAMS"))
	seconds, _ := strconv.Atoi(os.Getenv("STANDIN_TEST_SECONDS"))
	if count == 0 {
		t.Skip("STANDIN_TEST_STREAMS is not set")
	}
	camera, err := rtmsdouble.MakeVideo(1280, 720)
	if err != nil {
		t.Fatal(err)
	}
	h, zoom := newZoomHarness(t, "STANDIN_MAX_BOTS="+strconv.Itoa(count))
	meetings, ids, bots := make([]*rtmsdouble.Meeting, count), make([]string, count), make([]int, count)
	for i := range count {
		meetings[i] = zoom.Open(rtmsdouble.Settings{})
		meetings[i].Join(zoomPeople...)
		meetings[i].Camera(zoomPeople[0].ID, camera)
		h.announce(meetings[i], 90_000_000_001+i)
		ids[i] = h.jobOf(meetings[i])
	}
	for i, id := range ids {
		h.awaitJob(id, job.RecordingStarted)
		meetings[i].Talk(zoomPeople[0].ID, zoomPeople[1].ID)
		bots[i] = h.bot(id, 0)
	}
	from, service := time.Now().Add(time.Second), h.process.Process.Pid
	meetings[0].Pass(costWarmUp)
	usage := func(leaders ...int) (total time.Duration) {
		for _, leader := range leaders {
			total += cpuTime(leader)
		}
		return total
	}
	before, beforeService, began := usage(bots...), usage(service), time.Now()
	meetings[0].Pass(time.Duration(seconds) * time.Second)
	passed := time.Since(began).Seconds() * float64(count)
	cores, ofService := (usage(bots...)-before).Seconds()/passed, (usage(service)-beforeService).Seconds()/passed
	memory := func(leaders ...int) (total int64) {
		for _, leader := range leaders {
			for _, pid := range processesOf(leader, nil) {
				total += proportionalSetSize(pid)
			}
		}
		return total >> 20
	}
	t.Logf("%d sessions, each: %.4f cores and %d MiB of its bot, %.4f cores of the service, which has %d MiB",
		count, cores, memory(bots...)/int64(count), ofService, memory(service))
	var manifests []time.Duration
	ended := make([]time.Time, count)
	for i, id := range ids {
		ended[i] = endZoom(t, meetings[i])
		stopped := time.Now()
		h.awaitJob(id, job.Completed)
		var finished struct{ FinalizedAt time.Time }
		h.call(http.MethodGet, "/api/v1/jobs/"+id, nil, &finished)
		manifests = append(manifests, finished.FinalizedAt.Sub(stopped))
	}
	t.Logf("manifests after %v", manifests)
	slices.Sort(manifests)
	t.Logf("manifests: median %s, maximum %s", manifests[count/2], manifests[count-1])
	for i, id := range ids {
		var files []zoomFile
		for _, file := range h.manifest(id).Media {
			if file.Kind == recording.ParticipantAudio || file.Kind == recording.ParticipantVideo {
				files = append(files, zoomFile{file.Kind, file.ParticipantID, h.fetch(file)})
			}
		}
		checkZoom(t, meetings[i], files, from, ended[i], true)
	}
}

// TestZoomKills kills bots in Zoom's media streams. The next attempt has every packet since a minute before it began.
func TestZoomKills(t *testing.T) {
	t.Parallel()
	needTools(t)
	kills, _ := strconv.Atoi(os.Getenv("STANDIN_TEST_KILLS"))
	if testing.Short() {
		t.Skip("it is long")
	}
	camera, err := rtmsdouble.MakeVideo(320, 180)
	if err != nil {
		t.Fatal(err)
	}
	z := newZoomProcess(t, camera)
	z.meeting.Talk(zoomPeople[0].ID, zoomPeople[1].ID)
	var killed time.Time
	for attempt := range max(kills, 3) {
		z.start(attempt)
		z.meeting.Pass(1500 * time.Millisecond)
		killed = time.Now()
		if err := syscall.Kill(-z.command.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = z.command.Wait()
	}
	z.config.JobID = uuid.New() // so that the bot packs its files itself
	z.start(0)
	z.config.Attempt = 1 // not all frames
	z.meeting.Pass(1500 * time.Millisecond)
	z.check(killed.Add(500 * time.Millisecond))
}

// checkComposed checks that the picture of a recording is made after the manifest, and replaces it.
func (h *harness) checkComposed(id string) {
	h.Helper()
	h.await("the composed picture", func() bool {
		answer := h.target.call("GET", "/api/v1/jobs/"+id+"/media/recording.mp4", h.key, nil)
		if answer.status != http.StatusOK && (answer.status != http.StatusAccepted || answer.header.Get("Retry-After") == "") {
			h.Fatalf("recording.mp4: %d %s", answer.status, answer.body)
		}
		return answer.status == http.StatusOK
	})
	manifest := h.manifest(id)
	at := slices.IndexFunc(manifest.Media, func(m recording.Media) bool { return m.Kind == recording.Video })
	if at < 0 || manifest.Revision < 2 {
		h.Fatalf("the manifest has the revision %d, and no picture", manifest.Revision)
	}
	checkFile(h.T, h.fetch(manifest.Media[at]), manifest.Media[at], picture{width: 1280, height: 720})
}

// newZoomHarness starts a service with an app of Zoom that records every stream, and returns Zoom's server too.
func newZoomHarness(t *testing.T, settings ...string) (*harness, *rtmsdouble.Server) {
	t.Helper()
	needTools(t)
	zoom, err := zoomServer()
	if err != nil {
		t.Fatal(err)
	}
	dir := newDataDir(t)
	t.Cleanup(func() { stopBots(t, dir) })
	certificate := filepath.Join(t.TempDir(), "zoom.pem")
	if err := os.WriteFile(certificate, zoom.Certificate(), 0o644); err != nil {
		t.Fatal(err)
	}
	settings = append(settings, "STANDIN_LAUNCHER=process", "STANDIN_LOOPBACK_MEETINGS=true", "SSL_CERT_FILE="+certificate)
	h := &harness{target: startTarget(t, dir, settings...)}
	h.key = h.target.key("zoom")
	h.call("POST", "/api/v1/zoom-apps", map[string]any{
		"clientId": rtmsdouble.ClientID, "clientSecret": rtmsdouble.Secret, "secretToken": "token", "record": true,
	}, nil)
	return h, zoom
}

// announce tells the service, as Zoom does, that the stream of a meeting with a number has started.
func (h *harness) announce(m *rtmsdouble.Meeting, number int) {
	h.Helper()
	stream := m.Stream()
	body := fmt.Sprintf(`{"event":"meeting.rtms_started","payload":{"meeting_uuid":%q,"meeting_id":%d,"rtms_stream_id":%q,"server_urls":%q}}`,
		stream.MeetingUUID, number, stream.StreamID, stream.ServerURLs)
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	answer := h.send(http.MethodPost, "/webhooks/zoom", http.Header{
		"X-Zm-Request-Timestamp": {timestamp}, "X-Zm-Signature": {"v0=" + zoomstream.Sign("token", "v0:"+timestamp+":"+body)},
		"Content-Type": {"application/json"},
	}, strings.NewReader(body))
	if answer.status != http.StatusOK {
		h.Fatalf("Zoom got %d %s", answer.status, answer.body)
	}
}

// jobOf returns the job that was created for the stream of a meeting.
func (h *harness) jobOf(m *rtmsdouble.Meeting) string {
	h.Helper()
	var found struct{ Jobs []struct{ ID string } }
	h.call("GET", "/api/v1/jobs?externalId="+url.QueryEscape("zoom:"+m.Stream().MeetingUUID), nil, &found)
	if len(found.Jobs) != 1 {
		h.Fatalf("a stream has %d jobs", len(found.Jobs))
	}
	return found.Jobs[0].ID
}

// TestZoomService records a Zoom meeting with a whole service: a job waits, Zoom announces the stream, a bot without a browser
// receives it, and the files, the people, the chat and the words are in the recording. A second stream, which nobody waits for, gets
// a job because its app says so.
func TestZoomService(t *testing.T) {
	t.Parallel()
	h, zoom := newZoomHarness(t)
	dir, target := h.dir, h.target
	camera, err := rtmsdouble.MakeVideo(320, 180)
	if err != nil {
		t.Fatal(err)
	}
	id := target.create(h.key, map[string]any{
		"meetingUrl": "https://zoom.us/j/12345678901", "platform": "zoom-sdk", "chat": true, "captions": map[string]bool{"enabled": true},
	})
	h.awaitJob(id, job.Pending)
	var meetings []*rtmsdouble.Meeting
	for _, number := range []int{12345678901, 98765432101} {
		meeting := zoom.Open(rtmsdouble.Settings{})
		meeting.Join(zoomPeople...)
		meeting.Camera(zoomPeople[0].ID, camera)
		meeting.Talk(zoomPeople[0].ID)
		h.announce(meeting, number)
		meetings = append(meetings, meeting)
	}
	if text, err := os.ReadFile(target.log); err != nil || strings.Count(string(text), "waiting for Zoom to announce") > 3 {
		t.Errorf("a job that waits is looked at %d times, %v", strings.Count(string(text), "waiting for Zoom to announce"), err)
	}
	for n, one := range []string{id, h.jobOf(meetings[1])} {
		h.awaitJob(one, job.RecordingStarted)
		meetings[n].Write(zoomPeople[1].ID, "Hello <all>")
		meetings[n].Say(zoomPeople[0].ID, "We ship on Friday", time.Now().Add(-time.Second), time.Now())
		meetings[n].Pass(2 * time.Second)
		meetings[n].Stop(6)
		h.awaitJob(one, job.Completed)
		manifest := h.manifest(one)
		if n == 1 { // a service that is killed while it composes does so again
			h.await("the beginning of composing", func() bool {
				begun, err := filepath.Glob(filepath.Join(dir, recording.WorkPrefix(uuid.MustParse(one))+"compose-*"))
				return err != nil || len(begun) > 0 || h.manifest(one).Revision > 1
			})
			target.stop(syscall.SIGKILL)
			if err := target.start(); err != nil {
				t.Fatal(err)
			}
		}
		kinds := map[string]int{}
		for _, file := range manifest.Media {
			kinds[string(file.Kind)]++
			h.fetch(file)
		}
		if manifest.End.Reason != "host_ended" || len(manifest.Participants) != 2 || kinds["participant_video"] != 1 || kinds["audio"] != 1 ||
			kinds["chat"] != 1 {
			t.Errorf("the manifest: ended %s, people %+v, files %v", manifest.End.Reason, manifest.Participants, kinds)
		}
		h.checkComposed(one)
		texts := h.target.call("GET", "/api/v1/jobs/"+one+"/transcript", h.key, nil).body
		if !strings.Contains(texts, "We ship on Friday") || !strings.Contains(texts, "Ada") {
			t.Errorf("the transcript: %s", texts)
		}
	}
}
