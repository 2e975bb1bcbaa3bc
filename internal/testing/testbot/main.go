// Command testbot takes the place of a bot in the tests of the Docker launcher.
// It is the only file of their image, and behaves as its first argument says.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"standin/internal/launch"
)

func main() {
	config, err := launch.ReadBotConfig(os.Args[3]) // testbot BEHAVIOR --config FILE
	if err != nil {
		fmt.Fprintln(os.Stderr, "testbot:", err)
		os.Exit(4)
	}
	if os.Getuid() == 0 || os.WriteFile("/anywhere", nil, 0o600) == nil {
		fmt.Fprintln(os.Stderr, "testbot: it is root, or may write to the root file system")
		os.Exit(5)
	}
	for _, dir := range []string{config.Dir, "/tmp", "/dev/shm"} {
		if err := os.WriteFile(filepath.Join(dir, "kept"), []byte("x"), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, "testbot:", err)
			os.Exit(6)
		}
	}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	fmt.Println("in the meeting as", config.DisplayName)
	switch os.Args[1] {
	case "run":
		<-terminated
	case "stubborn":
		select {}
	case "finish":
	case "fail":
		fmt.Fprintln(os.Stderr, "the browser is missing")
		os.Exit(3)
	case "eat":
		var eaten [][]byte
		for {
			eaten = append(eaten, make([]byte, 1<<20))
			for i := 0; i < 1<<20; i += 4096 {
				eaten[len(eaten)-1][i] = 1
			}
		}
	}
}
