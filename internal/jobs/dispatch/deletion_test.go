package dispatch_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/dispatch"
	"standin/internal/jobs/job"
	"standin/internal/launch"
)

// TestFilesOfLostBots lists what is left on disk and in storage of a job after each way
// in which its bot may end, and after the deletion of its recording.
func TestFilesOfLostBots(t *testing.T) {
	t.Parallel()
	media := recorded(t)
	recording := []job.Trigger{job.BotInMeeting, job.BotRecordingStarted}
	kept := []string{"bots/0/bot.lock", "bots/0/bot.log"}
	finished := append([]string{"jobs/manifest.json", "jobs/media/recording.mp4"}, kept...)
	for name, test := range map[string]struct {
		events []job.Trigger
		stop   bool // it reports that it is stopped
		cancel bool
		want   []string
	}{
		"killed in the lobby":               {[]job.Trigger{job.BotEnteringLobby}, false, false, kept},
		"killed while recording":            {recording, false, false, finished},
		"stopped while recording":           {recording, true, false, finished},
		"killed after the job was canceled": {recording, false, true, finished},
		"killed after the meeting":          {append(slices.Clone(recording), job.BotRecordingStopped, job.BotExited), false, false, finished},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			d, _ := h.run(t, func(s *dispatch.Settings) { s.Timeouts.MaxAttempts, s.Timeouts.MaxStops = 1, 0 })
			id := h.launched(t)
			h.playBot(t, id, 0, test.events, "host_ended", media)
			bot := filepath.Join(h.Files.DataDir, "bots", launch.Key{JobID: id}.String())
			for path, content := range map[string][]byte{
				"bot.lock": nil, "bot.log": []byte("joined"), "browser-0/Default/History": []byte("https://meet.test/secret"),
				"spool/events.log": nil, "spool/media/" + ingest.SegmentName(0, 0): media, "packed/recording.mp4": media,
			} {
				if strings.HasSuffix(path, ".mp4s") && !slices.Contains(test.events, job.BotRecordingStarted) {
					continue
				}
				path := filepath.Join(bot, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if test.stop {
				h.reportStop(t, id, 0, test.events)
			}
			if test.cancel {
				h.cancel(t, id)
			}
			h.lose(t, d, id, 0)
			h.untilCleanedUp(t, id)
			if left := h.filesOf(t, id); !slices.Equal(left, slices.Sorted(slices.Values(test.want))) {
				t.Errorf("after the end of the job: %v, want %v", left, test.want)
			}
			if err := h.DeleteRecording(t.Context(), h.Caller, id); err != nil {
				t.Fatal(err)
			}
			if left := h.filesOf(t, id); len(left) > 0 {
				t.Errorf("after the deletion: %v", left)
			}
		})
	}
}

// filesOf returns the files of a job in storage, below jobs/, and on this machine.
func (h *harness) filesOf(t *testing.T, id uuid.UUID) []string {
	t.Helper()
	var files []string
	for _, root := range []string{h.Folder, h.Files.DataDir} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && strings.Contains(path, id.String()) {
				relative, _ := filepath.Rel(root, path)
				files = append(files, strings.NewReplacer(id.String()+"-", "", id.String()+"/", "").Replace(filepath.ToSlash(relative)))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(files)
	return files
}
