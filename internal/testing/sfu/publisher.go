package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/livekit/protocol/livekit"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/sdp/v3"
	"github.com/pion/webrtc/v4"
	"google.golang.org/protobuf/proto"
)

// Person is somebody in a room.
type Person struct {
	Room  string
	ID    string
	Codec string    // of the video: VP8, VP9, AV1 or H264; empty without
	Hue   int       // of the video, in degrees
	Sound [][]byte  // packets of Opus, each 20 ms, which repeat
	Since time.Time // the first of them
}

const (
	joinTimeout   = 15 * time.Second
	pingInterval  = 5 * time.Second
	packetTime    = 20 * time.Millisecond // of Opus
	packetSamples = 960
	videoClock    = 90_000
	frameTime     = videoClock / 25
)

// publisher is the connection of a person.
type publisher struct {
	connection *webrtc.PeerConnection
	signal     *websocket.Conn
	sending    sync.Mutex // a message
	stop       context.CancelFunc
	tasks      sync.WaitGroup
	responses  chan *livekit.SignalResponse
	candidates chan webrtc.ICECandidateInit // of the server
}

// publish joins a room and sends until close is called.
func publish(ctx context.Context, signal string, person Person, video *Recording) (_ *publisher, err error) {
	token, err := newToken(person.Room, person.ID, false)
	if err != nil {
		return nil, err
	}
	query := url.Values{"protocol": {"16"}, "auto_subscribe": {"0"}, "sdk": {"go"}}
	header := http.Header{"Authorization": {"Bearer " + token}}
	socket, _, err := websocket.DefaultDialer.DialContext(ctx, signal+"/rtc?"+query.Encode(), header)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	api, err := newMediaAPI()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := &publisher{
		signal: socket, stop: stop,
		responses: make(chan *livekit.SignalResponse, 64), candidates: make(chan webrtc.ICECandidateInit, 64),
	}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.connection, err = api.NewPeerConnection(webrtc.Configuration{}); err != nil {
		return nil, err
	}
	connected := make(chan struct{})
	var once sync.Once
	p.connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state == webrtc.PeerConnectionStateConnected {
			once.Do(func() { close(connected) })
		}
	})
	p.tasks.Go(func() { p.receive(ctx) })
	if _, err := p.await(ctx, func(r *livekit.SignalResponse) bool { return r.GetJoin() != nil }); err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	if len(person.Sound) > 0 {
		track, err := webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus}, "sound", person.ID)
		if err != nil {
			return nil, err
		}
		if _, err := p.connection.AddTrack(track); err != nil {
			return nil, err
		}
		request := &livekit.AddTrackRequest{
			Cid: track.ID(), Type: livekit.TrackType_AUDIO, Source: livekit.TrackSource_MICROPHONE, DisableRed: true,
		}
		if err := p.addTrack(ctx, request); err != nil {
			return nil, err
		}
		defer func() {
			if err == nil {
				p.tasks.Go(func() { sendSound(ctx, track, person.Sound, person.Since) })
			}
		}()
	}
	if video != nil {
		sent, err := p.addVideo(ctx, video)
		if err != nil {
			return nil, err
		}
		defer func() {
			if err == nil {
				p.tasks.Go(func() { sent.send(ctx) })
			}
		}()
	}
	if err := p.negotiate(ctx); err != nil {
		return nil, err
	}
	select {
	case <-connected:
		p.tasks.Go(func() { p.ping(ctx) })
		return p, nil
	case <-time.After(joinTimeout):
		return nil, errors.New("the connection does not come")
	}
}

// negotiate offers the tracks.
func (p *publisher) negotiate(ctx context.Context) error {
	offer, err := p.connection.CreateOffer(nil)
	if err != nil {
		return err
	}
	gathered := webrtc.GatheringCompletePromise(p.connection)
	if err := p.connection.SetLocalDescription(offer); err != nil {
		return err
	}
	<-gathered
	description := &livekit.SessionDescription{Type: "offer", Sdp: p.connection.LocalDescription().SDP}
	if err := p.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_Offer{Offer: description}}); err != nil {
		return err
	}
	answered, err := p.await(ctx, func(r *livekit.SignalResponse) bool { return r.GetAnswer() != nil })
	if err != nil {
		return fmt.Errorf("offer: %w", err)
	}
	answer := webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answered.GetAnswer().Sdp}
	if err := p.connection.SetRemoteDescription(answer); err != nil {
		return err
	}
	p.tasks.Go(func() {
		for {
			select {
			case candidate := <-p.candidates:
				_ = p.connection.AddICECandidate(candidate)
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

func (p *publisher) addTrack(ctx context.Context, request *livekit.AddTrackRequest) error {
	if err := p.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_AddTrack{AddTrack: request}}); err != nil {
		return err
	}
	_, err := p.await(ctx, func(r *livekit.SignalResponse) bool { return r.GetTrackPublished().GetCid() == request.Cid })
	return err
}

func (p *publisher) send(request *livekit.SignalRequest) error {
	data, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	return p.signal.WriteMessage(websocket.BinaryMessage, data)
}

// receive reads what the server says.
func (p *publisher) receive(ctx context.Context) {
	defer close(p.responses)
	for {
		_, data, err := p.signal.ReadMessage()
		if err != nil {
			return
		}
		response := &livekit.SignalResponse{}
		if proto.Unmarshal(data, response) != nil {
			continue
		}
		if trickle := response.GetTrickle(); trickle != nil && trickle.Target == livekit.SignalTarget_PUBLISHER {
			var candidate webrtc.ICECandidateInit
			if json.Unmarshal([]byte(trickle.CandidateInit), &candidate) == nil {
				select {
				case p.candidates <- candidate:
				case <-ctx.Done():
					return
				}
			}
			continue
		}
		if response.GetJoin() == nil && response.GetAnswer() == nil && response.GetTrackPublished() == nil {
			continue
		}
		select {
		case p.responses <- response:
		case <-ctx.Done():
			return
		}
	}
}

func (p *publisher) await(ctx context.Context, wanted func(*livekit.SignalResponse) bool) (*livekit.SignalResponse, error) {
	deadline := time.After(joinTimeout)
	for {
		select {
		case response, open := <-p.responses:
			if !open {
				return nil, io.ErrUnexpectedEOF
			}
			if wanted(response) {
				return response, nil
			}
		case <-deadline:
			return nil, errors.New("no answer")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ping keeps the connection.
func (p *publisher) ping(ctx context.Context) {
	ticker := time.NewTicker(pingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_ = p.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_Ping{Ping: time.Now().UnixMilli()}})
		case <-ctx.Done():
			return
		}
	}
}

func (p *publisher) close() {
	p.stop()
	_ = p.send(&livekit.SignalRequest{Message: &livekit.SignalRequest_Leave{Leave: &livekit.LeaveRequest{}}})
	if p.connection != nil {
		_ = p.connection.Close()
	}
	_ = p.signal.Close()
	p.tasks.Wait()
}

// sendSound sends packets when they are due.
func sendSound(ctx context.Context, track *webrtc.TrackLocalStaticRTP, packets [][]byte, since time.Time) {
	for n := time.Since(since) / packetTime; ; n++ {
		select {
		case <-time.After(time.Until(since.Add(n * packetTime))):
		case <-ctx.Done():
			return
		}
		_ = track.WriteRTP(&rtp.Packet{
			Header:  rtp.Header{Version: 2, SequenceNumber: uint16(n), Timestamp: uint32(n * packetSamples)},
			Payload: packets[int(n)%len(packets)],
		})
	}
}

// camera sends a Recording again and again, from its beginning whenever a key frame is wanted.
type camera struct {
	codec       string
	transceiver *webrtc.RTPTransceiver
	layers      []*layer
	packets     []scheduled
	wanted      chan struct{} // a key frame
}

// layer is a stream of a camera.
type layer struct {
	*webrtc.TrackLocalStaticRTP
	rid                      string
	midID, ridID, descriptor uint8 // of header extensions
	sequence                 uint16
	first, offset, sent      numbers
}

// scheduled is a packet with its time since the beginning of a recording.
type scheduled struct {
	*Packet
	layer *layer
	at    time.Duration
}

// Bind is called by pion when the server has accepted the stream.
func (l *layer) Bind(t webrtc.TrackLocalContext) (webrtc.RTPCodecParameters, error) {
	for _, extension := range t.HeaderExtensions() {
		switch extension.URI {
		case sdp.SDESMidURI:
			l.midID = uint8(extension.ID)
		case sdp.SDESRTPStreamIDURI:
			l.ridID = uint8(extension.ID)
		case dependencyDescriptorURI:
			l.descriptor = uint8(extension.ID)
		}
	}
	return l.TrackLocalStaticRTP.Bind(t)
}

// addVideo adds a track with the layers of a recording.
func (p *publisher) addVideo(ctx context.Context, recording *Recording) (*camera, error) {
	c := &camera{codec: recording.Codec, wanted: make(chan struct{}, 1)}
	capability := webrtc.RTPCodecCapability{MimeType: mimeType(recording.Codec), ClockRate: videoClock, SDPFmtpLine: recording.Parameters}
	request := &livekit.AddTrackRequest{
		Cid: "video", Type: livekit.TrackType_VIDEO, Source: livekit.TrackSource_CAMERA, Width: 1280, Height: 720,
		Layers: []*livekit.VideoLayer{
			{Quality: livekit.VideoQuality_LOW, Width: 320, Height: 180, Bitrate: 150_000, Rid: "q"},
			{Quality: livekit.VideoQuality_MEDIUM, Width: 640, Height: 360, Bitrate: 400_000, Rid: "h", SpatialLayer: 1},
			{Quality: livekit.VideoQuality_HIGH, Width: 1280, Height: 720, Bitrate: 1_200_000, Rid: "f", SpatialLayer: 2},
		},
	}
	mode := livekit.VideoLayer_ONE_SPATIAL_LAYER_PER_STREAM
	if recording.Scalability != "" {
		mode = livekit.VideoLayer_MULTIPLE_SPATIAL_LAYERS_PER_STREAM
	}
	request.SimulcastCodecs = []*livekit.SimulcastCodec{
		{Codec: capability.MimeType, Cid: "video", Layers: request.Layers, VideoLayerMode: mode},
	}
	var sender *webrtc.RTPSender
	for _, rid := range slices.Sorted(maps.Keys(recording.Layers)) {
		var options []func(*webrtc.TrackLocalStaticRTP)
		if rid != "" {
			options = append(options, webrtc.WithRTPStreamID(rid))
		}
		track, err := webrtc.NewTrackLocalStaticRTP(capability, "video", "video", options...)
		if err != nil {
			return nil, err
		}
		one := &layer{TrackLocalStaticRTP: track, rid: rid}
		if sender == nil {
			if sender, err = p.connection.AddTrack(one); err != nil {
				return nil, err
			}
		} else if err := sender.AddEncoding(one); err != nil {
			return nil, err
		}
		begin := recording.Layers[rid][0]
		one.first = numbers{}.addTo(c.codec, slices.Clone(begin.Payload), slices.Clone(begin.Descriptor))
		c.layers = append(c.layers, one)
		for n := range recording.Layers[rid] {
			packet := &recording.Layers[rid][n]
			c.packets = append(c.packets, scheduled{packet, one, time.Duration(packet.Timestamp-begin.Timestamp) * time.Second / videoClock})
		}
		p.tasks.Go(func() { c.listen(sender, rid) })
	}
	slices.SortStableFunc(c.packets, func(a, b scheduled) int { return cmp.Compare(a.at, b.at) })
	for _, transceiver := range p.connection.GetTransceivers() {
		if transceiver.Sender() == sender {
			c.transceiver = transceiver
		}
	}
	return c, p.addTrack(ctx, request)
}

// listen notes requests for key frames.
func (c *camera) listen(sender *webrtc.RTPSender, rid string) {
	for {
		var packets []rtcp.Packet
		var err error
		if rid == "" {
			packets, _, err = sender.ReadRTCP()
		} else {
			packets, _, err = sender.ReadSimulcastRTCP(rid)
		}
		if err != nil {
			return
		}
		for _, packet := range packets {
			switch packet.(type) {
			case *rtcp.PictureLossIndication, *rtcp.FullIntraRequest:
				select {
				case c.wanted <- struct{}{}:
				default:
				}
			}
		}
	}
}

// send sends the recording in its time until ctx ends.
func (c *camera) send(ctx context.Context) {
	began, mid := time.Now(), c.transceiver.Mid()
	for timestamp := uint32(0); ; {
		var last time.Duration
	recording:
		for _, packet := range c.packets {
			if packet.at > last {
				select {
				case <-time.After(time.Until(began.Add(packet.at))):
				case <-c.wanted:
					break recording
				case <-ctx.Done():
					return
				}
			}
			last = packet.at
			packet.layer.write(c.codec, mid, packet.Packet, timestamp+uint32(last*videoClock/time.Second))
		}
		last += frameTime
		began, timestamp = began.Add(last), timestamp+uint32(last*videoClock/time.Second)
		for _, one := range c.layers {
			one.offset = one.sent.after(one.first)
		}
	}
}

// write sends a packet with numbers that follow those before it.
func (l *layer) write(codec, mid string, packet *Packet, timestamp uint32) {
	payload, descriptor := slices.Clone(packet.Payload), slices.Clone(packet.Descriptor)
	l.sent = l.offset.addTo(codec, payload, descriptor)
	sent := &rtp.Packet{
		Header:  rtp.Header{Version: 2, Marker: packet.Marker, SequenceNumber: l.sequence, Timestamp: timestamp},
		Payload: payload,
	}
	l.sequence++
	if len(descriptor) > 0 && l.descriptor != 0 {
		_ = sent.SetExtension(l.descriptor, descriptor)
	}
	if l.rid != "" {
		_ = sent.SetExtension(l.midID, []byte(mid))
		_ = sent.SetExtension(l.ridID, []byte(l.rid))
	}
	_ = l.WriteRTP(sent)
}
