// Command sbom prints the software bill of materials of a Go binary: the modules
// and versions that the Go toolchain recorded in it, as CycloneDX 1.6 JSON.
//
//	go run ./scripts/sbom BINARY > BINARY.cdx.json
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// bom is a CycloneDX document (https://cyclonedx.org/docs/1.6/json/).
type bom struct {
	Schema      string      `json:"$schema"`
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"` // of the commit, so that the document is reproducible
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// run writes the document of a binary.
func run(path string, w io.Writer) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	binary := component{
		Type: "application", Ref: purl(info.Main.Path, info.Main.Version), Name: filepath.Base(path), Version: info.Main.Version,
		PURL: purl(info.Main.Path, info.Main.Version), Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
	}
	document := bom{Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6", Version: 1}
	for _, setting := range info.Settings {
		binary.Properties = append(binary.Properties, property{"go:build:" + setting.Key, setting.Value})
		if setting.Key == "vcs.time" {
			document.Metadata.Timestamp = setting.Value
		}
	}
	document.Metadata.Component = binary
	standard := strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go")
	document.Components = []component{{
		Type: "library", Ref: purl("std", standard), Name: "std", Version: standard, PURL: purl("std", standard),
	}}
	for _, module := range info.Deps {
		if module.Replace != nil && module.Replace.Version != "" { // otherwise it is a folder of this repository
			module = module.Replace
		}
		library := component{
			Type: "library", Ref: purl(module.Path, module.Version), Name: module.Path, Version: module.Version, PURL: purl(module.Path,
				module.Version),
		}
		if module.Sum != "" {
			library.Properties = []property{{"go:module:sum", module.Sum}}
		}
		document.Components = append(document.Components, library)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

// purl returns the package URL of a Go module
// (https://github.com/package-url/purl-spec).
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
