package sound

import (
	"github.com/prometheus/client_golang/prometheus"

	"standin/internal/base/counter"
	"standin/internal/jobs/job"
)

// metrics count the live sound that this node sends.
type metrics struct {
	receivers         *prometheus.GaugeVec
	frames, lost, gap prometheus.Counter
	changes           *prometheus.CounterVec
}

// The kinds of receivers.
const (
	kindStream   = "stream"
	kindListener = "listener"
)

func newMetrics() *metrics {
	m := &metrics{
		receivers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "standin_sound_receivers", Help: "Open live sound WebSockets of this node, by kind (stream, listener).",
		}, []string{"kind"}),
		frames: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "standin_sound_frames_total", Help: "Live sound frames (20 ms) sent to receivers.",
		}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "standin_sound_lost_frames_total", Help: "Live sound frames dropped because the receiver was too slow.",
		}),
		gap: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "standin_sound_gaps_total", Help: "Number of times that a live sound receiver was too slow.",
		}),
		changes: counter.New("standin_stream_changes_total", "Stream state changes, by state (connected, disconnected, failed).",
			"state", job.StreamConnected, job.StreamDisconnected, job.StreamFailed),
	}
	for _, kind := range []string{kindStream, kindListener} {
		m.receivers.WithLabelValues(kind)
	}
	return m
}

// Collectors returns the metrics of live sound, for registration.
func (h *Hub) Collectors() []prometheus.Collector {
	m := h.metrics
	return []prometheus.Collector{m.receivers, m.frames, m.lost, m.gap, m.changes}
}
