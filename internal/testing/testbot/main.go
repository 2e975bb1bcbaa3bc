// Command testbot stands in for a bot in the tests of the Docker launcher: it
// is all that their image holds, and does what its argument says.
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
	if err := launch.TakeTask(os.Getenv(launch.EnvTask)); err != nil {
		fmt.Fprintln(os.Stderr, "testbot:", err)
		os.Exit(4)
	}
	if os.Getuid() == 0 || os.WriteFile("/anywhere", nil, 0o600) == nil {
		fmt.Fprintln(os.Stderr, "testbot: it is root, or may write where it likes")
		os.Exit(5)
	}
	for _, place := range []string{os.Getenv(launch.EnvDir), "/tmp", "/dev/shm"} {
		if err := os.WriteFile(filepath.Join(place, "kept"), []byte("x"), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, "testbot:", err)
			os.Exit(6)
		}
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	fmt.Println("in the meeting as", os.Getenv(launch.EnvName))
	switch os.Args[1] {
	case "run":
		<-told
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
