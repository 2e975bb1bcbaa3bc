// Command build writes the guide and the API reference as static files, as a service serves them:
//
//	go run ./internal/server/guide/build -version v1.0.0 -base https://docs.example.com DIR
package main

import (
	"flag"
	"fmt"
	"os"

	"standin/api"
	"standin/docs"
	"standin/internal/server/guide"
	"standin/internal/server/httpapi/reference"
)

func main() {
	version := flag.String("version", "", "version that the pages show")
	base := flag.String("base", "https://standin.example", "URL that the site will be at, for the sitemap")
	flag.Parse()
	if err := run(*version, *base, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "build the guide:", err)
		os.Exit(1)
	}
}

func run(version, base string, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one argument, the directory; got %d", len(args))
	}
	description, err := api.Load()
	if err != nil {
		return err
	}
	site, err := guide.New(docs.Files, guide.About{Version: version, Description: description.JSON(), Static: true})
	if err != nil {
		return err
	}
	if err := site.Write(args[0], base); err != nil {
		return err
	}
	files := map[string][]byte{"docs/index.html": reference.Page, "openapi.json": description.JSON()}
	for _, name := range reference.Assets() {
		files["docs/assets/"+name], _, _ = reference.Asset(name)
	}
	return guide.WriteFiles(args[0], files)
}
