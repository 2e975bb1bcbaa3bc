package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/logging"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/sdp/v3"
	"github.com/pion/webrtc/v4"
)

// network is the UDP socket of all meetings. While it is cut, nothing passes.
type network struct {
	net.PacketConn
	cut atomic.Bool
}

func (n *network) ReadFrom(data []byte) (int, net.Addr, error) {
	for {
		length, from, err := n.PacketConn.ReadFrom(data)
		if err != nil || !n.cut.Load() {
			return length, from, err
		}
	}
}

func (n *network) WriteTo(data []byte, to net.Addr) (int, error) {
	if n.cut.Load() {
		return len(data), nil
	}
	return n.PacketConn.WriteTo(data, to)
}

// newMediaAPI configures pion for loopback and the codecs of the sources, without
// sender reports, which the tracks create.
func newMediaAPI(n *network) (*webrtc.API, error) {
	engine := &webrtc.MediaEngine{}
	for kind, codec := range map[webrtc.RTPCodecType]webrtc.RTPCodecParameters{
		webrtc.RTPCodecTypeAudio: {
			RTPCodecCapability: webrtc.RTPCodecCapability{
				MimeType: webrtc.MimeTypeOpus, ClockRate: sampleRate, Channels: 2, SDPFmtpLine: "minptime=10;useinbandfec=1",
			},
			PayloadType: 111,
		},
		webrtc.RTPCodecTypeVideo: {
			RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000},
			PayloadType:        96,
		},
	} {
		if err := engine.RegisterCodec(codec, kind); err != nil {
			return nil, fmt.Errorf("register codec %s: %w", codec.MimeType, err)
		}
	}
	levels := webrtc.RTPHeaderExtensionCapability{URI: sdp.AudioLevelURI}
	if err := engine.RegisterHeaderExtension(levels, webrtc.RTPCodecTypeAudio); err != nil {
		return nil, fmt.Errorf("register audio levels: %w", err)
	}
	interceptors := &interceptor.Registry{}
	if err := webrtc.ConfigureNack(engine, interceptors); err != nil {
		return nil, fmt.Errorf("configure retransmission: %w", err)
	}
	silent := logging.NewDefaultLeveledLoggerForScope("ice", logging.LogLevelDisabled, io.Discard)
	settings := webrtc.SettingEngine{}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetIPFilter(func(address net.IP) bool { return address.IsLoopback() })
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	settings.SetICEUDPMux(webrtc.NewICEUDPMux(silent, n))
	return webrtc.NewAPI(
		webrtc.WithMediaEngine(engine),
		webrtc.WithInterceptorRegistry(interceptors),
		webrtc.WithSettingEngine(settings),
	), nil
}

// peer is the media connection of a page. One goroutine sends all packets.
type peer struct {
	number     int
	connection *webrtc.PeerConnection
	clock      clock
	log        *slog.Logger
	connected  chan struct{} // closed when packets can be sent
	stop       context.CancelFunc
	tasks      sync.WaitGroup

	negotiating sync.Mutex

	mu     sync.Mutex
	tracks []*track
	sent   map[string]bool   // IDs of participants with tracks on the connection
	media  map[string]string // what the page sends, by the mid
	closed bool
}

var errPeerClosed = errors.New("the media connection is closed")

// newPeer creates a connection. onState is called when its state changes, and onPacket for
// each packet of the guest's media, with the name of the medium.
func newPeer(
	number int, api *webrtc.API, c clock, log *slog.Logger,
	onState func(webrtc.PeerConnectionState), onPacket func(string, *rtp.Packet, uint8),
) (*peer, error) {
	connection, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return nil, fmt.Errorf("create a peer connection: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &peer{number: number, connection: connection, clock: c, log: log, stop: stop, sent: map[string]bool{}, connected: make(chan struct{})}
	var once sync.Once
	connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state == webrtc.PeerConnectionStateConnected {
			once.Do(func() { close(p.connected) })
		}
		onState(state)
	})
	connection.OnTrack(func(remote *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		medium := p.medium(receiver)
		var levels uint8
		for _, extension := range receiver.GetParameters().HeaderExtensions {
			if extension.URI == sdp.AudioLevelURI {
				levels = uint8(extension.ID)
			}
		}
		if remote.Kind() == webrtc.RTPCodecTypeVideo {
			p.mu.Lock()
			if !p.closed {
				p.tasks.Go(func() { p.askForKeys(ctx, remote.SSRC()) })
			}
			p.mu.Unlock()
		}
		for {
			packet, _, err := remote.ReadRTP()
			if err != nil {
				return // the connection has ended
			}
			onPacket(medium, packet, audioLevel(packet, levels))
		}
	})
	p.tasks.Go(func() { p.sendPaced(ctx) })
	return p, nil
}

// medium returns the name of what the page sends to a receiver.
func (p *peer) medium(receiver *webrtc.RTPReceiver) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, transceiver := range p.connection.GetTransceivers() {
		if transceiver.Receiver() == receiver {
			return p.media[transceiver.Mid()]
		}
	}
	return ""
}

// answer adds the tracks of the participants and answers the page's offer. media names what
// the page sends, by the mid.
func (p *peer) answer(ctx context.Context, offer string, media map[string]string, publishers []*publisher) (string, error) {
	p.negotiating.Lock()
	defer p.negotiating.Unlock()
	p.mu.Lock()
	p.media = media
	p.mu.Unlock()
	for _, publisher := range publishers {
		if err := p.publish(publisher); err != nil {
			return "", err
		}
	}
	description := webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: offer}
	if err := p.connection.SetRemoteDescription(description); err != nil {
		return "", fmt.Errorf("set the offer: %w", err)
	}
	answer, err := p.connection.CreateAnswer(nil)
	if err != nil {
		return "", fmt.Errorf("create the answer: %w", err)
	}
	gathered := webrtc.GatheringCompletePromise(p.connection)
	if err := p.connection.SetLocalDescription(answer); err != nil {
		return "", fmt.Errorf("set the answer: %w", err)
	}
	select {
	case <-gathered:
		return p.connection.LocalDescription().SDP, nil
	case <-ctx.Done():
		return "", fmt.Errorf("gather candidates: %w", ctx.Err())
	}
}

func (p *peer) publish(from *publisher) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return errPeerClosed
	case p.sent[from.id]:
		return nil
	}
	tracks, err := newTracks(from)
	if err != nil {
		return err
	}
	for _, t := range tracks {
		transceiver, err := p.connection.AddTransceiverFromTrack(t,
			webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
		if err != nil {
			return fmt.Errorf("add track %s: %w", t.ID(), err)
		}
		// RTCP must be read for retransmissions. Requests for key frames are ignored:
		// there is one per second.
		p.tasks.Go(func() {
			discard(func(buffer []byte) error { _, _, err := transceiver.Sender().Read(buffer); return err })
		})
	}
	p.tracks = append(p.tracks, tracks...)
	p.sent[from.id] = true
	return nil
}

// withdraw stops the tracks of a participant.
func (p *peer) withdraw(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.tracks[:0]
	for _, t := range p.tracks {
		if t.StreamID() != id {
			kept = append(kept, t)
		}
	}
	p.tracks = kept
}

// sendPaced sends the units of all tracks when they are due.
func (p *peer) sendPaced(ctx context.Context) {
	select {
	case <-p.connected: // before, packets are rejected
	case <-ctx.Done():
		return
	}
	const idleInterval = 100 * time.Millisecond // to detect tracks that start
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		wake, err := p.send(p.clock.now(), idleInterval)
		if err != nil {
			if ctx.Err() == nil {
				p.log.Debug("media connection failed", "error", err)
			}
			return
		}
		timer.Reset(wake - p.clock.now())
	}
}

func (p *peer) send(now, idleInterval time.Duration) (wake time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wake = now + idleInterval
	var reports []rtcp.Packet
	for _, t := range p.tracks {
		if report := t.report(p.clock, now); report != nil {
			reports = append(reports, report)
		}
		if err := t.send(now); err != nil {
			return 0, fmt.Errorf("send track %s: %w", t.ID(), err)
		}
		if t.cursor.running {
			wake = min(wake, t.cursor.wake())
		}
	}
	if len(reports) > 0 {
		if err := p.connection.WriteRTCP(reports); err != nil {
			return 0, fmt.Errorf("send reports: %w", err)
		}
	}
	return wake, nil
}

// close ends the connection and waits for its goroutines.
func (p *peer) close() {
	p.mu.Lock()
	p.closed = true // no goroutine is started from here on
	p.mu.Unlock()
	p.stop()
	if err := p.connection.Close(); err != nil {
		p.log.Debug("cannot close media connection", "error", err)
	}
	p.tasks.Wait()
}

// discard reads until the connection ends.
func discard(read func([]byte) error) {
	buffer := make([]byte, 1500)
	for read(buffer) == nil {
	}
}
