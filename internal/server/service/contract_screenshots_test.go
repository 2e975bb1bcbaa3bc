package service_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/bot/ingest"
	"standin/internal/testing/await"
)

// contractPicture returns a JPEG.
func contractPicture(width int) string {
	picture := image.NewGray(image.Rect(0, 0, width, 90))
	picture.Set(1, 1, color.White)
	var encoded bytes.Buffer
	if err := jpeg.Encode(&encoded, picture, nil); err != nil {
		panic(err) // the buffer takes everything
	}
	return encoded.String()
}

// contractScreenshots tests getScreenshot and ingestScreenshot of api/openapi.yaml.
func contractScreenshots(t *testing.T, h *contractHarness) {
	id := h.create(t, h.ada, contractJob(""))
	get := contractRequest{op: "getScreenshot", in: []string{id}, bearer: h.ada}
	put := func(body string) contractRequest {
		return contractRequest{op: "ingestScreenshot", in: []string{id, "0"}, bearer: contractToken(id, 0), body: body}
	}
	watched := func() bool {
		beat := contractRequest{op: "heartbeat", bearer: contractToken(id, 0), body: `{"jobId":"` + id + `","attempt":0}`}
		return h.expect(t, 200, beat).field(t, "screenshots") == true
	}
	picture := contractPicture(160)
	h.sendEvent(t, id, "lifecycle.joined", "")
	if watched() {
		t.Error("pictures are wanted although nobody watches")
	}
	h.expect(t, 200, put(picture)) // is not kept
	replies := make(chan contractResponse, 1)
	go func() { replies <- h.do(t, get) }()
	await.Until(t, "the bot to hear that somebody watches", watched)
	select {
	case reply := <-replies:
		t.Errorf("before there is a picture: %d %.200s", reply.status, reply.body)
	default:
	}
	h.expect(t, 200, put(picture))
	reply := <-replies
	if _, err := time.Parse(time.RFC1123, reply.header.Get("Last-Modified")); reply.status != 200 || string(reply.body) != picture ||
		reply.header.Get("Content-Type") != "image/jpeg" || err != nil {
		t.Errorf("got %d %v", reply.status, reply.header)
	}
	newer := contractPicture(320)
	h.expect(t, 200, put(newer))
	if reply := h.expect(t, 200, get); string(reply.body) != newer {
		t.Error("the earlier picture is not replaced")
	}

	for _, refused := range []string{"", "GIF89a", picture[:20], contractPicture(5000)} {
		h.expect(t, 400, put(refused))
	}
	h.expect(t, 413, put(picture+strings.Repeat("x", ingest.MaxScreenshot)))
	h.call(t, 400, contractToken(id, 0), "ingestScreenshot", "", id, "x")
	h.call(t, 401, contractToken(id, 0), "ingestScreenshot", "", id, "1")
	h.call(t, 401, "x", "getScreenshot", "", id)
	for _, key := range []string{h.ada, h.adasTest} {
		h.call(t, 409, key, "getScreenshot", "", h.create(t, key, contractJob(contractFuture)))
	}

	h.sendEvent(t, id, "lifecycle.exited", `{"failureCode":"removed_from_meeting"}`)
	h.expect(t, 409, get)
	h.expect(t, 409, put(picture))
	if kept, err := h.Store().Screenshot(t.Context(), uuid.MustParse(id)); err != nil || kept.Image != nil || !kept.WatchedUntil.IsZero() {
		t.Errorf("after the end: %v, %v", kept, err)
	}
}
