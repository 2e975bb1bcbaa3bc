// Command build writes the guide as static files: go run ./internal/guide/build DIR.
package main

import (
	"fmt"
	"os"

	"standin/docs"
	"standin/internal/guide"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "build the guide:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one argument, the directory; got %d", len(args))
	}
	site, err := guide.New(docs.Files)
	if err != nil {
		return err
	}
	return site.Write(args[0])
}
