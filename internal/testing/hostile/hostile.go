// Package hostile has what the tests of attacks share: disks that are full, and
// archives that expand.
package hostile

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// FillDisk fills the disk of a folder completely.
func FillDisk(t *testing.T, dir string) {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	block := make([]byte, 4096)
	_, _ = rand.Read(block)
	for err == nil {
		_, err = file.Write(block)
	}
	if !errors.Is(err, errNoSpace) {
		t.Fatal(err)
	}
}

// SparseBundle returns a tar archive of 3 KiB whose entry has a hole of that size, in
// the PAX 1.0 form of GNU tar, which archive/tar does not write.
func SparseBundle(t *testing.T, name string, size int) []byte {
	t.Helper()
	sparseMap := "1\n" + strconv.Itoa(size) + "\n0\n"
	return SparseEntry(t, name, sparseMap+strings.Repeat("\x00", 512-len(sparseMap)),
		"GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name="+name, "GNU.sparse.realsize="+strconv.Itoa(size))
}

// SparseEntry returns a tar archive with one entry that has the content and the
// PAX records.
func SparseEntry(t *testing.T, name, content string, records ...string) []byte {
	t.Helper()
	var pax strings.Builder
	for _, record := range records {
		length := len(record) + 3 // a space, a newline and at least one digit
		for len(strconv.Itoa(length))+len(record)+2 != length {
			length++
		}
		fmt.Fprintf(&pax, "%d %s\n", length, record)
	}
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, entry := range []struct{ name, content string }{{"PaxHeaders/0", pax.String()}, {name, content}} {
		if err := writer.WriteHeader(&tar.Header{
			Name: entry.name, Mode: 0o600, Size: int64(len(entry.content)), Format: tar.FormatUSTAR,
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(entry.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	header := archive.Bytes()[:512]
	header[156] = tar.TypeXHeader // a type that tar.Writer does not write
	copy(header[148:156], "        ")
	sum := 0
	for _, b := range header {
		sum += int(b)
	}
	copy(header[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return archive.Bytes()
}
