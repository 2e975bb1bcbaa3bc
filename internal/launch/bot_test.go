package launch_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"standin/internal/launch"
)

// The kinds of bots that this test binary can be; the launcher hands the kind
// over as the display name.
const (
	obedient  = "obedient"  // ends when it is asked to
	stubborn  = "stubborn"  // ends when it is killed
	shortLife = "shortLife" // takes its folder and ends
	stillborn = "stillborn" // ends before it takes its folder
)

// lifetime ends what a test that was killed has left behind.
const lifetime = time.Minute

// Files in which the bot tells of itself.
const (
	environmentFile = "environment"
	processFile     = "processes" // its process id and that of what it started; written last
)

// TestMain makes the test binary the bot when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "bot":
			if err := beBot(os.Getenv(launch.EnvName), os.Getenv(launch.EnvDir)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "browser":
			<-time.After(lifetime)
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// beBot does what a bot does, as far as its launcher can tell.
func beBot(kind, dir string) error {
	if kind == stillborn {
		return fmt.Errorf("this bot cannot begin")
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	held, err := launch.LockDir(dir)
	if err != nil {
		return err
	}
	defer held.Close()
	fmt.Println("the bot lives")
	if kind == shortLife {
		return nil
	}
	child := exec.Command(os.Args[0], "browser")
	if err := child.Start(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, environmentFile), []byte(strings.Join(os.Environ(), "\x00")), 0o600); err != nil {
		return err
	}
	if err := writeWhole(filepath.Join(dir, processFile), fmt.Sprint(os.Getpid(), child.Process.Pid)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lifetime)
	defer cancel()
	for {
		select {
		case <-asked:
			if kind == obedient {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// writeWhole writes a file so that nobody sees half of it.
func writeWhole(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
