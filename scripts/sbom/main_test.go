package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// TestSBOM reads the document of the test's own binary.
func TestSBOM(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(os.Args[0], &out); err != nil {
		t.Fatal(err)
	}
	var document bom
	decoder := json.NewDecoder(&out)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil {
		t.Fatal(err)
	}
	if document.Format != "CycloneDX" || document.Components[0].Name != "std" || document.Components[0].Version == "" ||
		len(document.Metadata.Component.Hashes[0].Content) != 64 {
		t.Errorf("%+v", document)
	}
	if run("main.go", &out) == nil {
		t.Error("a file that is not a binary was accepted")
	}
}
