//go:build clientscheck

package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

const meetingURL = "https://meet.google.com/abc-defg-hij"

var (
	url    = os.Getenv("STANDIN_URL")
	key    = os.Getenv("STANDIN_API_KEY")
	run    = fmt.Sprintf("run-%d-%d", os.Getpid(), time.Now().UnixNano())
	failed bool
)

// check runs one part of the program and prints its result.
func check(name string, part func()) { checkWith("ok", name, part) }

// checkWith prints how a part works: with help from outside the generated client.
func checkWith(help, name string, part func()) {
	defer func() {
		if problem := recover(); problem != nil {
			failed = true
			line, _, _ := strings.Cut(fmt.Sprint(problem), "\n")
			fmt.Printf("%s: %s\n", name, line)
		}
	}()
	part()
	fmt.Printf("%s: %s\n", name, help)
}

func done() {
	if failed {
		os.Exit(1)
	}
}

// must returns a value, and fails the part if there is an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func equal[T comparable](got, want T) {
	if got != want {
		panic(fmt.Sprintf("got %v, want %v", got, want))
	}
}

func sum(content []byte) string {
	sha := sha256.Sum256(content)
	return hex.EncodeToString(sha[:])
}

// readEvents calls event with the name and data of each server-sent event.
func readEvents(r io.Reader, event func(name, data string)) {
	name := ""
	for lines := bufio.NewScanner(r); lines.Scan(); {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			event(name, value)
		}
	}
}
