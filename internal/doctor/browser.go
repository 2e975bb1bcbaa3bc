package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"standin/internal/bot/browser"
)

// recorded is what bots record in (package recorder). Builds of Chromium
// without H.264 cannot.
const recorded = "video/mp4;codecs=avc1.42E01F,opus"

// checkBrowser finds the browser that bots start, starts it, and asks it
// whether it can record.
func checkBrowser(ctx context.Context, settings Settings) Check {
	const name = verdict("browser")
	if settings.elsewhere() {
		return name.ok("not looked for: with the launcher %s bots run in containers, which bring their own", settings.Launcher)
	}
	ctx, cancel := context.WithTimeout(ctx, browserTime)
	defer cancel()
	executable, err := browser.Find(settings.Browser)
	if err != nil {
		return name.fail("not found", err.Error())
	}
	is := fmt.Sprintf("%s (%s)", browserVersion(ctx, executable), executable)
	running, err := browser.Launch(ctx, browser.Options{Executable: executable})
	if err != nil {
		return name.fail(is+" does not start: "+err.Error(), startAdvice(executable))
	}
	canRecord, err := asksBrowser(ctx, running)
	sandboxed, where := sandbox(os.DirFS("/"), running.PID())
	if err := errors.Join(err, running.Close()); err != nil {
		return name.fail(is+" starts and does not work: "+err.Error(), startAdvice(executable))
	}
	switch {
	case !canRecord:
		return name.fail(is+" starts, but cannot record "+recorded,
			"install a current build with H.264: Debian's and Ubuntu's chromium or Google Chrome; STANDIN_BROWSER names another executable")
	case !sandboxed:
		return name.warn(is+" starts; its sandbox is off: "+where,
			"run Standin as an ordinary user on a system that lets it make user namespaces; "+namespaceAdvice(os.DirFS("/")))
	}
	return name.ok("%s starts; its sandbox is on: %s", is, where)
}

// asksBrowser opens a page and asks it whether it can record: it takes the encoder,
// and a track of the page's own making, which is in no standard.
func asksBrowser(ctx context.Context, running *browser.Browser) (canRecord bool, err error) {
	page, err := running.NewPage(ctx)
	if err != nil {
		return false, err
	}
	defer page.Close()
	err = page.Eval(ctx, "MediaRecorder.isTypeSupported("+strconv.Quote(recorded)+`) && "MediaStreamTrackGenerator" in window`, &canRecord)
	return canRecord, err
}

// versionPattern is the product and version in what browsers print.
var versionPattern = regexp.MustCompile(`[A-Z][A-Za-z ]+ \d+(\.\d+)+`)

// browserVersion asks the executable for its version.
func browserVersion(ctx context.Context, executable string) string {
	out, err := exec.CommandContext(ctx, executable, "--version").Output()
	if version := versionPattern.FindString(string(out)); err == nil && version != "" {
		return version
	}
	return "a browser that does not tell its version"
}

// startAdvice says how to find out why a browser does not start.
func startAdvice(executable string) string {
	return "see what it says by itself: " + executable + " --headless=new --dump-dom about:blank; " + namespaceAdvice(os.DirFS("/"))
}

// namespaceAdvice says which setting keeps ordinary users from making the user
// namespaces that Chromium's sandbox is built of. root is the machine's file
// tree.
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
	return "this system's settings do not forbid it; in a container its seccomp profile may"
}

// sandbox tells whether a running browser's pages are locked in, and by what
// that is known.
func sandbox(root fs.FS, browserProcess int) (on bool, where string) {
	line := commandLine(root, strconv.Itoa(browserProcess))
	switch {
	case len(line) == 0:
		return false, "the process cannot be looked at on this system"
	case strings.Contains(strings.Join(line, " "), "--no-sandbox") && os.Geteuid() == 0:
		return false, "this process is root, as whom Chromium has none"
	case strings.Contains(strings.Join(line, " "), "--no-sandbox"):
		return false, "it was started without"
	}
	renderers := 0
	entries, _ := fs.Glob(root, "proc/[0-9]*") // the pattern is valid
	for _, entry := range entries {
		process := strings.TrimPrefix(entry, "proc/")
		if !renders(root, process) || !descends(root, process, browserProcess) {
			continue
		}
		renderers++
		if statusOf(root, process)["Seccomp"] != "2" {
			return false, "a page's process has no filter for system calls"
		}
	}
	if renderers == 0 {
		return false, "no process of a page was found"
	}
	return true, "system calls of pages' processes are filtered"
}

func renders(root fs.FS, process string) bool {
	for _, argument := range commandLine(root, process) {
		// A process that has given its title to ps has one argument.
		if argument == "--type=renderer" || strings.Contains(argument, " --type=renderer ") {
			return true
		}
	}
	return false
}

// descends reports whether a process was started by another, or by one that
// it started.
func descends(root fs.FS, process string, ancestor int) bool {
	const mostGenerations = 20
	for range mostGenerations {
		process = statusOf(root, process)["PPid"]
		if process == strconv.Itoa(ancestor) {
			return true
		}
		if process == "" || process == "0" {
			return false
		}
	}
	return false
}

func commandLine(root fs.FS, process string) []string {
	text, err := fs.ReadFile(root, "proc/"+process+"/cmdline")
	if err != nil || len(text) == 0 {
		return nil // it has ended, or there is no such thing here
	}
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
}

// statusOf reads a process's status (proc(5)).
func statusOf(root fs.FS, process string) map[string]string {
	text, err := fs.ReadFile(root, "proc/"+process+"/status")
	if err != nil {
		return nil // it has ended
	}
	fields := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		fields[key] = strings.TrimSpace(value)
	}
	return fields
}
