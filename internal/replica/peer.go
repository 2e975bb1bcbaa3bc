package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/webrtc/v4"
)

// newMediaAPI configures pion for loopback and for the two codecs that sources
// have. Sender reports are left out: the tracks make their own.
func newMediaAPI() (*webrtc.API, error) {
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
	interceptors := &interceptor.Registry{}
	if err := webrtc.ConfigureNack(engine, interceptors); err != nil {
		return nil, fmt.Errorf("configure retransmission: %w", err)
	}
	settings := webrtc.SettingEngine{}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetIPFilter(func(address net.IP) bool { return address.IsLoopback() })
	settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	return webrtc.NewAPI(
		webrtc.WithMediaEngine(engine),
		webrtc.WithInterceptorRegistry(interceptors),
		webrtc.WithSettingEngine(settings),
	), nil
}

// peer is the media connection of one page. One goroutine paces all that is
// sent on it, from the meeting's clock.
type peer struct {
	number     int
	connection *webrtc.PeerConnection
	clock      clock
	log        *slog.Logger
	connected  chan struct{} // closed once packets can be sent
	stop       context.CancelFunc
	tasks      sync.WaitGroup

	negotiating sync.Mutex

	mu     sync.Mutex
	tracks []*track
	sent   map[string]bool // participants whose tracks are on the connection
	closed bool
}

var errPeerClosed = errors.New("the media connection is closed")

// newPeer makes a connection; onState is told of its changes.
func newPeer(number int, api *webrtc.API, c clock, log *slog.Logger, onState func(webrtc.PeerConnectionState)) (*peer, error) {
	connection, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return nil, fmt.Errorf("make a peer connection: %w", err)
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
	connection.OnTrack(func(remote *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		// What the guest says goes nowhere, but must be taken off the wire.
		discard(func(buffer []byte) error { _, _, err := remote.Read(buffer); return err })
	})
	p.tasks.Go(func() { p.pace(ctx) })
	return p, nil
}

// answer accepts the page's offer to receive the tracks of the given
// participants; those that are on the connection already stay.
func (p *peer) answer(ctx context.Context, offer string, publishers []*publisher) (string, error) {
	p.negotiating.Lock()
	defer p.negotiating.Unlock()
	for _, publisher := range publishers {
		if err := p.publish(publisher); err != nil {
			return "", err
		}
	}
	description := webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: offer}
	if err := p.connection.SetRemoteDescription(description); err != nil {
		return "", fmt.Errorf("take the page's offer: %w", err)
	}
	answer, err := p.connection.CreateAnswer(nil)
	if err != nil {
		return "", fmt.Errorf("answer the page's offer: %w", err)
	}
	gathered := webrtc.GatheringCompletePromise(p.connection)
	if err := p.connection.SetLocalDescription(answer); err != nil {
		return "", fmt.Errorf("settle the answer: %w", err)
	}
	select {
	case <-gathered:
		return p.connection.LocalDescription().SDP, nil
	case <-ctx.Done():
		return "", fmt.Errorf("gather addresses: %w", ctx.Err())
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
			return fmt.Errorf("send track %s: %w", t.ID(), err)
		}
		// Reports from the page must be read for lost packets to be sent again.
		// A request for a key picture needs no answer: the next one is at most a
		// second away.
		p.tasks.Go(func() {
			discard(func(buffer []byte) error { _, _, err := transceiver.Sender().Read(buffer); return err })
		})
	}
	p.tracks = append(p.tracks, tracks...)
	p.sent[from.id] = true
	return nil
}

// withdraw stops what a participant sends, for one who left.
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

// pace sends every track's units when they are due. It wakes for the earliest
// of them, and now and then for tracks that wait to begin.
func (p *peer) pace(ctx context.Context) {
	select {
	case <-p.connected: // before, the transport refuses packets and reports
	case <-ctx.Done():
		return
	}
	const lookAround = 100 * time.Millisecond
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		wake, err := p.send(p.clock.now(), lookAround)
		if err != nil {
			if ctx.Err() == nil {
				p.log.Debug("media connection no longer takes packets", "error", err)
			}
			return
		}
		timer.Reset(wake - p.clock.now())
	}
}

func (p *peer) send(now, lookAround time.Duration) (wake time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wake = now + lookAround
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
	p.closed = true // no goroutine is added from here on
	p.mu.Unlock()
	p.stop()
	if err := p.connection.Close(); err != nil {
		p.log.Debug("media connection did not close cleanly", "error", err)
	}
	p.tasks.Wait()
}

// discard reads until the connection ends.
func discard(read func([]byte) error) {
	buffer := make([]byte, 1500)
	for read(buffer) == nil {
	}
}
