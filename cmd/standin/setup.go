package main

import (
	"fmt"

	"standin/internal/launch"
)

// leastSpool is what a bot must be able to hold, in MiB: some minutes.
const leastSpool = 64

// setupFlags say what bots work with: the same for a service that launches
// them and for one bot by hand.
type setupFlags struct {
	Browser       string `env:"STANDIN_BROWSER" help:"The Chromium that bots start. Default: found on PATH."`
	NoSandbox     bool   `env:"STANDIN_NO_SANDBOX" help:"Run Chromium without its own sandbox, where the system does not allow one. As root it always runs without."`
	Profiles      string `env:"STANDIN_PROFILES" placeholder:"DIR" help:"Folder of page profiles that replace the embedded ones."`
	SignIn        string `env:"STANDIN_SIGN_IN" placeholder:"DIR" help:"Folder of cookies and browser profiles for meetings that demand a signed-in visitor. Default: bots are never signed in."`
	ZoomSDKDir    string `env:"STANDIN_ZOOM_SDK_DIR" name:"zoom-sdk-dir" placeholder:"DIR" help:"Files of Zoom's Meeting SDK for Web, for the platform zoom-sdk. Default: that platform's jobs fail."`
	ZoomSDKKey    string `env:"STANDIN_ZOOM_SDK_KEY" name:"zoom-sdk-key" help:"Key (client id) of the Meeting SDK app."`
	ZoomSDKSecret string `env:"STANDIN_ZOOM_SDK_SECRET" name:"zoom-sdk-secret" help:"Secret of the Meeting SDK app. Better in the environment than on the command line."`

	RecordingMode         launch.RecordingMode    `env:"STANDIN_RECORDING_MODE" default:"video" enum:"video,audio" help:"What is recorded: video (picture and sound) or audio. A job with the metadata recordingMode \"audio\" does without a picture by itself."`
	PictureSize           launch.PictureSize      `env:"STANDIN_PICTURE_SIZE" default:"1280x720" placeholder:"WIDTHxHEIGHT" help:"Size of the recorded picture in pixels, 320x180 to 1920x1080, even numbers."`
	FrameRate             int                     `env:"STANDIN_FRAME_RATE" default:"15" help:"Pictures a second, at most: 1 to 30."`
	VideoBitRate          launch.BitRate          `env:"STANDIN_VIDEO_BITRATE" name:"video-bitrate" default:"1200k" help:"Bits a second of the picture: 100k to 10M."`
	AudioBitRate          launch.BitRate          `env:"STANDIN_AUDIO_BITRATE" name:"audio-bitrate" default:"64k" help:"Bits a second of the sound: 16k to 256k."`
	ParticipantAudio      launch.ParticipantAudio `env:"STANDIN_PARTICIPANT_AUDIO" default:"on" enum:"on,off,never" help:"Whether each participant's own sound is recorded too, where the meeting's page exposes it: on, off, or never. A job's metadata participantAudio (true, false) goes before on and off."`
	ParticipantAudioLimit int                     `env:"STANDIN_PARTICIPANT_AUDIO_LIMIT" default:"16" help:"Of how many participants at a time the own sound is recorded: 1 to 64."`
	SpoolLimit            int                     `env:"STANDIN_SPOOL_LIMIT" default:"8192" placeholder:"MIB" help:"How many MiB of its recording a bot may hold on its disk, 64 and more. Beyond that, what the service has gives way; when it has nothing, the recording has a gap."`
}

// Validate implements kong's check of what was set.
func (f setupFlags) Validate() error {
	if f.SpoolLimit < leastSpool {
		return fmt.Errorf("--spool-limit is %d MiB, less than %d", f.SpoolLimit, leastSpool)
	}
	return f.recording().Check()
}

// recording is how bots record.
func (f setupFlags) recording() launch.Recording {
	return launch.Recording{
		Mode: f.RecordingMode, Picture: f.PictureSize, FrameRate: f.FrameRate,
		VideoBitRate: f.VideoBitRate, AudioBitRate: f.AudioBitRate,
		ParticipantAudio: f.ParticipantAudio, ParticipantAudioLimit: f.ParticipantAudioLimit,
	}
}

// setup is what the flags say, as bots are told it.
func (f setupFlags) setup() launch.BotSettings {
	return launch.BotSettings{
		Browser: f.Browser, NoSandbox: f.NoSandbox, Profiles: f.Profiles, SignIn: f.SignIn,
		ZoomSDK:   launch.ZoomSDK{Dir: f.ZoomSDKDir, Key: f.ZoomSDKKey, Secret: f.ZoomSDKSecret},
		Recording: f.recording(), SpoolMiB: f.SpoolLimit,
	}
}
