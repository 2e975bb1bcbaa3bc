package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"standin/internal/job"
	"standin/internal/launch"
	"standin/internal/recording"
	"standin/internal/testing/mediacheck"
)

// notNil returns an empty object instead of nil.
func notNil(object map[string]any) map[string]any {
	if object == nil {
		return map[string]any{}
	}
	return object
}

// recordingFile returns the only file of a manifest with the mixed recording.
func recordingFile(t *testing.T, manifest recording.Manifest) recording.Media {
	t.Helper()
	files := slices.DeleteFunc(slices.Clone(manifest.Media), func(m recording.Media) bool { return m.Kind != recording.Video && m.Kind != recording.Audio })
	if len(files) != 1 {
		t.Fatalf("the manifest has %d files of the mixed recording, want 1: %+v", len(files), manifest.Media)
	}
	return files[0]
}

// checkParticipantAudio checks that each of the two participants has the given
// number of audio files, and that only Ada's contain beeps. The sync with the
// recording is checked by the tests of package bot.
func (h *harness) checkParticipantAudio(manifest recording.Manifest, times int) {
	h.Helper()
	names := map[string]string{}
	for _, one := range manifest.Participants {
		names[one.ID] = one.Name
	}
	files := map[string]int{}
	for _, media := range manifest.Media {
		if media.Kind != recording.ParticipantAudio {
			continue
		}
		name := names[media.ParticipantID]
		files[name]++
		own, err := mediacheck.Decode(h.Context(), h.fetch(media))
		if err != nil {
			h.Fatalf("decode %s: %v", media.Name, err)
		}
		if beeps := len(own.BeepsMs); beeps > 0 != (name == "Ada Quill") || own.VideoCodec != "" || own.AudioCodec != "opus" {
			h.Errorf("%s of %s: %+v", media.Name, name, own)
		}
	}
	if len(files) != 2 || files["Ada Quill"] != times || files["Ben Okafor"] != times {
		h.Errorf("files per participant: %v, want %d each", files, times)
	}
}

// checkAudioOnly checks the recording of a job without video and participant audio:
// the manifest has one audio file, and no file of a participant.
func (h *harness) checkAudioOnly(id string, manifest recording.Manifest) {
	h.Helper()
	file := recordingFile(h.T, manifest)
	if manifest.Partial || slices.ContainsFunc(manifest.Media, func(m recording.Media) bool { return m.Kind == recording.ParticipantAudio }) {
		h.Errorf("partial %v, media %+v", manifest.Partial, manifest.Media)
	}
	if file.Kind != recording.Audio || file.Name != "recording.m4a" || file.ContentType != "audio/mp4" || file.Codecs != "opus" || file.Width != 0 {
		h.Errorf("media entry: %+v", file)
	}
	report, err := mediacheck.Decode(h.Context(), h.fetch(file))
	if err != nil {
		h.Fatal(err)
	}
	if report.VideoCodec != "" || report.DurationMs < 3000 {
		h.Errorf("decoded file: %+v", report)
	}
	seconds := int(report.DurationMs / 1000)
	if beeps := len(report.BeepsMs); beeps < seconds-2 || beeps > seconds+1 { // as in checkSpan
		h.Errorf("%d beeps in %d s: %.0f", beeps, seconds, report.BeepsMs)
	}
	if code, out, stderr := command("recordings", "verify", id, "--data-dir", h.dir); code != 0 {
		h.Errorf("verify: exit code %d, %s%s", code, out, stderr)
	}
}

// TestSettingsReachTheBot: the flags of serve and a job's metadata configure the
// bot's recorder.
func TestSettingsReachTheBot(t *testing.T) {
	t.Parallel()
	served := serveCommand{}
	parse(t, &served, "--picture-size", "640x360", "--frame-rate", "10", "--video-bitrate", "0.5M", "--audio-bitrate", "32k",
		"--participant-audio", "off", "--participant-audio-limit", "3", "--spool-limit", "100")
	assignment := launch.Assignment{Options: job.Job{Metadata: []byte(`{"recordingMode": "audio", "participantAudio": true}`)}.Resolved()}
	content, err := launch.NewBotConfig(assignment, served.Bots, t.TempDir()).Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := (&botCommand{Config: path}).config()
	if err != nil {
		t.Fatal(err)
	}
	want := launch.Recording{
		Mode: job.RecordAudio, Layout: job.LayoutSpeaker, Picture: launch.PictureSize{Width: 640, Height: 360}, FrameRate: 10, VideoBitRate: 500_000, AudioBitRate: 32_000,
		ParticipantAudio: launch.ParticipantAudioOn, ParticipantAudioLimit: 3, Chat: launch.TextsOff, Captions: launch.TextsOff,
	}
	if config.Recording != want || config.SpoolMiB != 100 {
		t.Errorf("the bot records %+v, with %d MiB of disk space; want %+v with 100", config.Recording, config.SpoolMiB, want)
	}
}

// TestSettingsOutOfBounds checks that serve rejects invalid settings.
func TestSettingsOutOfBounds(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{
		{"--picture-size", "1281x720"}, {"--picture-size", "160x90"}, {"--picture-size", "3840x2160"}, {"--picture-size", "large"},
		{"--frame-rate", "60"}, {"--video-bitrate", "50k"}, {"--video-bitrate", "1G"}, {"--audio-bitrate", "1M"},
		{"--participant-audio", "perhaps"}, {"--participant-audio-limit", "500"}, {"--recording-mode", "film"},
	} {
		if err := tryParse(t, new(serveCommand), arguments); err == nil {
			t.Errorf("%v was accepted", arguments)
		}
	}
}

// parse parses a command's flags and environment.
func parse(t *testing.T, command any, arguments ...string) {
	t.Helper()
	if err := tryParse(t, command, arguments); err != nil {
		t.Fatalf("%v: %v", arguments, err)
	}
}

// tryParse is parse with the error of the arguments.
func tryParse(t *testing.T, command any, arguments []string) error {
	t.Helper()
	_, err := parserOf(t, command).Parse(arguments)
	return err
}
