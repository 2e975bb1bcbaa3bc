package main

import (
	"fmt"

	"standin/internal/launch"
)

// minSpoolMiB is the smallest spool limit: some minutes of recording.
const minSpoolMiB = 64

// botFlags are the settings of all bots: of those that a service launches and
// of one that runs by hand.
type botFlags struct {
	Browser       string `env:"STANDIN_BROWSER" help:"Chromium or Google Chrome for bots. Default: found on PATH."`
	BrowserMode   string `env:"STANDIN_BROWSER_MODE" default:"auto" enum:"auto,headless,headed" help:"How bots run the browser: headless, headed (with windows on a virtual display of its own, which needs Xvfb) or auto: headed for meet and zoom-web, headless for the other platforms and on machines without Xvfb."`
	NoSandbox     bool   `env:"STANDIN_NO_SANDBOX" help:"Run Chromium without its own sandbox, on systems that provide none. As root, bots start only with this setting."`
	Profiles      string `env:"STANDIN_PROFILES" placeholder:"DIR" help:"Folder of page profiles that replace the embedded ones."`
	SignIn        string `env:"STANDIN_SIGN_IN" placeholder:"DIR" help:"Folder of cookies and browser profiles for meetings that require a signed-in visitor. Default: bots are never signed in."`
	ZoomSDKDir    string `env:"STANDIN_ZOOM_SDK_DIR" name:"zoom-sdk-dir" placeholder:"DIR" help:"Files of Zoom's Meeting SDK for Web, for the platform zoom-sdk. Default: that platform's jobs fail."`
	ZoomSDKKey    string `env:"STANDIN_ZOOM_SDK_KEY" name:"zoom-sdk-key" help:"Key (client id) of the Meeting SDK app."`
	ZoomSDKSecret string `env:"STANDIN_ZOOM_SDK_SECRET" name:"zoom-sdk-secret" help:"Secret of the Meeting SDK app. Set it in the environment: arguments are visible to other users of the machine."`

	RecordingMode         launch.RecordingMode    `env:"STANDIN_RECORDING_MODE" default:"video" enum:"video,audio" help:"What is recorded: video (with audio) or audio. A job's metadata recordingMode \"audio\" drops the video."`
	PictureSize           launch.PictureSize      `env:"STANDIN_PICTURE_SIZE" default:"1280x720" placeholder:"WIDTHxHEIGHT" help:"Size of the recorded video in pixels, 320x180 to 1920x1080, even numbers."`
	FrameRate             int                     `env:"STANDIN_FRAME_RATE" default:"15" help:"Maximum frames per second, 1 to 30."`
	VideoBitRate          launch.BitRate          `env:"STANDIN_VIDEO_BITRATE" name:"video-bitrate" default:"1200k" help:"Video bits per second, 100k to 10M."`
	AudioBitRate          launch.BitRate          `env:"STANDIN_AUDIO_BITRATE" name:"audio-bitrate" default:"64k" help:"Audio bits per second, 16k to 256k."`
	ParticipantAudio      launch.ParticipantAudio `env:"STANDIN_PARTICIPANT_AUDIO" default:"on" enum:"on,off,never" help:"Record the audio of each participant separately as well, where the meeting's page exposes it: on, off or never. A job's metadata participantAudio (true, false) overrides on and off."`
	ParticipantAudioLimit int                     `env:"STANDIN_PARTICIPANT_AUDIO_LIMIT" default:"16" help:"Number of participants recorded separately at the same time, 1 to 64."`
	Chat                  launch.Texts            `env:"STANDIN_CHAT" default:"off" enum:"on,off" help:"Keep the meeting's chat open, hidden from the recording, and record its messages: on or off. A job's metadata chat (true, false) overrides it."`
	Captions              launch.Texts            `env:"STANDIN_CAPTIONS" default:"off" enum:"on,off" help:"Turn on the platform's live captions, hidden from the recording, and record them: on or off. A job's metadata captions (true, false) overrides it."`
	CaptionsLanguage      string                  `env:"STANDIN_CAPTIONS_LANGUAGE" placeholder:"TAG" help:"Language of the live captions as a BCP 47 tag such as en-US: chosen on Meet, elsewhere only stated in the files with captions. A job's metadata captionsLanguage overrides it. Default: unknown."`
	SpoolLimit            int                     `env:"STANDIN_SPOOL_LIMIT" default:"8192" placeholder:"MIB" help:"Disk space in MiB for a bot's recording, at least 64. When it is full, media that the service already has is deleted; when there is none, the recording has a gap."`
}

// Validate checks the ranges of the flags. Kong calls it.
func (f botFlags) Validate() error {
	if f.SpoolLimit < minSpoolMiB {
		return fmt.Errorf("--spool-limit is %d MiB, less than %d", f.SpoolLimit, minSpoolMiB)
	}
	return f.botSettings(logFlags{}).Recording.Check()
}

// botSettings converts the flags.
func (f botFlags) botSettings(log logFlags) launch.BotSettings {
	return launch.BotSettings{
		Browser: f.Browser, BrowserMode: f.BrowserMode, NoSandbox: f.NoSandbox, Profiles: f.Profiles, SignIn: f.SignIn, SpoolMiB: f.SpoolLimit,
		ZoomSDK: launch.ZoomSDK{Dir: f.ZoomSDKDir, Key: f.ZoomSDKKey, Secret: f.ZoomSDKSecret},
		Recording: launch.Recording{
			Mode: f.RecordingMode, Picture: f.PictureSize, FrameRate: f.FrameRate,
			VideoBitRate: f.VideoBitRate, AudioBitRate: f.AudioBitRate,
			ParticipantAudio: f.ParticipantAudio, ParticipantAudioLimit: f.ParticipantAudioLimit,
			Chat: f.Chat, Captions: f.Captions, CaptionsLanguage: f.CaptionsLanguage,
		},
		LogLevel: log.LogLevel, LogFormat: log.LogFormat,
	}
}
