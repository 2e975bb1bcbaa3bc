package process_test

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
	"standin/internal/launch/process"
)

// Behaviors of the test binary as a bot. The launcher passes one as the display
// name.
const (
	obedient   = "obedient"   // ends on SIGTERM
	stubborn   = "stubborn"   // ignores SIGTERM
	exitsEarly = "exitsEarly" // locks its folder and ends
	failsEarly = "failsEarly" // ends before it locks its folder
	curious    = "curious"    // reads the service's files, and ends
)

// lifetime bounds the life of processes that a killed test leaves behind.
const lifetime = time.Minute

// Files that the bot writes into its folder.
const (
	configCopy      = "config-copy.json"
	environmentFile = "environment"
	filesRead       = "files-read"
	processFile     = "processes" // the process ids of the bot and its child; written last
)

// TestMain runs the test binary as a bot when the launcher starts it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "bot":
			if err := runBot(os.Args[3]); err != nil {
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

// runBot does what a launcher can observe of a bot.
func runBot(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	config, err := launch.ReadBotConfig(path)
	if err != nil {
		return err
	}
	dir, behavior := config.Dir, config.DisplayName
	if behavior == failsEarly {
		return fmt.Errorf("this bot fails early")
	}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	lock, err := process.LockDir(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	fmt.Println("the bot runs")
	switch behavior {
	case exitsEarly:
		return nil
	case curious:
		return readServiceFiles(dir)
	}
	child := exec.Command(os.Args[0], "browser")
	if err := child.Start(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, configCopy), content, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, environmentFile), []byte(strings.Join(os.Environ(), "\x00")), 0o600); err != nil {
		return err
	}
	if err := writeAtomically(filepath.Join(dir, processFile), fmt.Sprint(os.Getpid(), child.Process.Pid)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lifetime)
	defer cancel()
	for {
		select {
		case <-terminated:
			if behavior == obedient {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readServiceFiles reads files of the service beside the folder of the bots, and
// writes the names of those that it could read.
func readServiceFiles(dir string) error {
	var read []string
	for _, name := range []string{"../../ingest.key", "../other/config.json"} {
		if _, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			read = append(read, name)
		}
	}
	return writeAtomically(filepath.Join(dir, filesRead), strings.Join(read, " "))
}

// writeAtomically writes a file that appears complete.
func writeAtomically(path, text string) error {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
