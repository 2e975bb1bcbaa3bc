package browser_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"standin/internal/bot/browser"
)

// sandboxRoleVariable makes the test binary launch a browser with this profile
// and tell what its page's process is confined to.
const sandboxRoleVariable = "STANDIN_TEST_SANDBOX_PROFILE"

// What that process says.
const (
	noSandbox   = "no sandbox"
	confinement = "seccomp %d namespaces %d"
)

// nobody is a user who owns nothing.
const nobody = 65534

// rendererConfinement returns the seccomp mode of the process of a page, and how
// many process namespaces it is in (proc(5), /proc/pid/status).
func rendererConfinement(profile string) (seccomp, namespaces int, err error) {
	commandLines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, 0, err
	}
	for _, path := range commandLines {
		commandLine, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(commandLine, []byte("--type=renderer")) || !bytes.Contains(commandLine, []byte(profile)) {
			continue
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(path), "status"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(status)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			switch name {
			case "Seccomp":
				seccomp, _ = strconv.Atoi(strings.TrimSpace(value))
			case "NSpid":
				namespaces = len(strings.Fields(value))
			}
		}
		return seccomp, namespaces, nil
	}
	return 0, 0, errors.New("there is no process of a page")
}

// playSandboxed launches a browser and reports.
func playSandboxed(profile string) int {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	b, err := browser.Launch(ctx, browser.Options{ProfileDir: profile, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	var sandbox *browser.SandboxError
	if errors.As(err, &sandbox) {
		fmt.Println(noSandbox)
		return 0
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer b.Close()
	page, err := b.NewPage(ctx)
	if err == nil {
		err = page.Eval(ctx, "1", nil)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	seccomp, namespaces, err := rendererConfinement(profile)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf(confinement+"\n", seccomp, namespaces)
	return 0
}

// asNobody runs the role in a process of another user, for whom Chromium has a
// sandbox where the system allows one.
func asNobody(t *testing.T) string {
	t.Helper()
	// The folders that tests are given, and the test's own binary, are closed to
	// other users.
	folder, err := os.MkdirTemp("", "standin-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	binary, profile := filepath.Join(folder, "test"), filepath.Join(folder, "nobodys", "profile")
	err = errors.Join(os.Chmod(folder, 0o755), os.Mkdir(filepath.Dir(profile), 0o700), copyExecutable(binary))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*testTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, binary)
	command.Dir = folder
	command.Env = []string{"PATH=" + os.Getenv("PATH"), sandboxRoleVariable + "=" + profile}
	if os.Geteuid() == 0 {
		if err := os.Chown(filepath.Dir(profile), nobody, nobody); err != nil {
			t.Fatal(err)
		}
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	var complaints bytes.Buffer
	command.Stderr = &complaints
	said, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, said, complaints.Bytes())
	}
	if strings.Contains(complaints.String(), "without its own sandbox") {
		t.Errorf("a browser of another user warns: %s", complaints.Bytes())
	}
	return strings.TrimSpace(string(said))
}

// copyExecutable copies the test's own binary to where everybody can run it.
func copyExecutable(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	source, err := os.Open(self)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// A page's process is in a process namespace of its own and under a filter of
// system calls, unless the browser runs as root.
func TestPagesRunInASandbox(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("this test reads /proc, which only Linux has")
	}
	executable(t)
	said := asNobody(t)
	if said == noSandbox {
		t.Log("this system lets Chromium have no sandbox, and Launch says so")
		return
	}
	var seccomp, namespaces int
	if _, err := fmt.Sscanf(said, confinement, &seccomp, &namespaces); err != nil || seccomp != 2 || namespaces < 2 {
		t.Errorf("an unprivileged user's page: %s; want seccomp mode 2 in a process namespace of its own", said)
	}
}

func TestRootAndOperatorsRunWithoutASandbox(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("this test reads /proc, which only Linux has")
	}
	var told bytes.Buffer
	profile := filepath.Join(t.TempDir(), "profile")
	b, err := browser.Launch(t.Context(), browser.Options{
		Executable: executable(t), ProfileDir: profile, NoSandbox: true, Log: slog.New(slog.NewTextHandler(&told, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if strings.Count(told.String(), "without its own sandbox") != 1 {
		t.Errorf("the operator is told %q, want one warning", told.String())
	}
	page, err := b.NewPage(t.Context())
	if err == nil {
		err = page.Eval(t.Context(), "1", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if seccomp, namespaces, err := rendererConfinement(profile); err != nil || seccomp != 0 || namespaces != 1 {
		t.Errorf("seccomp %d in %d namespaces, %v; want no sandbox", seccomp, namespaces, err)
	}
}
