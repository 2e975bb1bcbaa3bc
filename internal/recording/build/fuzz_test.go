package build

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
)

// mp4Box returns a box of an MP4.
func mp4Box(kind string, content ...byte) []byte {
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(8+len(content))), kind...), content...)
}

// FuzzScanFragments checks that the fragments of an upload lie within it, one after the other.
func FuzzScanFragments(f *testing.F) {
	header, fragment := bytes.Join([][]byte{
		mp4Box("ftyp", 'i'), mp4Box("moov", 1, 2),
	}, nil), append(mp4Box("moof", 3), mp4Box("mdat", 4, 5)...)
	f.Add(append(header, fragment...))
	f.Add(bytes.Join([][]byte{header, fragment, fragment[:len(fragment)-1]}, nil))
	f.Add(bytes.Join([][]byte{header, mp4Box("free", fragment...), fragment}, nil))
	f.Add(append(header, 0, 0, 0, 1, 'm', 'o', 'o', 'f', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff))
	f.Add([]byte{0, 0, 0, 0, 'm', 'o', 'o', 'v'})
	f.Fuzz(func(t *testing.T, data []byte) {
		length := int64(len(data))
		found, err := scanFragments(bytes.NewReader(data), length)
		if err != nil || found.HeaderEnd > found.End || found.End > length || found.Fragments > 0 && !found.Header {
			t.Errorf("%+v, %v", found, err)
		}
		begin, ok, err := firstFragment(bytes.NewReader(data), length)
		if err != nil || ok && (begin < 0 || begin+8 > length || string(data[begin+4:begin+8]) != "moof") {
			t.Errorf("the first fragment is at %d of %d, %v", begin, length, err)
		}
	})
}

// FuzzUnbundle checks that a bundle leaves nothing but segments, in its folder, which are
// together not larger than the bundle.
func FuzzUnbundle(f *testing.F) {
	good := ingest.TrackSegmentName(1, 2)
	for _, header := range []tar.Header{
		{Name: good}, {Name: "../" + good}, {Name: "other/" + good}, {Name: "/" + good}, {Name: "report.json"}, {
			Name: good, Typeflag: tar.TypeSymlink, Linkname: "../target",
		},
	} {
		var bundle bytes.Buffer
		writer := tar.NewWriter(&bundle)
		if err := errors.Join(writer.WriteHeader(&header), writer.Close()); err != nil {
			f.Fatal(err)
		}
		f.Add(bundle.Bytes())
	}
	f.Fuzz(func(t *testing.T, bundle []byte) {
		outside := t.TempDir()
		path, folder := filepath.Join(outside, ingest.BundleName(0)), filepath.Join(outside, "work")
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bundle, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = unbundle(path, folder) // an error ends it
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if _, _, ok := ingest.ParseTrackSegmentName(entry.Name()); !ok || !entry.Type().IsRegular() {
				t.Errorf("extracted %s", entry)
			}
		}
		if others, err := os.ReadDir(outside); err != nil || len(others) != 2 {
			t.Errorf("outside of the folder: %v, %v", others, err)
		}
		if used := diskUse(t, outside); used > 2*int64(len(bundle)) {
			t.Errorf("a bundle of %d bytes extracts to %d bytes", len(bundle), used-int64(len(bundle)))
		}
	})
}

// storedReport is a storage with the report of a bot.
type storedReport struct {
	Storage
	text string
}

func (s storedReport) OpenUpload(context.Context, uuid.UUID, int, string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(s.text)), nil
}

// FuzzReport checks that whatever a bot reports results in a valid manifest, whose gaps are in
// order.
func FuzzReport(f *testing.F) {
	f.Add(`{"stretches":[{"number":0,"startedAt":"2026-11-20T09:00:00Z","endedAt":"2026-11-20T09:00:10Z","segments":3,"complete":true}],"leftAt":"2026-11-20T09:01:40Z","endReason":"alone"}`)
	f.Add(`{"stretches":[{"number":1,"startedAt":"0001-01-01T00:00:00Z","endedAt":"9999-12-31T23:59:59Z","segments":-1},{"number":1}],"gaps":[{"from":"2026-11-20T09:00:10Z","to":"2026-11-20T09:00:05Z","reason":""}]}`)
	f.Add(`{"people":[{"id":"","name":"\u0000\ud800"},{"id":"a"},{"id":"a"}],"speech":[{"personId":"a","from":"2026-11-20T09:00:10Z","to":"2026-11-20T09:00:05Z"}],"speechSources":["page","x"]}`)
	f.Add(`{"voices":[{"number":0,"personId":"a"}],"packedTracks":[{"number":0,"file":"../x"}],"packedParts":[{"number":0,"offsetMs":9223372036854775807,"lengthMs":1}],"mediaFaults":[{"kind":"no_sound"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		finisher := &Finisher{Storage: storedReport{text: text}, Log: slog.New(slog.DiscardHandler)}
		report, err := finisher.report(t.Context(), uuid.Nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		report.Media = nil // what is not uploaded is refused
		manifest := newManifest(testInput(), []ingest.Report{report.Report}, packedFromReport(report), testBase)
		if err := validate(publishedSchema(t, "manifest"), marshal(manifest)); err != nil {
			t.Errorf("%v\n%s", err, marshal(manifest))
		}
		end := int64(0)
		for _, gap := range manifest.Gaps {
			if gap.StartMs < end || gap.EndMs <= gap.StartMs {
				t.Errorf("gaps %v", manifest.Gaps)
			}
			end = gap.EndMs
		}
		if problems := checkManifest(manifest, testInput().Job.ID); len(problems) > 0 {
			t.Errorf("problems %q", problems)
		}
	})
}

// FuzzCodecs checks that the codecs of media are those of a content type.
func FuzzCodecs(f *testing.F) {
	f.Add("h264", "avc1", "LC", "\n00000000: 0142 c01f ffe1 0010 0674 42c0 1f8c 8d40  .B......\n")
	f.Add("h264", "avc1", "", "00000000: 01  ")
	f.Add("opus", "Opus", "\"", "00000000: zz")
	f.Fuzz(func(t *testing.T, codec, tag, profile, extradata string) {
		stream := probeStream{Type: "video", Codec: codec, Tag: tag, Profile: profile, Extradata: extradata}
		got := probeResult{Streams: []probeStream{stream, stream}}.codecs()
		if known := regexp.MustCompile(`^(opus|mp4a\.40\.2|\.[0-9A-F]{6})$`).MatchString(strings.TrimPrefix(got, tag)); got != tag && !known {
			t.Errorf("the codecs are %q", got)
		}
	})
}
