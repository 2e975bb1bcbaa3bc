package doctor

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
	"standin/internal/operation/host"
	"standin/internal/recording/build"
)

// displayAdvice is how to get a virtual display.
const displayAdvice = "install Xvfb (Debian and Ubuntu: apt-get install xvfb), or set " + browser.ModeSetting + "=headless"

// recordingType is the format of recordings; see package recorder. Builds of
// Chromium without H.264 do not support it.
const recordingType = "video/mp4;codecs=avc1.42E01F,opus"

// checkBrowser finds and starts the browser that bots use, and checks that it can
// record.
func checkBrowser(ctx context.Context, settings Settings) Check {
	const name = checkName("browser")
	if settings.Launcher == "docker" || settings.Launcher == "kubernetes" {
		return name.ok("not checked: with the launcher %s bots run in containers with their own browser", settings.Launcher)
	}
	ctx, cancel := context.WithTimeout(ctx, browserTimeout)
	defer cancel()
	executable, err := browser.Find(settings.Browser)
	if err != nil {
		return name.fail(err.Error(), "not found")
	}
	mode, noDisplay := meeting.BrowserMode(settings.BrowserMode, job.Meet)
	if err := browser.CheckMode(mode); err != nil {
		return name.fail(displayAdvice, "headed, but there is no virtual display")
	}
	version := "a browser of unknown version"
	if out, err := exec.CommandContext(ctx, executable, "--version").Output(); err == nil {
		version = cmp.Or(versionPattern.FindString(string(out)), version)
	}
	description := fmt.Sprintf("%s (%s, %s)", version, executable, mode)
	running, err := browser.Launch(ctx, browser.Options{Executable: executable, Mode: mode})
	switch {
	case errors.Is(err, browser.ErrRoots):
		return name.fail("unset SSL_CERT_FILE, or set it to a PEM file of at most 1 MiB", "%v", err)
	case err != nil:
		return name.fail(startAdvice(executable), "%s does not start: %v", description, err)
	}
	canRecord, err := supportsRecording(ctx, running)
	sandboxed, where := sandbox("/proc", running.PID())
	if err := errors.Join(err, running.Close()); err != nil {
		return name.fail(startAdvice(executable), "%s starts but does not work: %v", description, err)
	}
	switch {
	case !canRecord:
		return name.fail("install a current build with H.264: Debian's and Ubuntu's chromium or Google Chrome; STANDIN_BROWSER names another executable",
			"%s starts, but cannot record %s", description, recordingType)
	case !sandboxed:
		return name.warn("run Standin as a non-root user on a system that allows user namespaces; "+namespaceAdvice(os.DirFS("/")),
			"%s starts; sandbox off: %s", description, where)
	case noDisplay:
		return name.warn(displayAdvice,
			"%s starts; it is headless on all platforms, because there is no virtual display: Meet and Zoom may refuse headless browsers", description)
	}
	return name.ok("%s starts; sandbox enabled (%s)", description, where)
}

// supportsRecording opens a page and reports whether it can record: that takes the
// encoder, MediaStreamTrackGenerator, which is not in any standard, and for streams RTCRtpScriptTransform.
func supportsRecording(ctx context.Context, running *browser.Browser) (canRecord bool, err error) {
	page, err := running.NewPage(ctx)
	if err != nil {
		return false, err
	}
	defer page.Close()
	err = page.Eval(ctx, "MediaRecorder.isTypeSupported("+strconv.Quote(recordingType)+
		`) && "MediaStreamTrackGenerator" in window && "RTCRtpScriptTransform" in window`,
		&canRecord)
	return canRecord, err
}

// versionPattern matches the product and version in a browser's output.
var versionPattern = regexp.MustCompile(`[A-Z][A-Za-z ]+ \d+(\.\d+)+`)

// startAdvice returns how to find out why a browser does not start.
func startAdvice(executable string) string {
	return "check its own output: " + executable + " --headless=new --dump-dom about:blank; " + namespaceAdvice(os.DirFS("/"))
}

// namespaceAdvice returns which kernel setting denies ordinary users the user
// namespaces that Chromium's sandbox needs. root is the machine's file tree.
func namespaceAdvice(root fs.FS) string {
	for setting, forbidden := range map[string]string{
		"kernel.unprivileged_userns_clone":             "0",
		"kernel.apparmor_restrict_unprivileged_userns": "1",
		"user.max_user_namespaces":                     "0",
	} {
		value, err := fs.ReadFile(root, "proc/sys/"+strings.ReplaceAll(setting, ".", "/"))
		if err == nil && strings.TrimSpace(string(value)) == forbidden {
			return fmt.Sprintf("here %s is %s, which forbids it", setting, forbidden)
		}
	}
	return "user namespaces are allowed here; inside a container, also check the seccomp profile"
}

// sandbox reports whether a running browser's pages are sandboxed, and the reason
// for the answer. folder is /proc, except in tests.
func sandbox(folder string, browserProcess int) (on bool, reason string) {
	lines, renderers := renderersOf(folder, browserProcess)
	switch own := lines[browserProcess]; {
	case own == "":
		return false, "the process cannot be inspected on this system"
	case strings.Contains(own, "--no-sandbox") && os.Geteuid() == 0:
		return false, "this process runs as root, where Chromium has none"
	case strings.Contains(own, "--no-sandbox"):
		return false, "it was started without it"
	}
	for _, process := range renderers {
		status, _ := os.ReadFile(filepath.Join(folder, strconv.Itoa(process), "status")) // procfs does not read this field
		if !strings.Contains(string(status), "\nSeccomp:\t2\n") {
			return false, "a page's process has no system call filter"
		}
	}
	if len(renderers) == 0 {
		return false, "no process of a page was found"
	}
	return true, "seccomp"
}

// renderersOf returns the command lines of all processes, each argument with a space behind it, and the processes of a
// browser that run pages.
func renderersOf(folder string, browserProcess int) (lines map[int]string, renderers []int) {
	all, _ := host.Processes(folder) // none: there is no /proc
	lines = make(map[int]string)
	parents := make(map[int]int)
	for _, process := range all {
		stat, _ := process.Stat()
		arguments, _ := process.CmdLine()
		parents[process.PID] = stat.PPID
		for _, argument := range arguments {
			lines[process.PID] += argument + " "
		}
	}
	for id, line := range lines {
		const maxGenerations = 20
		ancestor := id
		for range maxGenerations {
			if ancestor = parents[ancestor]; ancestor == browserProcess && strings.Contains(line, "--type=renderer ") {
				renderers = append(renderers, id)
				break
			}
		}
	}
	return lines, renderers
}

// sample is one second of a bot's recording: H.264 and Opus in a fragmented MP4.
//
//go:embed sample.mp4
var sample []byte

// checkFFmpeg finds ffmpeg and ffprobe, and packs a second of recording with them
// as every recording is packed.
func checkFFmpeg(ctx context.Context) Check {
	const name = checkName("ffmpeg")
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	tools, err := build.FindTools()
	if err != nil {
		return name.fail(err.Error(), "not found")
	}
	version := "an ffmpeg of unknown version"
	out, err := exec.CommandContext(ctx, tools.FFmpeg, "-version").Output()
	if words := strings.Fields(string(out)); err == nil && len(words) >= 3 && words[1] == "version" {
		version = "ffmpeg " + words[2]
	}
	description := fmt.Sprintf("%s (%s)", version, tools.FFmpeg)
	if err := packSample(ctx); err != nil {
		return name.fail("install a complete ffmpeg (Debian, Ubuntu: apt-get install ffmpeg), and make sure that the folder for temporary files is writable",
			"%s cannot finish a recording: %v", description, err)
	}
	return name.ok("%s finishes recordings", description)
}

// packSample packs the sample and checks that all of it is there.
func packSample(ctx context.Context) (err error) {
	folder, err := os.MkdirTemp("", "standin-doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	segment := filepath.Join(folder, "segment.mp4")
	if err := os.WriteFile(segment, sample, 0o600); err != nil {
		return err
	}
	packed, err := build.Pack(ctx, []build.SourcePart{{Segments: []string{segment}}}, nil, folder)
	if err != nil {
		return err
	}
	const minLength = 900 * time.Millisecond // of a second
	left := packed.Parts[0]
	if packed.Partial() || left.Length < minLength || !strings.Contains(packed.Files[0].Codecs, "avc1") ||
		!strings.Contains(packed.Files[0].Codecs, "mp4a") {
		return fmt.Errorf("of a second of recording there is %v left, %s", left.Length, packed.Files[0].Codecs)
	}
	return nil
}
