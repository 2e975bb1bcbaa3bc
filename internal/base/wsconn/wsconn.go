// Package wsconn has what both ends of live sound need of a WebSocket: pings, and writes
// that end.
package wsconn

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"standin/internal/base/retry"
)

// PingTimeout is how long the other end may take to respond to a ping.
const PingTimeout = 15 * time.Second

// KeepAlive returns when the other end does not respond to a ping in time, or ctx ends.
func KeepAlive(ctx context.Context, conn *websocket.Conn) error {
	for {
		if err := retry.Sleep(ctx, 15*time.Second); err != nil {
			return err
		}
		waiting, cancel := context.WithTimeout(ctx, PingTimeout)
		err := conn.Ping(waiting)
		cancel()
		if err != nil {
			return fmt.Errorf("no response to a ping: %w", err)
		}
	}
}

// Write sends a message. It fails when the other end reads nothing for 30 seconds.
func Write(ctx context.Context, conn *websocket.Conn, kind websocket.MessageType, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return conn.Write(ctx, kind, data)
}

// WriteJSON sends a text message.
func WriteJSON(ctx context.Context, conn *websocket.Conn, message any) error {
	encoded, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return Write(ctx, conn, websocket.MessageText, encoded)
}
