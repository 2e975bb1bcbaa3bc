package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"standin/internal/jobs/job"
	"standin/internal/launch"
)

// TestRefusedCommandLines checks the errors of command lines that cannot be parsed, or whose
// flags cannot work.
func TestRefusedCommandLines(t *testing.T) {
	t.Parallel()
	c := &cli{t, nil, map[string]string{"CANARY": "canary --meeting https://meet.google.com/abc-defg-hij", "ONCE": "--once --no-sandbox"}}
	c.values["TOKEN"], c.values["DATA"] = c.file("token", "abc\n"), newDataDir(t)
	c.rows(
		row{"job", exitUsage, `^$`, `standin: unknown command "job"\nDid you mean jobs\?\nRun standin --help for its usage\.\n$`},
		row{"demo", exitUsage, `^$`, `standin: unknown command "demo"\nDid you mean practice\?\n`},
		row{"jobs lst", exitUsage, `^$`, `unknown command "lst"\nDid you mean list\?\nRun standin jobs --help for its usage\.\n$`},
		row{"jobs waltz", exitUsage, `^$`, `standin: unknown command "waltz"\nRun standin jobs --help for its usage\.\n$`},
		row{
			"jobs list --sttus x", exitUsage, `^$`,
			`unknown flag --sttus\nDid you mean --status\?\nRun standin jobs list --help for its usage\.\n$`,
		},
		row{
			"serve --no-captions --chat off --captions --port 80 --launcher manual", exitFailed, `^$`,
			`STANDIN_LISTEN must name an address and a port, such as`,
		},
		row{"serve --listen :0 --base-url standin.example", exitFailed, `^$`, `STANDIN_BASE_URL must be a URL with https://`},
		row{
			"serve --listen 127.0.0.1:0 --launcher manual --data-dir $DATA --storage-url s3://recordings", exitFailed, `^$`,
			`has no region: add it to STANDIN_STORAGE_URL, as in s3://recordings\?region=`,
		},
		row{"teams list --database-url mysql://x", exitFailed, `^$`, `STANDIN_DATABASE_URL must begin with postgres://, not mysql://`},
		row{
			"keys create --team acme --database-url postgres://127.0.0.1:1/x", exitFailed, `^$`,
			`Check that PostgreSQL is running and that STANDIN_DATABASE_URL is correct\.\n$`,
		},
		row{"jobs create x --captions=maybe", exitUsage, `^$`, `--captions: must be on or off, not "maybe"`},
		row{
			"jobs create x --platform zoom", exitUsage, `^$`,
			`--platform must be one of meet, teams, zoom-web, zoom-sdk, not "zoom"\nDid you mean zoom-web\?\n`,
		},
		row{"teams set x --layout tiles", exitUsage, `^$`, `--layout must be one of speaker, gallery, content, page, default, not "tiles"\n`},
		row{"-version", 0, `^standin `, `^$`},
		row{"doctor profile meet", 0, `\nplatform: meet\n`, `^$`},
		row{"doctor profile words", 0, `\nphrases:\n`, `^$`},
		row{"doctor profile notetakers", 0, `\nnotetakers:\n`, `^$`},
		row{"doctor replay missing.zip", exitFailed, `^$`, `open the capture \S+/missing\.zip: no such file or directory\n$`},
		row{"jobs create", exitUsage, `^$`, `missing argument "<meeting-url>"\nRun standin jobs create --help for its usage\.\n$`},
		row{"mail test missing.eml", exitUsage, `^$`, `missing\.eml: no such file or directory\nRun standin mail test --help for its usage\.\n$`},
		row{
			"jobs create x --join-at soon", exitUsage, `^$`,
			`--join-at: "soon" is not a time; write 10:00, tomorrow 10:00, \+15m or 2026-11-26T10:00\n`,
		},
		row{"canary", exitUsage, ``, `--meeting`},
		row{"$CANARY --every 5s", exitUsage, ``, `less than 1m0s`},
		row{"$CANARY --webhook https://x", exitUsage, ``, `STANDIN_ALERT_WEBHOOK_SECRET`},
		row{"$CANARY $ONCE --webhook-allow-cidrs nonsense", exitFailed, ``, `STANDIN_WEBHOOK_ALLOW_CIDRS`},
		row{"$CANARY $ONCE --browser /no/such/browser", exitFailed, ``, `/no/such/browser`},
		row{"$CANARY $ONCE --metrics-listen 256.0.0.1:1", exitFailed, ``, `listen for metrics`},
		row{"$CANARY $ONCE --profiles /no/such/folder --platform teams", exitFailed, ``, `profiles folder`},
		row{"$CANARY $ONCE --platform skype --browser-mode headless", exitFailed, ``, `skype`},
		row{"$CANARY --browser-mode fullscreen", exitUsage, ``, `browser-mode`},
		row{
			"bot --token-file $TOKEN --service-url http://127.0.0.1:1", exitFailed, ``,
			`a bot needs --config, or --job, --token-file, --service-url and --meeting-url`,
		},
		row{"bot --config $TOKEN.missing", exitUsage, ``, `--config`},
		row{"bot --config $TOKEN", exitFailed, ``, `read the bot's configuration`},
		row{"doctor --platform meet", exitUsage, ``, `--url`},
		row{"doctor --platform meet --url https://evil.test/abc-defg-hij", exitFailed, ``, `--allow-host evil\.test`},
		row{"doctor --browser /no/such/browser --data-dir /no/such/folder", exitFailed, `fail  browser `, `checks? failed`},
		row{"mcp --config-dir /no/such/folder", exitUnauthorized, `^$`, `standin login`},
		row{"version --json", 0, `"version": ".+"`, ``},
	)
}

// TestTemporaryFolderOfBot checks that a bot without a folder of its own leaves none
// when everything is delivered. The host of its link is refused, so it opens no browser.
func TestTemporaryFolderOfBot(t *testing.T) { // not parallel: it changes the environment
	c := &cli{t, nil, map[string]string{}}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok":true,"applied":true,"status":"failed","commands":[],"nextSeconds":5}`))
	}))
	t.Cleanup(service.Close)
	c.values["TOKEN"], c.values["BASE"] = c.file("token", "secret"), service.URL
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Setenv("STANDIN_NO_SANDBOX", "true")
	c.rows(row{
		"bot --job 0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80 --token-file $TOKEN --service-url $BASE --meeting-url https://not-allowed.test/meeting",
		0, ``, ``,
	})
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left %v (%v)", left, err)
	}
}

// TestEmptyEnvironment parses the command of each setting with all variables empty.
// Everything must be as if none were set.
func TestEmptyEnvironment(t *testing.T) { // not parallel: it changes the environment
	names := make(map[string]*kong.Node) // the first command of each variable
	for _, command := range parserOf(t, new(commands)).Model.Leaves(false) {
		for _, flag := range command.Flags {
			for _, name := range flag.Envs {
				if names[name] == nil {
					names[name] = command
				}
				t.Setenv(name, "") // restores it after the test
				if err := os.Unsetenv(name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if len(names) < 100 {
		t.Fatalf("only %d variables: %v", len(names), names)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	parse := func(command *kong.Node) any {
		words := strings.Fields(command.Path())
		parsed := grammar(words[0])
		for _, value := range slices.Concat(command.Positional, flagValues(command)) {
			text := file
			if value.Target.Kind() == reflect.Int64 {
				text = "1"
			}
			switch {
			case value.Required && value.Flag != nil:
				words = append(words, "--"+value.Flag.Name+"="+text)
			case value.Required:
				words = append(words, text)
			}
		}
		if _, err := parserOf(t, parsed).Parse(words); err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	unset := make(map[*kong.Node]any)
	for _, command := range names {
		if unset[command] == nil {
			unset[command] = parse(command)
		}
	}
	for name := range names {
		t.Setenv(name, "")
	}
	for command, want := range unset {
		if got := parse(command); !reflect.DeepEqual(got, want) {
			t.Errorf("%s with empty variables:\n%+v\nwant\n%+v", command.Path(), got, want)
		}
	}
}

func flagValues(command *kong.Node) (values []*kong.Value) {
	for _, flag := range command.Flags {
		values = append(values, flag.Value)
	}
	return values
}

// TestEngineFlags checks the units of launcher flags.
func TestEngineFlags(t *testing.T) {
	t.Parallel()
	var serve serveCommand
	parse(t, &serve, "--bot-memory-limit=512Mi", "--bot-cpu-limit=500m")
	on := serve.Engines
	if on.MemoryLimit.Value() != 512<<20 || on.CPULimit.MilliValue() != 500 || on.Kubernetes.MemoryRequest.String() != "1Gi" {
		t.Errorf("resources: %+v", on)
	}
}

// TestSettingsOutOfBounds checks that serve rejects invalid settings.
func TestSettingsOutOfBounds(t *testing.T) {
	t.Parallel()
	for flag, values := range map[string][]string{
		"--bot-memory-limit": {"", "much", "3GB", "1x", "Gi"},
		"--picture-size": {
			"1281x720", "160x90", "3840x2160", "large",
		}, "--frame-rate": {"60"}, "--video-bitrate": {"50k", "1G"},
		"--participant-audio": {"perhaps"}, "--recording-mode": {"film"},
	} {
		for _, value := range values {
			if _, err := parserOf(t, new(serveCommand)).Parse([]string{flag + "=" + value}); err == nil {
				t.Errorf("%s=%q is accepted", flag, value)
			}
		}
	}
}

// TestSettingsReachTheBot: the flags of serve and a job's metadata configure the
// bot's recorder.
func TestSettingsReachTheBot(t *testing.T) {
	t.Parallel()
	served := serveCommand{}
	parse(t, &served, "--picture-size", "640x360", "--frame-rate", "10", "--video-bitrate", "0.5M",
		"--participant-audio", "off", "--spool-limit", "100")
	assignment := launch.Assignment{Options: job.Job{Metadata: []byte(`{"recordingMode": "audio", "participantAudio": true}`)}.Resolved()}
	content, err := launch.NewBotConfig(assignment, served.Bots, t.TempDir()).Encode()
	if err != nil {
		t.Fatal(err)
	}
	config, err := (&botCommand{Config: (&cli{T: t}).file("config.json", string(content))}).config()
	if err != nil {
		t.Fatal(err)
	}
	want := launch.Recording{
		Mode: job.RecordAudio, Layout: job.LayoutSpeaker, Picture: launch.PictureSize{Width: 640, Height: 360}, FrameRate: 10,
		VideoBitRate:     500_000,
		ParticipantAudio: launch.ParticipantAudioOn, Capture: job.CaptureTab, Chat: launch.TextsOff, Captions: launch.TextsOff,
	}
	if config.Recording != want || config.SpoolMiB != 100 {
		t.Errorf("the bot records %+v, with %d MiB of disk space; want %+v with 100", config.Recording, config.SpoolMiB, want)
	}
}

// parse parses a command's flags and environment.
func parse(t *testing.T, command any, arguments ...string) {
	t.Helper()
	if _, err := parserOf(t, command).Parse(arguments); err != nil {
		t.Fatalf("%v: %v", arguments, err)
	}
}
