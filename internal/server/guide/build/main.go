// Command build writes the guide and the API reference as static files, as a service serves them:
//
//	go run ./internal/server/guide/build -version v1.0.0 -base https://docs.example.com DIR
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

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
	files := site.Public(base)
	files["docs/index.html"], files["openapi.json"] = reference.Page, description.JSON()
	for _, name := range reference.Assets() {
		files["docs/assets/"+name], _, _ = reference.Asset(name)
	}
	for name, content := range files {
		file := filepath.Join(args[0], filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { // #nosec G301 -- a public site
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil { // #nosec G306 -- a public site
			return err
		}
	}
	return nil
}
