package main

import (
	"context"
	_ "embed" // for the page
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/sdp/v3"
	"github.com/pion/webrtc/v4"
)

const (
	recordedTime = 6 * time.Second
	// slowness is by how much slower than real time Chromium encodes, so that a busy machine can: it drops no pictures then. The
	// timestamps are made right again.
	slowness = 3
	// settleTime is how long Chromium takes at most until it sends all layers.
	settleTime = 40 * time.Second
	minFrames  = 100 // of a layer
	// recordingVersion changes with what recordings contain.
	recordingVersion = "2"

	dependencyDescriptorURI = "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
)

//go:embed record.html
var recordPage []byte

// Recording is video of a codec as Chromium sends it: the packets of one or several layers, all of which begin with a key frame.
type Recording struct {
	Codec       string // its name in SDP
	Parameters  string
	Scalability string              // mode of layers in one stream; otherwise each layer is a stream
	Layers      map[string][]Packet // by RID
}

// Packet is a packet of a Recording.
type Packet struct {
	Timestamp  uint32
	Marker     bool
	Descriptor []byte // header extension, if there is one
	Payload    []byte
}

// scalability are the modes in which meeting pages send the codecs. The others are sent in several streams.
var scalability = map[string]string{"VP9": "L3T3_KEY", "AV1": "L3T3_KEY"}

// loadRecording returns the recording of a codec and hue from a folder, and makes it if it is not there.
func loadRecording(ctx context.Context, folder, codec string, hue int) (*Recording, error) {
	path := filepath.Join(folder, fmt.Sprintf("%s-%s-%d.gob", recordingVersion, codec, hue))
	if file, err := os.Open(path); err == nil {
		defer file.Close()
		var made Recording
		return &made, gob.NewDecoder(file).Decode(&made)
	}
	made, err := record(ctx, codec, hue)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", codec, err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(folder, "making-")
	if err != nil {
		return nil, err
	}
	return made, errors.Join(gob.NewEncoder(file).Encode(made), file.Close(), os.Rename(file.Name(), path))
}

// newMediaAPI returns an API for loopback with the header extensions of layers.
func newMediaAPI() (*webrtc.API, error) {
	engine := &webrtc.MediaEngine{}
	if err := engine.RegisterDefaultCodecs(); err != nil {
		return nil, err
	}
	extensions := []string{
		sdp.SDESMidURI, sdp.SDESRTPStreamIDURI, "urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id", dependencyDescriptorURI,
	}
	for _, extension := range extensions {
		if err := engine.RegisterHeaderExtension(webrtc.RTPHeaderExtensionCapability{URI: extension}, webrtc.RTPCodecTypeVideo); err != nil {
			return nil, err
		}
	}
	interceptors := &interceptor.Registry{}
	if err := webrtc.RegisterDefaultInterceptors(engine, interceptors); err != nil {
		return nil, err
	}
	settings := webrtc.SettingEngine{}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetIPFilter(net.IP.IsLoopback)
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	return webrtc.NewAPI(webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(interceptors), webrtc.WithSettingEngine(settings)), nil
}

// record lets Chromium send video of a codec, and returns what it sends once all layers come.
func record(ctx context.Context, codec string, hue int) (*Recording, error) {
	api, err := newMediaAPI()
	if err != nil {
		return nil, err
	}
	connection, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	made := &Recording{Codec: codec, Scalability: scalability[codec], Layers: map[string][]Packet{}}
	wanted := 3
	if made.Scalability != "" {
		wanted = 1
	}
	var mu sync.Mutex
	first := map[string]uint32{} // timestamp by RID, of what is recorded
	recording, full := false, make(chan struct{}, 1)
	streams := map[string]webrtc.SSRC{}
	connection.OnTrack(func(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		extension := uint8(0)
		for _, one := range receiver.GetParameters().HeaderExtensions {
			if one.URI == dependencyDescriptorURI {
				extension = uint8(one.ID)
			}
		}
		mu.Lock()
		streams[track.RID()] = track.SSRC()
		made.Parameters = track.Codec().SDPFmtpLine
		mu.Unlock()
		for {
			packet, _, err := track.ReadRTP()
			if err != nil {
				return
			}
			if len(packet.Payload) == 0 {
				continue // padding
			}
			mu.Lock()
			begin, began := first[track.RID()]
			if !began && recording && startsKeyFrame(codec, packet.Payload) {
				begin, began = packet.Timestamp, true
				first[track.RID()] = begin
			}
			if began {
				timestamp := (packet.Timestamp - begin) / slowness
				made.Layers[track.RID()] = append(made.Layers[track.RID()], Packet{
					Timestamp: timestamp, Marker: packet.Marker,
					Descriptor: slices.Clone(packet.GetExtension(extension)), Payload: slices.Clone(packet.Payload),
				})
				if timestamp >= videoClock*uint32(recordedTime/time.Second) {
					select {
					case full <- struct{}{}:
					default:
					}
				}
			}
			mu.Unlock()
		}
	})
	stop, err := openSender(ctx, connection, url.Values{
		"codec": {mimeType(codec)}, "hue": {fmt.Sprint(hue)}, "scalability": {made.Scalability}, "slowness": {fmt.Sprint(slowness)},
	})
	if err != nil {
		return nil, err
	}
	defer stop()
	missing := ""
	deadline, ticker := time.After(settleTime+slowness*recordedTime), time.NewTicker(3*time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-full:
			mu.Lock()
			if missing = ""; len(made.Layers) < wanted {
				missing = " not all have key frames"
			}
			for rid, packets := range made.Layers {
				frames := map[uint32]bool{}
				for _, packet := range packets {
					frames[packet.Timestamp] = true
				}
				if len(frames) < minFrames {
					missing += fmt.Sprintf(" stream %q has %d frames", rid, len(frames))
				}
			}
			recording = false
			if missing == "" {
				first = nil // nothing is added any more
				mu.Unlock()
				return made, nil
			}
			clear(made.Layers)
			clear(first)
			mu.Unlock()
		case <-ticker.C:
			mu.Lock()
			if len(streams) == wanted && !recording { // all layers come: begin with a key frame of each
				recording = true
				for _, stream := range streams {
					_ = connection.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(stream)}})
				}
			}
			mu.Unlock()
		case <-deadline:
			mu.Lock()
			defer mu.Unlock()
			return nil, fmt.Errorf("Chromium sent %d of %d streams:%s", len(streams), wanted, missing)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// openSender opens the page that sends to a connection, until stop is called.
func openSender(ctx context.Context, connection *webrtc.PeerConnection, settings url.Values) (stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(recordPage) })
	mux.HandleFunc("POST /offer", func(w http.ResponseWriter, r *http.Request) {
		offer, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err == nil {
			err = answer(connection, string(offer))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, connection.LocalDescription().SDP)
	})
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(listener) }()
	closePage, err := openPage(ctx, "http://"+listener.Addr().String()+"/?"+settings.Encode())
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return func() {
		closePage()
		_ = server.Close()
	}, nil
}

func answer(connection *webrtc.PeerConnection, offer string) error {
	if err := connection.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: offer}); err != nil {
		return err
	}
	description, err := connection.CreateAnswer(nil)
	if err != nil {
		return err
	}
	gathered := webrtc.GatheringCompletePromise(connection)
	if err := connection.SetLocalDescription(description); err != nil {
		return err
	}
	<-gathered
	return nil
}

// openPage opens a page in Chromium until stop is called.
func openPage(ctx context.Context, address string) (stop func(), err error) {
	profile, err := os.MkdirTemp("", "standin-sfu-")
	if err != nil {
		return nil, err
	}
	options := []string{
		"--headless=new", "--user-data-dir=" + profile, "--allow-loopback-in-peer-connection", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--no-first-run", "--disable-features=WebRtcHideLocalIpsWithMdns",
	}
	if os.Geteuid() == 0 {
		options = append(options, "--no-sandbox")
	}
	name := "chromium"
	if headless, err := exec.LookPath("chromium-headless-shell"); err == nil {
		name = headless
	}
	browser := exec.CommandContext(ctx, name, append(options, address)...)
	browser.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that all its processes end
	if err := browser.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(profile))
	}
	return func() {
		_ = syscall.Kill(-browser.Process.Pid, syscall.SIGKILL)
		_ = browser.Wait()
		_ = os.RemoveAll(profile)
	}, nil
}

// startsKeyFrame returns whether the payload of a packet begins a key frame.
func startsKeyFrame(codec string, payload []byte) bool {
	switch codec {
	case "VP8": // RFC 7741, section 4.2
		return payload[0]&0x1F == 0x10 && len(payload) > vp8Header(payload) && payload[vp8Header(payload)]&1 == 0
	case "VP9": // RFC 9628, section 4.2: not predicted, and the beginning of a frame
		return payload[0]&0x48 == 0x08
	case "AV1": // AV1 RTP specification, section 4.4: the bit N
		return payload[0]&0x08 != 0
	default: // RFC 6184: a sequence parameter set, alone or first in an aggregation
		kind := payload[0] & 0x1F
		return kind == 7 || kind == 24 && len(payload) > 3 && payload[3]&0x1F == 7
	}
}

// vp8Header returns the length of a payload descriptor (RFC 7741, section 4.2).
func vp8Header(payload []byte) int {
	if payload[0]&0x80 == 0 || len(payload) < 3 {
		return 1
	}
	length, extensions := 2, payload[1]
	if extensions&0x80 != 0 {
		length++
		if payload[2]&0x80 != 0 {
			length++
		}
	}
	if extensions&0x40 != 0 {
		length++
	}
	if extensions&0x30 != 0 {
		length++
	}
	return length
}

func mimeType(codec string) string { return "video/" + codec }
